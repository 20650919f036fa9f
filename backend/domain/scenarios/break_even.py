"""Where two options cost the same.

The cost of an option is linear in any price that it is billed at, so the price at which two
options meet is exact. Counts that were a question stay as they came out; what is bought at the
same price moves in both options together.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from backend.domain.scenarios.charges import base_cost
from backend.domain.scenarios.model import OptionPart, ScenarioInput
from backend.domain.scenarios.results import OptionOutcome
from backend.domain.scenarios.uncertainty import option_with_counts, price_key

LINEAR = frozenset(
    {"per_second", "per_minute", "hour_ceil", "sustained_use", "spot", "monthly", "purchase"}
)
"""Rules whose cost is a multiple of the price: no cap, fee or commitment stands beside it."""


@dataclass(frozen=True)
class Meeting:
    """Two options cost the same when the parameter has the value."""

    option_a: str
    option_b: str
    parameter: str
    value: Fraction
    unit: str


def meetings(scenario: ScenarioInput, outcomes: Sequence[OptionOutcome]) -> list[Meeting]:
    """Every pair of options that meets at some price, and hours a month at which one server of a
    monthly price costs what it would by the hour."""
    points: list[Meeting] = []
    for a, b in combinations(outcomes, 2):
        scenario.check()
        points += _prices(scenario, a, b)
        points += _hours(a, b)
    return points


def by_price(scenario: ScenarioInput, one: OptionOutcome) -> dict[Hashable, Fraction]:
    """What an option pays at each price."""
    option = option_with_counts(one)
    paid: dict[Hashable, Fraction] = {}
    # The engine bills a fleet as a whole: what always runs is known, the rest is elastic.
    rest = one.fleet.compute
    for part in option.parts:
        if isinstance(part.count, int):
            fixed = base_cost(part.price, part.count, scenario.steps.horizon)
            paid[price_key(part)] = paid.get(price_key(part), Fraction(0)) + fixed
            rest -= fixed
    for part in option.parts:
        if part.count is None:
            paid[price_key(part)] = paid.get(price_key(part), Fraction(0)) + rest
    return paid


def _prices(scenario: ScenarioInput, a: OptionOutcome, b: OptionOutcome) -> Iterator[Meeting]:
    paid_a, paid_b = by_price(scenario, a), by_price(scenario, b)
    parts: dict[Hashable, OptionPart] = {
        price_key(part): part for one in (a, b) for part in one.option.parts
    }
    for key, part in parts.items():
        slope = paid_a.get(key, Fraction(0)) - paid_b.get(key, Fraction(0))
        if not slope or part.price.billing not in LINEAR:
            continue
        # total(f) = total + (f − 1) · paid for each option; equal totals give f.
        factor = 1 - (a.total - b.total) / slope
        if factor > 0:
            price = part.price
            yield Meeting(
                a.option.name,
                b.option.name,
                f"price, {price.billing}, now {float(price.terms.price):g}",
                factor * price.terms.price,
                f"{price.currency}/{price.unit}",
            )


def _hours(a: OptionOutcome, b: OptionOutcome) -> Iterator[Meeting]:
    for one, other in ((a, b), (b, a)):
        by_hour, by_month = one.option.parts, other.option.parts
        if len(by_hour) != 1 or len(by_month) != 1:
            continue
        hour, month = by_hour[0].price, by_month[0].price
        if hour.unit == "hour" and month.unit == "month" and hour.billing in LINEAR:
            yield Meeting(
                one.option.name,
                other.option.name,
                "hours a month of one server",
                month.terms.price / hour.terms.price,
                "h/month",
            )
