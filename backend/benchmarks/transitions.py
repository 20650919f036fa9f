"""Which state of a run may follow which, and the one way to move from one to the next."""

from collections.abc import Mapping
from types import MappingProxyType

from backend.benchmarks.models import Run, RunState, Step
from backend.common import clock

S = RunState

TRANSITIONS: Mapping[RunState, frozenset[RunState]] = MappingProxyType(
    {
        # Nothing was touched yet, so a queued run ends without being torn down.
        S.QUEUED: frozenset({S.BUDGET_RESERVED, S.REACHABLE, S.FAILED, S.CANCELLED}),
        S.BUDGET_RESERVED: frozenset({S.LAUNCHING, S.TEARING_DOWN}),
        S.LAUNCHING: frozenset({S.BOOTING, S.TEARING_DOWN}),
        S.BOOTING: frozenset({S.REACHABLE, S.TEARING_DOWN}),
        S.REACHABLE: frozenset({S.PREPARED, S.TEARING_DOWN}),
        S.PREPARED: frozenset({S.RUNNING, S.TEARING_DOWN}),
        S.RUNNING: frozenset({S.COLLECTING, S.TEARING_DOWN}),
        S.COLLECTING: frozenset({S.PARSED, S.TEARING_DOWN}),
        S.PARSED: frozenset({S.TEARING_DOWN}),
        # A host that went silent is lost; cleaning it is tried again for as long as it takes.
        S.TEARING_DOWN: frozenset({S.VERIFIED_GONE, S.LOST}),
        S.VERIFIED_GONE: frozenset({S.DONE, S.FAILED, S.CANCELLED, S.LOST}),
        S.DONE: frozenset(),
        S.FAILED: frozenset(),
        S.CANCELLED: frozenset(),
        S.LOST: frozenset(),
    }
)


class StaleState(Exception):
    """The run is no longer in the state that the move starts from."""


def move(run: Run, target: RunState, **fields: object) -> None:
    """Take the run from the state we saw it in to the target, by compare-and-set.

    `fields` are written in the same statement. Raises StaleState when somebody else moved it,
    ValueError for a move that the table does not have.
    """
    source = RunState(run.state)
    if target not in TRANSITIONS[source]:
        raise ValueError(f"a run cannot go from {source} to {target}")
    if not TRANSITIONS[target]:
        fields = {"finished_at": clock.now(), **fields}
    if not Run.objects.filter(pk=run.pk, state=source).update(state=target, **fields):
        raise StaleState(f"{run.pk} is no longer {source}")
    run.refresh_from_db()


def next_queued_due(run: Run) -> Step | None:
    """Make the oldest queued run of the same host due, if no other run is active there.

    To be called with the host's row locked.
    """
    ended = [state for state, following in TRANSITIONS.items() if not following]
    of_host = Run.objects.filter(host_id=run.host_id)
    if of_host.exclude(state__in=[*ended, S.QUEUED]).exists():
        return None
    step = (
        Step.objects.filter(
            run__host_id=run.host_id, run__state=S.QUEUED, state=S.QUEUED, finished_at=None
        )
        .order_by("run__created_at", "id")
        .first()
    )
    if step is not None and step.next_due_at is None:
        step.next_due_at = clock.now()
        step.save(update_fields=["next_due_at"])
    return step
