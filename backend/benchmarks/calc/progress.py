"""How much longer a run takes, and what its machine has cost so far."""

from collections.abc import Sequence
from decimal import Decimal
from statistics import median

from backend.foundation.units import EXACT, HOURS_PER_MONTH, exact_decimal
from backend.money.pricing import PERIODS, price_per_period

SECONDS_PER_HOUR = Decimal(3600)
MICRO = Decimal("0.000001")


def remaining_s(
    *,
    progress_ratio: float,
    elapsed_s: float,
    planned_s: float,
    likely_s: float,
    past_s: Sequence[float] = (),
) -> float:
    """Seconds that a runner still needs after `elapsed_s` of its own time.

    `past_s` are what earlier runs of the same kind took; their median counts. Without any it is
    the lower of what the plan says in full (`planned_s`, by the share that is done) and what it
    says with the profile's cap (`likely_s`). A run that is over both goes by its share alone.
    """
    by_share_s = planned_s * (1 - progress_ratio)
    by_time_s = (median(past_s) if past_s else likely_s) - elapsed_s
    if by_time_s <= 0:
        return by_share_s
    return by_time_s if past_s else min(by_share_s, by_time_s)


def cost_so_far(amount: Decimal, unit: str, elapsed_s: float) -> Decimal | None:
    """Cost of a machine at `amount` per hour, month or year in `elapsed_s`, in millionths.

    None for a machine that was bought: using it costs nothing more.
    """
    if unit not in PERIODS:
        return None
    per_hour = price_per_period(amount, unit, "hour", Decimal(HOURS_PER_MONTH))
    hours = EXACT.divide(exact_decimal(elapsed_s), SECONDS_PER_HOUR)
    return EXACT.multiply(per_hour, hours).quantize(MICRO)
