"""Notes on how a run differs from those before it."""

from collections.abc import Iterable

from backend.benchmarks.models import Event, Run
from backend.benchmarks.selectors.history import Note


def notes_record(run: Run, notes: Iterable[Note]) -> None:
    """Append the notes to the run's history."""
    Event.objects.bulk_create(
        [Event(run=run, kind=note.kind, detail=note.detail) for note in notes]
    )
