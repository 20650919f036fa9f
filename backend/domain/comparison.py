"""Two figures of the same kind against each other, and offers that are much alike."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from backend.domain.units import EXACT

UNKNOWN_DISTANCE = math.log(2)
"""What a trait that only one of two things states counts for: as if they differed by half."""


@dataclass(frozen=True)
class IntervalFigure:
    """A number with the ends of its 95 % interval, where it has one."""

    value: Decimal
    ci95_low: Decimal | None = None
    ci95_high: Decimal | None = None


def delta_ratio(figure: IntervalFigure, base: IntervalFigure) -> Decimal | None:
    """value / base − 1, 34 digits (0.25 is a quarter more); None for a base of zero."""
    if not base.value:
        return None
    return EXACT.subtract(EXACT.divide(figure.value, base.value), Decimal(1))


def is_distinguishable(figure: IntervalFigure, base: IntervalFigure) -> bool | None:
    """Whether the two intervals are apart; None where an interval is not known."""
    ends = (figure.ci95_low, figure.ci95_high, base.ci95_low, base.ci95_high)
    if any(end is None for end in ends):
        return None
    low, high, base_low, base_high = (end for end in ends if end is not None)
    return high < base_low or base_high < low


def distance(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> float:
    """How unlike two things are: the root mean square of ln(a/b) over the traits of `one`.

    Traits are sizes above zero, so that twice and half are equally far. One that `one` lacks is
    left out; infinity where nothing is left.
    """
    squares = [
        _log_ratio(value, other.get(name)) ** 2 for name, value in one.items() if value is not None
    ]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else math.inf


def _log_ratio(value: float, other: float | None) -> float:
    return UNKNOWN_DISTANCE if other is None else math.log(value / other)
