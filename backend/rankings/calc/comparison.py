"""Two figures of the same kind against each other, and offers that are much alike."""

import math
from collections.abc import Mapping
from decimal import Decimal

from backend.foundation.units import EXACT

# What a trait that only one of two things states counts for: as if they differed by half.
UNKNOWN_DISTANCE = math.log(2)


def delta_ratio(value: Decimal, base: Decimal) -> Decimal | None:
    """value / base − 1, 34 digits (0.25 is a quarter more); None for a base of zero."""
    if not base:
        return None
    return EXACT.subtract(EXACT.divide(value, base), Decimal(1))


def distance(values: Mapping[str, float | None], other: Mapping[str, float | None]) -> float:
    """How unlike two things are: the root mean square of ln(a/b) over the traits of `one`.

    Traits are sizes above zero, so that twice and half are equally far. One that `one` lacks is
    left out; infinity where nothing is left.
    """
    squares = [
        _log_ratio(value, other.get(name)) ** 2
        for name, value in values.items()
        if value is not None
    ]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else math.inf


def _log_ratio(value: float, other: float | None) -> float:
    return UNKNOWN_DISTANCE if other is None else math.log(value / other)
