"""What a rented machine costs hour by hour of its life, and at most; how long it may live.

A period is a whole hour counted from the launch. Providers charge a machine's time by the second
with a minimum of a minute, or by the hour begun (docs/methodology.md).
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

from backend.domain.errors import UnknownRate
from backend.domain.money import Money, RateTable
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
# For copying the probes and installing their packages, collecting, and the end of the machine.
TIDY_UP_S = 600
STORED = Decimal(1).scaleb(-18)
SHOWN = Decimal(1).scaleb(-10)


@dataclass(frozen=True)
class Budget:
    """The most that a run, a round of a campaign or a month may cost."""

    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Cap:
    """A budget that a launch has to fit into, with all that is taken of it already: amounts that
    are spent, or reserved for machines that live."""

    name: str
    """Whose it is, for the sentence that refuses."""
    budget: Budget
    taken: Sequence[Money] = ()


@dataclass(frozen=True)
class HourCharge:
    """One period: the seconds lived in it, and what they cost."""

    period_start: dt.datetime
    seconds: Decimal
    amount: Decimal


def charges(
    increment: Increment, hourly: Decimal, started: dt.datetime, ended: dt.datetime
) -> Iterator[HourCharge]:
    """The periods of a machine's life in order; none for a life that has not begun.

    `hourly` is the price of an hour. Amounts carry 34 digits and are not rounded.
    """
    start = started
    while start < ended:
        lived = exact_decimal(min(ended - start, PERIOD).total_seconds())
        # The least time is charged once, with the launch, and not again in each hour.
        least = increment.minimum_s if start == started else 0
        steps = EXACT.divide(max(lived, Decimal(least)), Decimal(increment.step_s))
        billed = steps.to_integral_value(ROUND_CEILING) * increment.step_s
        yield HourCharge(
            start, lived, EXACT.divide(EXACT.multiply(hourly, billed), SECONDS_PER_HOUR)
        )
        start += PERIOD


def largest_cost(increment: Increment, hourly: Decimal, lifetime_s: int) -> Decimal:
    """What a machine costs that lives for the whole time it is allowed."""
    # Any day will do: only the length of the life matters.
    began = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    life = charges(increment, hourly, began, began + dt.timedelta(seconds=lifetime_s))
    return sum((charge.amount for charge in life), Decimal(0))


def reserved_cost(increment: Increment, hourly: Decimal, lifetime_s: int) -> Decimal:
    """`largest_cost` as it is stored: with 18 decimals, never less than it."""
    return largest_cost(increment, hourly, lifetime_s).quantize(STORED, ROUND_CEILING)


def stored(amount: Decimal) -> Decimal:
    """A calculated amount with the 18 decimals of its column."""
    return amount.quantize(STORED, ROUND_HALF_EVEN)


def refusal(cap: Cap, cost: Money, rates: RateTable) -> str | None:
    """Why the cost does not fit into the budget, with the figures; None when it does.

    What cannot be converted into the budget's currency does not fit.
    """
    currency = cap.budget.currency
    try:
        needed = rates.convert(cost, currency).amount
        taken = sum((rates.convert(one, currency).amount for one in cap.taken), Decimal(0))
    except UnknownRate as error:
        return f"the {cap.name} cannot be checked: {error}"
    if EXACT.add(taken, needed) <= cap.budget.amount:
        return None
    return (
        f"{_shown(needed)} {currency} do not fit into the {cap.name} of {_shown(cap.budget.amount)}: "
        f"{_shown(taken)} are spent or reserved"
    )


def _shown(amount: Decimal) -> str:
    text = format(amount.quantize(SHOWN, ROUND_HALF_EVEN), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def lifetime_s(time_cap_s: int, boot_limit_s: int) -> int:
    """Seconds that a machine may live whose profile measures for `time_cap_s`.

    Twice that, since a repeat that runs at the cap is finished; beside it the boot and the rest.
    """
    return boot_limit_s + 2 * time_cap_s + TIDY_UP_S


def zones_to_try(named: Sequence[str], offering: Sequence[str]) -> list[str] | None:
    """Of the zones that an account names, in its order, those that offer the type; all that offer
    it where it names none. Empty: the provider chooses. None: no zone is both."""
    if not named or not offering:
        return [*(named or offering)]
    return [zone for zone in named if zone in offering] or None


def next_zone(zones: Sequence[str], tried: Sequence[str]) -> str | None:
    """The first zone that was not tried yet; without zones the provider chooses, once ("")."""
    return next((zone for zone in zones or ("",) if zone not in tried), None)
