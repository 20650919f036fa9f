"""Notes in the history of a run."""

from collections.abc import Iterable

from backend.benchmarks.models import Event, Run
from backend.benchmarks.selectors.history import Note


def event_record(*, run: Run, kind: str, detail: str) -> None:
    Event.objects.create(run=run, kind=kind, detail=detail)


def notes_record(run: Run, notes: Iterable[Note]) -> None:
    """How the run differs from those before it."""
    Event.objects.bulk_create(
        [Event(run=run, kind=note.kind, detail=note.detail) for note in notes]
    )
