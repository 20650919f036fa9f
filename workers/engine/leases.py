"""Who may work on a step: claims with a lease, and the fence around every write.

Leases are counted by PostgreSQL's clock. A claim that lost its lease cannot write anything.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from backend.benchmarks.models import RunState, Step

BATCH = 200
RELATED = (
    *("run__host", "run__peer", "run__offer", "run__price", "run__campaign"),
    "run__resource__account",
)


@dataclass(frozen=True)
class Claim:
    """The right to work on a step until the lease ends or a later token is given out."""

    step_id: int
    token: int


class LeaseLost(Exception):
    """Somebody else has the step, or it is finished; what was done since does not count."""


def lease_end() -> dt.timedelta:
    return dt.timedelta(seconds=settings.LEASE_S)


def _due() -> Q:
    return Q(finished_at=None, next_due_at__lte=Now()) & (
        Q(lease_until=None) | Q(lease_until__lte=Now())
    )


def is_followed() -> bool:
    """Whether a poller is at work: it looks for running runs about every second by itself."""
    return Step.objects.filter(
        finished_at=None, state=RunState.RUNNING, lease_until__gt=Now()
    ).exists()


def has_due_polls() -> bool:
    """Whether a running run waits for somebody to follow it."""
    return Step.objects.filter(_due(), state=RunState.RUNNING).exists()


@transaction.atomic
def claim_due(*, is_polling: bool, limit: int = BATCH, overdue_s: float = 0) -> list[Claim]:
    """Claim due steps, oldest first: those of running runs when polling, else all others.

    Rows that another claimer holds at this moment are skipped, never waited for. `overdue_s`
    leaves what became due just now to somebody else.
    """
    due = Step.objects.filter(_due())
    if overdue_s:
        due = due.filter(next_due_at__lte=Now() - dt.timedelta(seconds=overdue_s))
    due = due.filter(state=RunState.RUNNING) if is_polling else due.exclude(state=RunState.RUNNING)
    found = list(
        due.select_for_update(skip_locked=True, of=("self",))
        .order_by("next_due_at")
        .values_list("pk", "lease_token")[:limit]
    )
    Step.objects.filter(pk__in=[pk for pk, _ in found]).update(
        lease_token=F("lease_token") + 1,
        lease_until=Now() + lease_end(),
        attempt=F("attempt") + 1,
    )
    return [Claim(pk, token + 1) for pk, token in found]


@contextmanager
def fenced(claim: Claim) -> Iterator[Step]:
    """A transaction in which the step is ours: `WHERE lease_token = mine`, and not finished.

    The row stays locked to the end, so every write inside is fenced. Raises LeaseLost.
    """
    with transaction.atomic():
        step = (
            Step.objects.select_for_update(of=("self",))
            .select_related(*RELATED)
            .filter(pk=claim.step_id, lease_token=claim.token, finished_at=None)
            .first()
        )
        if step is None:
            raise LeaseLost(f"step {claim.step_id} is no longer ours")
        yield step


@contextmanager
def fenced_all(claims: Iterable[Claim]) -> Iterator[dict[int, Step]]:
    """As `fenced`, for many: the steps that are still ours by their id, each with its run."""
    tokens = {claim.step_id: claim.token for claim in claims}
    with transaction.atomic():
        steps = (
            Step.objects.select_for_update(of=("self",))
            .select_related("run")
            .defer("run__live", "run__parameters")
            .filter(pk__in=tokens, finished_at=None)
            .order_by("pk")
        )
        yield {step.pk: step for step in steps if step.lease_token == tokens[step.pk]}


def renewed(claim: Claim) -> Step:
    """The step at the beginning of the work on it, with a full lease. Raises LeaseLost."""
    with fenced(claim) as step:
        Step.objects.filter(pk=step.pk).update(lease_until=Now() + lease_end())
        return step


def release(
    claim: Claim, *, after_s: float = 0, error: str = "", is_progress: bool = False
) -> None:
    """Give the step back, due again after a while. Progress starts its attempts anew."""
    with fenced(claim) as step:
        Step.objects.filter(pk=step.pk).update(
            lease_until=None,
            next_due_at=Now() + dt.timedelta(seconds=after_s),
            last_error=error[:2000] or step.last_error,
            attempt=0 if is_progress else step.attempt,
        )


def release_all(claims: Iterable[Claim]) -> None:
    """Give back every step that is still ours, due again at once, its attempts anew."""
    with fenced_all(claims) as steps:
        Step.objects.filter(pk__in=steps).update(lease_until=None, next_due_at=Now(), attempt=0)
