"""Who may work on a step: claims with a lease, and the fence around every write.

Leases are counted by PostgreSQL's clock. A claim that lost its lease cannot write anything.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Prefetch, Q, QuerySet, When
from django.db.models.functions import Coalesce, Now

from backend.benchmarks.models import Drain, Host, Run, RunState, Step, Worker
from backend.benchmarks.services.workers import instance, workers_alive

BATCH = 200
# A host or worker that is silent for this many leases (10 minutes by default) is lost.
LOST_AFTER_LEASES = 5
_RELATED = (
    "run__peer__worker",
    "run__offer",
    "run__price",
    "run__campaign",
    "run__resource__account",
    "run__client",
)
_HOST_RELATED = (
    "worker",
    "bastion__workspace__login_key",
    "workspace__login_key",
    "authority__workspace",
)

WORKER = Coalesce("run__host__worker", "run__peer__worker")


@dataclass(frozen=True)
class Claim:
    """The right to work on a step until the lease ends or a later token is given out."""

    step_id: int
    token: int
    worker_id: str | None = None
    """The only machine whose workers can do it."""


def claim_of(step: Step) -> Claim:
    """The claim under which the step was read."""
    return Claim(step.pk, step.lease_token)


class LeaseLost(Exception):
    """Somebody else has the step, or it is finished; what was done since does not count."""


def lease_end() -> dt.timedelta:
    return dt.timedelta(seconds=settings.LEASE_S)


def silence_limit() -> dt.timedelta:
    return LOST_AFTER_LEASES * lease_end()


def host_lost_after() -> dt.timedelta:
    """A host that is silent for so long while it measures is lost."""
    return dt.timedelta(seconds=settings.HOST_LOST_AFTER_S)


def _due() -> Q:
    return Q(finished_at=None, next_due_at__lte=Now()) & (
        Q(lease_until=None) | Q(lease_until__lte=Now())
    )


def _on_workers(workers: Q) -> Q:
    """Steps of runs that need no worker's own machine, or one of such workers."""
    alone = Q(run__peer=None) | Q(run__peer__worker=None)
    return (Q(run__host__worker=None) | _at("host", workers)) & (alone | _at("peer", workers))


def _at(end: str, workers: Q) -> Q:
    return Q(**{f"run__{end}__worker__in": Worker.objects.filter(workers).values("pk")})


def _here() -> Q:
    """Steps that this process can do."""
    return _on_workers(Q(pk=settings.WORKER_ID, instance=instance()))


def _reachable() -> Q:
    """Steps that some worker can do."""
    return _on_workers(Q(pk__in=workers_alive().values("pk")))


def _is_abandoned() -> Q:
    """Steps that have waited for a machine without a worker for too long."""
    latest = Now() - silence_limit()
    is_silent = Q(seen_at__lte=latest) | Q(seen_at=None)
    return Q(next_due_at__lte=latest) & ~_on_workers(~is_silent)


def _may_not_begin() -> Q:
    """Runs that would begin where or while none may."""
    drains = Drain.objects.filter(
        Q(worker=None)
        | Q(worker=OuterRef("run__host__worker"))
        | Q(worker=OuterRef("run__peer__worker"))
    )
    # The second run of a pair has begun with the first one, whose machine waits for it.
    return Q(state=RunState.QUEUED, run__server=None) & Q(Exists(drains))


def is_abandoned(step: Step) -> bool:
    """True if no worker's machine is there to do the step, so that anybody may give it up."""
    return Step.objects.filter(_is_abandoned(), pk=step.pk).exists()


def is_here(run: Run) -> bool:
    """True if this process sees the machines of the run."""
    here = (settings.WORKER_ID, instance())
    return run.worker is None or (run.worker.pk, run.worker.instance) == here


def is_followed() -> bool:
    """True if a poller is at work: it looks for running runs about every second by itself."""
    return Step.objects.filter(
        finished_at=None, state=RunState.RUNNING, lease_until__gt=Now()
    ).exists()


def due_polls() -> set[str | None]:
    """Where running runs wait for somebody to follow them: machines, None for anywhere."""
    due = Step.objects.filter(_due(), _reachable(), state=RunState.RUNNING)
    return set(due.values_list(WORKER, flat=True))


@transaction.atomic
def claim_due(
    *, is_polling: bool, is_routed: bool = False, limit: int = BATCH, overdue_s: float = 0
) -> list[Claim]:
    """Claim due steps, oldest first: those of running runs when polling, else all others, and
    those that nobody else will ever do.

    What this process cannot do is claimed only to be routed to another worker. Rows that another
    claimer holds at this moment are skipped, never waited for. `overdue_s` leaves what became due
    just now to somebody else, if anybody else can do it.
    """
    due = Step.objects.filter(_due())
    if overdue_s:
        latest = Now() - dt.timedelta(seconds=overdue_s)
        # Steps of a worker's own machine are for that worker alone, so it need not leave them to
        # others.
        due = due.filter(Q(next_due_at__lte=latest) | Q(run__host__worker__isnull=False))
    if is_polling:
        due = due.filter(_here(), state=RunState.RUNNING)
    else:
        can_do = _reachable() if is_routed else _here()
        due = due.filter(can_do & ~Q(state=RunState.RUNNING) | _is_abandoned())
        due = due.exclude(_may_not_begin())
    due = due.select_for_update(skip_locked=True, of=("self",)).order_by("next_due_at")
    # Nobody comes for an abandoned one any more: whoever gets it may give it up.
    due = due.annotate(worker_id=Case(When(_is_abandoned(), then=None), default=WORKER))
    steps: list[tuple[int, int, str | None]] = []
    # Machines that cost money end first, however many runs wait for a place.
    for part in (Q(state=RunState.TEARING_DOWN), ~Q(state=RunState.TEARING_DOWN)):
        if is_polling and not part.negated:
            continue
        if len(steps) < limit:
            rows = due.filter(part).values_list("pk", "lease_token", "worker_id")
            steps += rows[: limit - len(steps)]
    if not steps:
        return []
    Step.objects.filter(pk__in=[pk for pk, *_ in steps]).update(
        lease_token=F("lease_token") + 1,
        lease_until=Now() + lease_end(),
        # Counted with the claim: a step that kills its worker each time would else never come to an
        # end.
        attempt=F("attempt") + 1,
    )
    return [Claim(pk, token + 1, worker_id) for pk, token, worker_id in steps]


def whole_steps() -> QuerySet[Step]:
    """Steps with all that the work on them reads of their runs, in a few queries for any number.

    In one query of 21 joins PostgreSQL searched for their order for 14 ms, every time.
    """
    hosts = Prefetch("run__host", Host.objects.select_related(*_HOST_RELATED))
    return Step.objects.select_related(*_RELATED).prefetch_related(
        hosts,
        # Read only where an authority has signed a host's key.
        "run__host__authority__workspace__host_authorities",
        "run__server__resource__account",
    )


@contextmanager
def fence(claim: Claim) -> Iterator[Step]:
    """A transaction in which the step is ours: `WHERE lease_token = mine`, and not finished.

    The row stays locked to the end, so every write inside is fenced. Raises LeaseLost.
    """
    with transaction.atomic():
        step = (
            whole_steps()
            .select_for_update(of=("self",))
            .filter(pk=claim.step_id, lease_token=claim.token, finished_at=None)
            .first()
        )
        if step is None:
            raise LeaseLost(f"step {claim.step_id} is no longer ours")
        yield step


@contextmanager
def fence_all(claims: Iterable[Claim]) -> Iterator[dict[int, Step]]:
    """As `fence`, for many: the steps that are still ours by their id, each with its run."""
    tokens = {claim.step_id: claim.token for claim in claims}
    with transaction.atomic():
        steps = (
            Step.objects.select_for_update(of=("self",))
            .select_related("run")
            .defer("run__live", "run__parameters")
            .filter(pk__in=tokens, finished_at=None)
            # Locked in one order, so that two of these never wait for each other in a circle.
            .order_by("pk")
        )
        # Compared here: each step has a token of its own, which one condition cannot hold.
        yield {step.pk: step for step in steps if step.lease_token == tokens[step.pk]}


def renew_lease(claim: Claim) -> Step:
    """The step at the beginning of the work on it, with a full lease. Raises LeaseLost."""
    with fence(claim) as step:
        Step.objects.filter(pk=step.pk).update(lease_until=Now() + lease_end())
        return step


def release(
    claim: Claim, *, after_s: float = 0, error: str = "", is_progress: bool = False
) -> None:
    """Give the step back, due again after a while. Progress starts its attempts anew."""
    with fence(claim) as step:
        Step.objects.filter(pk=step.pk).update(
            lease_until=None,
            next_due_at=Now() + dt.timedelta(seconds=after_s),
            last_error=error[:2000] or step.last_error,
            attempt=0 if is_progress else step.attempt,
        )


def release_all(claims: Iterable[Claim]) -> None:
    """Give back every step that is still ours, due again at once, its attempts anew."""
    with fence_all(claims) as steps:
        Step.objects.filter(pk__in=steps).update(lease_until=None, next_due_at=Now(), attempt=0)
