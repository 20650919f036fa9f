"""Cost of a rented machine hour by hour of its life, and at most; its allowed lifetime.

A period is a whole hour counted from the launch. Providers charge a machine's time by the second
with a minimum of a minute, or by the hour begun, and have changed that (docs/methodology.md).
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

from backend.foundation.errors import UnknownRate
from backend.foundation.units import EXACT, exact_decimal
from backend.money.money import Money, RateTable

SECONDS_PER_HOUR = 3600
PERIOD = dt.timedelta(hours=1)


@dataclass(frozen=True)
class Increment:
    """Smallest time that is charged, and the steps above it, in seconds."""

    minimum_s: int
    step_s: int
    least: Money | None = None
    """The least that a machine costs, however short its life; in the currency of its price."""
    valid_from: dt.date | None = None
    """First day on which machines are launched under this rule."""
    before: "Increment | None" = None
    """The rule of earlier days."""

    def on(self, day: dt.date) -> "Increment":
        """The rule for a machine that was launched on a day."""
        if self.before is None or self.valid_from is None or day >= self.valid_from:
            return self
        return self.before.on(day)


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
    """A period: the seconds lived in it, and what they cost."""

    period_start: dt.datetime
    seconds: Decimal
    amount: Decimal


def charges(
    increment: Increment, hourly: Decimal, started: dt.datetime, ended: dt.datetime
) -> Iterator[HourCharge]:
    """The periods of a machine's life in order; none for a life that has not begun.

    `hourly` is the price of an hour. Amounts carry 34 digits and are not rounded. The rule is that
    of the launch's day, so the past costs what it cost then.
    """
    increment = increment.on(started.date())
    start, charged, total = started, Decimal(0), Decimal(0)
    while start < ended:
        lived = exact_decimal(min(ended - start, PERIOD).total_seconds())
        # The least time is charged once, with the launch, and not again in each hour.
        least = increment.minimum_s if start == started else 0
        steps = EXACT.divide(max(lived, Decimal(least)), Decimal(increment.step_s))
        billed = steps.to_integral_value(ROUND_CEILING) * increment.step_s
        amount = EXACT.divide(EXACT.multiply(hourly, billed), SECONDS_PER_HOUR)
        if increment.least is not None:
            # The least amount is a part of the first hours, not added to each.
            total = EXACT.add(total, amount)
            amount = EXACT.subtract(max(total, increment.least.amount), charged)
            charged = EXACT.add(charged, amount)
        yield HourCharge(start, lived, amount)
        start += PERIOD


def largest_cost(increment: Increment, hourly: Decimal, lifetime_s: int) -> Decimal:
    """Cost of a machine that lives for the whole time it is allowed."""
    # A day of the newest rule; else only the length of the life matters.
    first_day = increment.valid_from or dt.date(2000, 1, 1)
    began = dt.datetime.combine(first_day, dt.time(), dt.UTC)
    life = charges(increment, hourly, began, began + dt.timedelta(seconds=lifetime_s))
    return sum((charge.amount for charge in life), Decimal(0))


def cost_to_reserve(increment: Increment, hourly: Decimal, lifetime_s: int) -> Decimal:
    """`largest_cost` as it is stored: with 18 decimals, never less than it."""
    return largest_cost(increment, hourly, lifetime_s).quantize(STORED, ROUND_CEILING)


def round_to_column(amount: Decimal) -> Decimal:
    """A calculated amount with the 18 decimals of its column."""
    return amount.quantize(STORED, ROUND_HALF_EVEN)


def refusal(cap: Cap, cost: Money, rates: RateTable) -> str | None:
    """Why the cost does not fit into the budget, with the figures; None when it does.

    What cannot be converted into the budget's currency does not fit.
    """
    currency = cap.budget.currency
    try:
        needed = rates.convert(cost, currency).amount
        taken = sum((rates.convert(amount, currency).amount for amount in cap.taken), Decimal(0))
    except UnknownRate as error:
        return f"the {cap.name} cannot be checked: {error}"
    if EXACT.add(taken, needed) <= cap.budget.amount:
        return None
    return (
        f"{_amount_text(needed)} {currency} do not fit into the {cap.name} of {_amount_text(cap.budget.amount)}: "
        f"{_amount_text(taken)} are spent or reserved"
    )


def _amount_text(amount: Decimal) -> str:
    text = format(amount.quantize(SHOWN, ROUND_HALF_EVEN), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def lifetime_s(time_cap_s: int, boot_limit_s: int) -> int:
    """Seconds that a machine may live whose profile measures for `time_cap_s`.

    Twice that, since a repeat that runs at the cap is finished; beside it the boot and the rest.
    """
    return boot_limit_s + 2 * time_cap_s + TIDY_UP_S


def zones_to_try(named: Sequence[str], offering: Sequence[str]) -> list[str] | None:
    """Zones that an account names, in its order, as far as they offer the type; all that offer it
    where it names none. Empty: the provider chooses. None: no zone is both."""
    if not named or not offering:
        return [*(named or offering)]
    return [zone for zone in named if zone in offering] or None


def next_zone(zones: Sequence[str], tried: Sequence[str]) -> str | None:
    """The first zone that was not tried yet; without zones the provider chooses, once ("")."""
    return next((zone for zone in zones or ("",) if zone not in tried), None)
