"""The CMIPS-compatible score, the cost of a unit process (CUP), and when a repeat counts.

A score is the aggregate number of kernel iterations per second over 1,024,000, which is what
every scoring version of CMIPS prints: N threads of 32,000 × 32,000 × 10 iterations in s seconds.
"""

import math
from decimal import Decimal

from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT, exact_decimal

ITERATIONS_PER_CMIPS_S = 1_024_000
MIN_CPU_SHARE_RATIO = 0.95
MAX_FOREIGN_CPU_RATIO = 0.05
# `observe` writes shares with four decimals; their sum must not fall below by rounding.
SHARE_DECIMALS = 6


def _positive(field: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise InvalidValue(field, f"{value} is not a finite number above zero")
    return value


def score(iterations: int, seconds: float) -> float:
    """The score (CMIPS) of `iterations` over all threads in `seconds` of wall time."""
    return (
        _positive("iterations", iterations) / _positive("seconds", seconds) / ITERATIONS_PER_CMIPS_S
    )


def cup(price_per_hour: Decimal, score_value: float) -> Decimal:
    """Cost of one CMIPS for one hour, in the currency of the price; lower is better."""
    _positive("score", score_value)
    return EXACT.divide(price_per_hour, exact_decimal(score_value))


def scaling_efficiency(all_score: float, single_score: float, threads: int) -> float:
    """All-thread score over what `threads` single-thread scores would add up to (ratio)."""
    _positive("all_score", all_score)
    return all_score / (_positive("single_score", single_score) * _positive("threads", threads))


def cpu_share(cpu_s: float, wall_s: float, usable_cpus: float) -> float:
    """CPU seconds received over those on offer (ratio): 1 is a machine of one's own."""
    if not (math.isfinite(cpu_s) and cpu_s >= 0):
        raise InvalidValue("cpu_s", f"{cpu_s} is not a finite number of seconds")
    return cpu_s / (_positive("wall_s", wall_s) * _positive("usable_cpus", usable_cpus))


def is_disturbed(
    cpu_share_ratio: float | None, foreign_cpu_ratio: float | None, steal_ratio: float | None
) -> bool:
    """True if other work of this machine took CPU from a repeat: foreign CPU above 0.05, or the
    CPU time received and the time stolen together under 0.95 of what was on offer.

    None is a figure that was not observed, or that says nothing about this test (the CPU share
    of a disk test); it disturbs nothing.
    """
    if foreign_cpu_ratio is not None and foreign_cpu_ratio > MAX_FOREIGN_CPU_RATIO:
        return True
    if cpu_share_ratio is None:
        return False
    # Some guest kernels take stolen time off a process's own (CONFIG_PARAVIRT_TIME_ACCOUNTING).
    # Added back it disturbs on none: on a shared host it is the product that is sold.
    accounted = cpu_share_ratio + (steal_ratio or 0)
    return round(accounted, SHARE_DECIMALS) < MIN_CPU_SHARE_RATIO
