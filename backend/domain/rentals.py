"""What a rented machine costs hour by hour of its life, and at most.

A period is a whole hour counted from the launch. Providers charge a machine's time by the second
with a minimum of a minute, or by the hour begun (docs/methodology.md).
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from types import MappingProxyType

from backend.domain.units import EXACT, exact_decimal

SECONDS_PER_HOUR = 3600
PERIOD = dt.timedelta(hours=1)


@dataclass(frozen=True)
class Increment:
    """Smallest time that is charged, and the steps above it, in seconds."""

    minimum_s: int
    step_s: int


BY_SECOND = Increment(60, 1)
BY_HOUR = Increment(3600, 3600)
INCREMENTS = MappingProxyType({"aws": BY_SECOND, "gcp": BY_SECOND, "azure": BY_SECOND})
"""By provider; any other one is taken to charge hours begun, so that a cap is never too low."""


@dataclass(frozen=True)
class Charge:
    """One period: the seconds lived in it, and what they cost."""

    period_start: dt.datetime
    seconds: Decimal
    amount: Decimal


def charges(
    provider: str, hourly: Decimal, started: dt.datetime, ended: dt.datetime
) -> Iterator[Charge]:
    """The periods of a machine's life in order; none for a life that has not begun.

    `hourly` is the price of an hour. Amounts carry 34 digits and are not rounded.
    """
    increment = INCREMENTS.get(provider, BY_HOUR)
    start = started
    while start < ended:
        lived = exact_decimal(min(ended - start, PERIOD).total_seconds())
        least = increment.minimum_s if start == started else 0
        steps = EXACT.divide(max(lived, Decimal(least)), Decimal(increment.step_s))
        billed = steps.to_integral_value(ROUND_CEILING) * increment.step_s
        yield Charge(start, lived, EXACT.divide(EXACT.multiply(hourly, billed), SECONDS_PER_HOUR))
        start += PERIOD


def largest_cost(provider: str, hourly: Decimal, lifetime_s: int) -> Decimal:
    """What a machine costs that lives for the whole time it is allowed."""
    began = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    life = charges(provider, hourly, began, began + dt.timedelta(seconds=lifetime_s))
    return sum((charge.amount for charge in life), Decimal(0))
