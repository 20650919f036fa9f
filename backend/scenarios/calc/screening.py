"""Many offers under one load, each of which carries all of it alone: the cheapest of them.

Each is billed as `simulate` bills it, by the rule of its own price. Those whose servers carry the same
share one trajectory. One whose servers cost too much for all that they could serve is not run at all:
its cost is above a bound that needs no trajectory, so it cannot be among those that are asked for.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.money.pricing.billing.lifetimes import CALENDAR, DAY_S, HOUR_S, month_seconds
from backend.scenarios.calc.charges import ZERO, Administered, base_cost, extras_costs
from backend.scenarios.calc.choice import serves
from backend.scenarios.calc.document import Extras
from backend.scenarios.calc.model import Option, Price, ScenarioInput
from backend.scenarios.calc.results import OptionOutcome, option_members, outcome
from backend.scenarios.calc.trajectories import peak_count

LONGEST_MONTH_S = 31 * DAY_S
# Served demand is a sum of floats: a bound stays below what it may be off by.
NEARLY = 1 - Fraction(1, 10**9)


@dataclass(frozen=True)
class Screened:
    """An option among others, with the figures of a result document."""

    rank: int | None
    """By cost; equal costs share it. None where it serves less than the document tolerates."""
    option: Option
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Screening:
    """The cheapest options, and why others cannot be calculated, by name, as far as was looked."""

    rows: tuple[Screened, ...]
    faults: Mapping[str, str]


def screen(scenario: ScenarioInput, options: Iterable[Option], *, limit: int) -> Screening:
    """The `limit` cheapest of options of one part, those that serve the demand first.

    Which one is cheaper is decided as between the options of a scenario: by the cost, with that of
    unserved demand where it has a price. Those that serve too little are sorted by what they leave.
    """
    faults: dict[str, str] = {}
    rows: list[tuple[tuple[object, ...], Fraction, Option, Mapping[str, Any]]] = []
    best: list[Fraction] = []
    for group in _groups(scenario, options, faults):
        for least, name, option in group:
            if len(best) == limit and least > best[-1]:
                break
            try:
                option_outcome = outcome(scenario, option)
            except InvalidDocument as error:
                faults[name] = str(error)
                continue
            cost, share = _judge_cost(scenario, option_outcome), option_outcome.service.share
            is_serving = bool(serves(scenario, np.array(share)))
            if is_serving:
                insort(best, cost)
                del best[limit:]
            key = (not is_serving, ZERO if is_serving else Fraction(share), cost, name)
            rows.append((key, cost, option, option_members(scenario, option_outcome)))
    rows.sort(key=lambda row: row[0])
    return Screening(tuple(_rank_options(rows[:limit])), faults)


def _rank_options(
    rows: Iterable[tuple[tuple[object, ...], Fraction, Option, Mapping[str, Any]]],
) -> Iterator[Screened]:
    rank, last = 0, None
    for n, ((is_short, *_), cost, option, result) in enumerate(rows, start=1):
        if cost != last:
            rank, last = n, cost
        yield Screened(None if is_short else rank, option, result)


# What an option costs at least if it serves enough, its name, and the option.
Bounded = tuple[Fraction, str, Option]


def _groups(
    scenario: ScenarioInput, options: Iterable[Option], faults: dict[str, str]
) -> list[list[Bounded]]:
    """Options that share a trajectory, with their bounds; those that may be the cheapest first."""
    groups: dict[tuple[Fraction, object], list[Bounded]] = {}
    bounds = LeastCosts(scenario)
    for option in options:
        part = option.parts[0]
        try:
            least = bounds.of(option)
        except InvalidValue as error:
            faults[option.name] = str(error)
        else:
            bounded = (least, option.name, option)
            groups.setdefault((part.units_per_server, part.count), []).append(bounded)
    # Names are used once, so that options are never compared themselves.
    return sorted((sorted(group, key=_order) for group in groups.values()), key=_first)


def _order(bounded: Bounded) -> tuple[Fraction, str]:
    return bounded[0], bounded[1]


def _first(group: list[Bounded]) -> tuple[Fraction, str]:
    return _order(group[0])


def _judge_cost(scenario: ScenarioInput, option_outcome: OptionOutcome) -> Fraction:
    """The cost with that of unserved demand, where it has a price."""
    price = scenario.price_per_unserved_unit_hour
    if price is None:
        return option_outcome.total
    return option_outcome.total + price * Fraction(option_outcome.service.share) * _unit_hours(
        scenario
    )


def _unit_hours(scenario: ScenarioInput) -> Fraction:
    return Fraction(scenario.demand.total) * scenario.steps.step_s / HOUR_S


# --- what an option costs at least ----------------------------------------------------------------


class LeastCosts:
    """Lower bounds on the cost of options with one part that serve as much as is tolerated."""

    def __init__(self, scenario: ScenarioInput) -> None:
        self._scenario = scenario
        self._unit_hours = _unit_hours(scenario)
        self._beside: dict[Extras, Fraction] = {}

    def of(self, option: Option) -> Fraction:
        """Lower bound for one option. Raises InvalidValue where it needs too many servers."""
        scenario = self._scenario
        (part,) = option.parts
        beside = self._extras(option.extras)
        if part.count is not None:
            count = part.count if isinstance(part.count, int) else peak_count(scenario, part)
            cost = base_cost(part.price, count, scenario.steps.horizon)
            return beside + cost + count * part.price.terms.setup
        # Servers that carry so much run at least as long as it takes to serve it at their limit.
        an_hour = least_rate(part.price) / part.units_per_server
        lost = scenario.price_per_unserved_unit_hour
        if lost is not None:
            # Each unit is either served or paid for.
            return beside + min(an_hour, lost) * self._unit_hours * NEARLY
        served = (1 - scenario.tolerated_unserved_share) * self._unit_hours
        return beside + an_hour * served * NEARLY

    def _extras(self, extras: Extras) -> Fraction:
        # Nearly all options have those of their scenario, whose months are many to count.
        if extras not in self._beside:
            costs = extras_costs(extras, self._scenario.steps.horizon, Administered())
            self._beside[extras] = sum(costs.values(), ZERO)
        return self._beside[extras]


def least_rate(price: Price) -> Fraction:
    """Lowest hourly cost of an elastic server, however long it runs."""
    terms = price.terms
    if price.unit == "hour":
        # Tiers are a discount of their own; no price has both.
        least = min((factor for _, factor in terms.tiers), default=1 - terms.discount)
        rates = [terms.price * least]
        if terms.cap is not None:
            # The last hour of a month may reach into the next one.
            rates.append(terms.cap * HOUR_S / (_month_s(terms.month_convention) + HOUR_S))
        return min(rates)
    return terms.price * HOUR_S / _month_s(terms.month_convention)


def _month_s(convention: str | int) -> int:
    return LONGEST_MONTH_S if convention == CALENDAR else month_seconds(convention)
