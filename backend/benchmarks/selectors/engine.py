"""How the engine is doing, for the monitoring."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Min, Q

from backend.benchmarks.models import TERMINAL_STATES, Run, Step, Tick
from backend.core import clock


@dataclass(frozen=True)
class EngineFigures:
    """Waiting and running work of the engine, and its last movement. Ages in seconds."""

    tick_age_s: float | None
    """Since the last tick; None before the first."""
    due_count: int
    """Steps that may be claimed now."""
    oldest_due_s: float
    """How long the first of them has been due; 0 without one."""
    expired_lease_count: int
    """Steps whose worker neither ended them nor kept them: it is gone, or late."""
    run_counts: Mapping[str, int]
    """State → runs that have not ended."""


def tick_age_s() -> float | None:
    """Seconds since the engine's last tick; None before the first."""
    tick = Tick.objects.order_by("-at").first()
    return None if tick is None else (clock.now() - tick.at).total_seconds()


def engine_figures() -> EngineFigures:
    """The figures of this moment, in three queries."""
    now = clock.now()
    is_due = Q(next_due_at__lte=now) & (Q(lease_until=None) | Q(lease_until__lte=now))
    steps = Step.objects.filter(finished_at=None).aggregate(
        due=Count("pk", filter=is_due),
        oldest=Min("next_due_at", filter=is_due),
        expired=Count("pk", filter=Q(lease_until__lte=now)),
    )
    alive = Run.objects.exclude(state__in=TERMINAL_STATES).order_by()
    return EngineFigures(
        tick_age_s=tick_age_s(),
        due_count=steps["due"],
        oldest_due_s=(now - steps["oldest"]).total_seconds() if steps["oldest"] else 0.0,
        expired_lease_count=steps["expired"],
        run_counts=dict(alive.values_list("state").annotate(Count("pk"))),
    )
