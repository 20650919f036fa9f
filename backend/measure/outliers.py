"""Values of one series that stand far from the rest of it."""

from collections.abc import Sequence
from statistics import median

MIN_VALUES = 5
THRESHOLD = 3.5
# The median deviation of a normal distribution, in standard deviations.
NORMAL_QUARTILE = 0.6745
# Repeats agree this well by chance: a smaller median deviation counts as this one.
FLOOR_RATIO = 0.005


def outliers(values: Sequence[float]) -> set[int]:
    """Indexes of the values whose modified z-score is above 3.5; none among fewer than five.

    z = 0.6745 · |x − median| / MAD (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993),
    where the median deviation MAD counts as 0.5 % of the median or more: repeats that are almost
    equal make no outlier of one that is 1 % off.
    """
    if len(values) < MIN_VALUES:
        return set()
    centre = median(values)
    deviations = [abs(value - centre) for value in values]
    spread = max(median(deviations), FLOOR_RATIO * abs(centre))
    return {
        index
        for index, deviation in enumerate(deviations)
        if NORMAL_QUARTILE * deviation > THRESHOLD * spread
    }
