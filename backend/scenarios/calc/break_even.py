"""Where two options cost the same, or why they never do.

The cost of an option is linear in any price that it is billed at, so the price at which two
options meet is exact. Counts that were a question stay as they came out; what is bought at the
same price moves in both options together.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from backend.foundation import figures
from backend.foundation.texts import number
from backend.foundation.texts import text as _
from backend.money.pricing.billing.lifetimes import HOUR_S, Horizon, months
from backend.scenarios.calc.alone import OptionAlone
from backend.scenarios.calc.charges import cost, part_cost, whole
from backend.scenarios.calc.model import Option, OptionPart, Price, ScenarioInput
from backend.scenarios.calc.results import OptionOutcome
from backend.scenarios.calc.uncertainty import option_with_counts, price_key

# Rules whose cost is a multiple of the price: no cap, fee or commitment stands beside it.
LINEAR = frozenset(
    {"per_second", "per_minute", "hour_ceil", "sustained_use", "spot", "monthly", "purchase"}
)
HOURS_BEGUN = frozenset({"hour_ceil", "hour_ceil_cap"})
# Rules that bill a server by its own time.
HOURLY = HOURS_BEGUN | {"per_second", "per_minute", "sustained_use", "spot"}


Paid = dict[Hashable, Fraction]


@dataclass(frozen=True)
class Meeting:
    """Two options cost the same when the parameter has the value; None with the reason: never."""

    option_a: str
    option_b: str
    parameter: str
    value: Fraction | None
    unit: str
    reason: str | None = None


def meetings(scenario: ScenarioInput, options: Sequence[OptionAlone]) -> list[Meeting]:
    """For every pair of options the prices at which they meet, and the hours a month from which
    on a monthly price costs less than the bill by the hour for the same units."""
    points: list[Meeting] = []
    paid = [_by_price(option) for option in options]
    for (a, paid_a), (b, paid_b) in combinations(zip(options, paid, strict=True), 2):
        scenario.check()
        points += _prices(a, b, paid_a, paid_b)
        points += _hours(scenario, a.option, b.option)
    return points


def payments_by_part(scenario: ScenarioInput, outcome: OptionOutcome) -> tuple[Fraction, ...]:
    """Payment of an option for the servers of each of its parts."""
    horizon = scenario.steps.horizon
    fixed = [
        part_cost(part, part.count, horizon) if isinstance(part.count, int) else None
        for part in option_with_counts(outcome).parts
    ]
    # The engine bills a fleet as a whole: what always runs is known, the rest is elastic.
    rest = outcome.fleet.compute - sum(amount for amount in fixed if amount is not None)
    return tuple(rest if amount is None else amount for amount in fixed)


def _by_price(alone: OptionAlone) -> Paid:
    """Payment of an option at each price."""
    paid: Paid = {}
    for part, amount in zip(alone.option.parts, alone.paid, strict=True):
        paid[price_key(part)] = paid.get(price_key(part), Fraction(0)) + amount
    return paid


def _prices(a: OptionAlone, b: OptionAlone, paid_a: Paid, paid_b: Paid) -> Iterator[Meeting]:
    parts: dict[Hashable, OptionPart] = {
        price_key(part): part for outcome in (a, b) for part in outcome.option.parts
    }
    for key, part in parts.items():
        slope = paid_a.get(key, Fraction(0)) - paid_b.get(key, Fraction(0))
        # What follows the only term has a price of its own.
        is_linear = part.price.billing in LINEAR and part.price.after_per_hour is None
        if not slope or not is_linear:
            continue
        # total(f) = total + (f − 1) · paid for each option; equal totals give f.
        factor = 1 - (a.total - b.total) / slope
        price = part.price
        rests = [
            (outcome.total - paid.get(key, 0), paid.get(key, 0))
            for outcome, paid in ((a, paid_a), (b, paid_b))
        ]
        dearer = a if rests[0] > rests[1] else b
        yield Meeting(
            a.option.name,
            b.option.name,
            _(
                "price, {billing}, now {price}",
                billing=price.billing,
                price=number(figures.money(float(price.terms.price), price.unit)),
            ),
            factor * price.terms.price if factor > 0 else None,
            f"{price.currency}/{price.unit}",
            None
            if factor > 0
            else _("never: {name} costs more at any price of it", name=dearer.option.name),
        )


def _hours(scenario: ScenarioInput, a: Option, b: Option) -> Iterator[Meeting]:
    for outcome, other in ((a, b), (b, a)):
        if len(outcome.parts) != 1 or len(other.parts) != 1:
            continue
        hour, month = outcome.parts[0], other.parts[0]
        if (
            hour.price.unit == "hour"
            and month.price.unit == "month"
            and hour.price.billing in HOURLY
        ):
            hours = _hours_a_month(scenario, hour, month)
            yield Meeting(
                outcome.name,
                other.name,
                _("hours a month of one server"),
                hours,
                "h/month",
                None if hours is not None else _("never: a whole month by the hour costs less"),
            )


def _hours_a_month(scenario: ScenarioInput, hour: OptionPart, month: OptionPart) -> Fraction | None:
    """Hours from which on the bill by the hour is the dearer one for the same units; None where
    even that of a whole month is not."""
    start_s, end_s = next(months(scenario.steps.horizon, hour.price.terms.month_convention))
    target = _fee(month.price, end_s - start_s)
    # A server that carries more does the work of several of the other size.
    target *= hour.units_per_server / month.units_per_server

    def bill(seconds: int) -> Fraction:
        until = Horizon(start_s, end_s)
        return cost(hour.price, whole(1, Horizon(start_s, start_s + seconds)), until)

    low, high = 0, end_s - start_s
    if bill(high) < target:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bill(middle) >= target else (middle, high)
    below, above = bill(low) if low else Fraction(0), bill(high)
    if low % HOUR_S == 0 and hour.price.billing in HOURS_BEGUN:
        return Fraction(low, HOUR_S)
    return (low + (target - below) / (above - below)) / HOUR_S


def _fee(price: Price, month_s: int) -> Fraction:
    convention = price.terms.month_convention
    hours = convention if isinstance(convention, int) else Fraction(month_s, HOUR_S)
    return price.terms.price * Fraction(month_s, HOUR_S) / hours
