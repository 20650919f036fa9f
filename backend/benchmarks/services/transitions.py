"""Which state of a run may follow which, and the one way to move from one to the next."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from backend.benchmarks.models import TERMINAL_STATES, Campaign, Run, RunState, Step
from backend.core import clock

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
        # What cannot be cleaned or ended ends the run all the same; its step goes on for as long as it
        # takes.
        S.TEARING_DOWN: frozenset({S.VERIFIED_GONE, S.DONE, S.LOST}),
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
    # What nothing follows is an end.
    if not TRANSITIONS[target]:
        fields = {"finished_at": clock.now(), **fields}
    if not Run.objects.filter(pk=run.pk, state=source).update(state=target, **fields):
        raise StaleState(f"{run.pk} is no longer {source}")
    run.refresh_from_db()


def next_queued_due(run: Run) -> list[Step]:
    """Make the queued runs due that may begin now that `run` was made, has ended or was cancelled.

    A queued run may begin when no run that is active or due involves one of its hosts (a peer
    is involved as the host is), no older queued one does, and its campaign has a free slot. The run of
    a rented peer does not hinder the one that it serves, once it has begun itself; the two take one
    slot. Only the
    oldest queued run of each of the hosts can have become able to, and those of the campaign.
    To be called with the workspace locked (services), so that two such looks never cross.
    """
    started = []
    for host_id in filter(None, (run.host_id, run.peer_id)):
        oldest = _first_steps().filter(Q(run__host_id=host_id) | Q(run__peer_id=host_id)).first()
        if oldest is not None and _free_slots(oldest.run) > 0 and _free(oldest.pk).exists():
            started.append(_due(oldest))
    # With more than one slot left there was one before, so that whatever is free had begun: thousands of
    # repeats that wait for their hosts need not be looked at.
    if run.campaign is not None and run.is_finished and _campaign_slots(run.campaign) == 1:
        started += [_due(step) for step in _free().filter(run__campaign=run.campaign)[:1]]
    return started


def campaign_queued_due(campaign: Campaign, runs: Sequence[Run]) -> int:
    """Make those of the campaign's new runs due that may begin, and return how many: as
    next_queued_due for each of them, in three statements for hundreds."""
    # Runs that are free share no host with each other: the younger would not be.
    free = _free().filter(run__in=[run.pk for run in runs])
    chosen = list(free.values_list("pk", flat=True)[: max(0, _campaign_slots(campaign))])
    return Step.objects.filter(pk__in=chosen).update(next_due_at=clock.now())


def _first_steps() -> QuerySet[Step]:
    """First steps of the runs that wait for their hosts, oldest first."""
    return (
        Step.objects.filter(run__state=S.QUEUED, state=S.QUEUED, finished_at=None, next_due_at=None)
        .select_related("run__campaign")
        .order_by("id")
    )


def _free(step_id: int | None = None) -> QuerySet[Step]:
    """Queued runs (or the one) whose hosts no active, due or older queued run involves."""
    host, peer = OuterRef("run__host_id"), OuterRef("run__peer_id")
    ahead = Step.objects.filter(
        Q(next_due_at__isnull=False) | Q(id__lt=OuterRef(OuterRef("id"))),
        run=OuterRef("pk"),
        state=S.QUEUED,
        finished_at=None,
    )
    # Of a run without a server its own id, which is queued: nothing is equal to NULL, nor unequal.
    served = Coalesce(OuterRef("run__server_id"), OuterRef("run_id"))
    hindrances = Run.objects.exclude(state__in=TERMINAL_STATES).filter(
        Q(host_id=host) | Q(peer_id=host) | Q(host_id=peer) | Q(peer_id=peer),
        (~Q(state=S.QUEUED) & ~Q(pk=served)) | Exists(ahead),
    )
    queued = _first_steps() if step_id is None else _first_steps().filter(pk=step_id)
    return queued.exclude(Exists(hindrances))


def _free_slots(run: Run) -> int:
    """How many further runs of the run's campaign may begin now; one for a run of no campaign."""
    return 1 if run.campaign is None else _campaign_slots(run.campaign)


def _campaign_slots(campaign: Campaign) -> int:
    due = Step.objects.filter(
        run=OuterRef("pk"), state=S.QUEUED, finished_at=None, next_due_at__isnull=False
    )
    # A pair of rented machines counts once: its second run must not wait for a slot, while the first
    # one's machine is paid for.
    begun = campaign.runs.filter(server=None).exclude(state__in=TERMINAL_STATES)
    return campaign.concurrency - begun.filter(~Q(state=S.QUEUED) | Exists(due)).count()


def _due(step: Step) -> Step:
    step.next_due_at = clock.now()
    step.save(update_fields=["next_due_at"])
    return step
