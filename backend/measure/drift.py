"""True if repeats on one machine, in the order they were taken, climb or fall by more than chance.

A machine warms up, a burst credit runs out, a file system fills: the median then stands for no
moment of the run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

from backend.foundation.errors import InsufficientSamples

# A run has dozens of series: at one in twenty most runs would show a trend that is none.
MOST_P = 0.01
# With five, the steadiest climb still has p = 2/120.
MIN_REPEATS = 6
MOST_EXACT = 40


@dataclass(frozen=True)
class Trend:
    """How far the last half of a series lies from its first (ratio), and p of the test."""

    change_ratio: float
    p_value: float


def trend(values: Sequence[float], *, least_change_ratio: float) -> Trend | None:
    """The trend of a series in the order it was taken; None where chance explains it.

    A trend is noted where p of the Mann–Kendall test is below 0.01 and the medians of both halves
    differ by more than `least_change_ratio`. A series that reaches zero has no ratio, and none.
    """
    if len(values) < MIN_REPEATS or min(values) <= 0:
        return None
    half = len(values) // 2
    change_ratio = median(values[-half:]) / median(values[:half]) - 1
    p_value = drift_p_value(values)
    if abs(change_ratio) <= least_change_ratio or p_value >= MOST_P:
        return None
    return Trend(change_ratio, p_value)


def drift_p_value(values: Sequence[float]) -> float:
    """Two-sided p of the Mann–Kendall trend test over repeats in the order they were taken.

    Exact for up to 40 values without ties; else normal with tie-corrected variance. Small p:
    the series climbs or falls (a machine warming up, a burst credit running out).
    """
    n = len(values)
    if n < 3:
        raise InsufficientSamples(3, n)
    pairs = [(values[i], values[j]) for i in range(n) for j in range(i + 1, n)]
    concordance = sum((later > earlier) - (later < earlier) for earlier, later in pairs)
    counts = [values.count(value) for value in set(values)]
    if len(counts) == n and n <= MOST_EXACT:
        return _mann_kendall_exact_p(n, abs(concordance))
    variance = (n * (n - 1) * (2 * n + 5) - sum(c * (c - 1) * (2 * c + 5) for c in counts)) / 18
    if variance == 0:
        return 1.0
    # One less, as S moves in steps of two and the normal distribution does not.
    z = max(abs(concordance) - 1, 0) / math.sqrt(variance)
    return 2 * (1 - NormalDist().cdf(z))


def _mann_kendall_exact_p(n: int, concordance: int) -> float:
    """Share of the n! orders whose |S| is at least `concordance`, by counting inversions."""
    orders = [1]
    for size in range(2, n + 1):
        longer = [0] * (len(orders) + size - 1)
        for inversions, count in enumerate(orders):
            for added in range(size):
                longer[inversions + added] += count
        orders = longer
    all_pairs = n * (n - 1) // 2
    extreme = sum(c for k, c in enumerate(orders) if abs(all_pairs - 2 * k) >= concordance)
    return extreme / math.factorial(n)
