"""The cheapest mix of server types for every level of a demand: a bound for what mixing can save.

Servers are taken to start and end at once and to be billed by the second, so each step stands for
itself. The cheapest cover of each level comes from those of lower levels: cost(L) is the least of
price + cost(L − units) over the types.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from backend.foundation.errors import InvalidValue
from backend.money.pricing.billing.lifetimes import HOUR_S
from backend.rankings.calc.cover_solver import useful_types
from backend.scenarios.calc.model import ScenarioInput
from backend.scenarios.calc.needed import servers_needed

MOST_LEVELS = 4000


@dataclass(frozen=True)
class Candidate:
    """An offer: units that one server carries, and its price of an hour."""

    name: str
    units_per_server: Fraction
    price_per_hour: Fraction


@dataclass(frozen=True)
class Mixed:
    """Cost over the horizon of the cheapest mix in each step; it leaves nothing unserved.

    `at_peak` are the servers of the highest level, by name. Where capacities have no common
    measure that is coarse enough, they count a little less than they are, and the cost is that of
    a mix that suffices (`is_exact` False).
    """

    cost: Fraction
    at_peak: dict[str, int]
    is_exact: bool


def mixed(scenario: ScenarioInput, candidates: Sequence[Candidate]) -> Mixed:
    """The cheapest mixes of the candidates; InvalidValue where none is given."""
    if not candidates:
        raise InvalidValue("/options", "at least one offer is needed")
    grain, is_exact = _grain(scenario, candidates)
    levels = servers_needed(scenario.demand.values, grain * scenario.target_utilisation)
    highest = int(levels.max())
    gives = [min(highest, one.units_per_server // grain) for one in candidates]
    kept = [place for place in _worthwhile(candidates, gives, highest) if gives[place]]
    chosen = _chosen([gives[place] for place in kept], [candidates[p] for p in kept], highest)
    covers = _covers(chosen, [gives[place] for place in kept])
    costs = [_price(cover, candidates, kept) for cover in covers]
    steps = np.bincount(levels, minlength=highest + 1).tolist()
    total = sum((count * cost for count, cost in zip(steps, costs, strict=True)), Fraction(0))
    peak = {candidates[kept[place]].name: count for place, count in covers[-1].items()}
    return Mixed(total * scenario.steps.step_s / HOUR_S, peak, is_exact)


def _grain(scenario: ScenarioInput, candidates: Sequence[Candidate]) -> tuple[Fraction, bool]:
    """Units of one level: what all capacities are whole multiples of, if the levels stay few."""
    units = [one.units_per_server for one in candidates]
    common = math.lcm(*(one.denominator for one in units))
    grain = Fraction(math.gcd(*(int(one * common) for one in units)), common)
    highest = Fraction(float(scenario.demand.values.max())) / scenario.target_utilisation
    if highest <= grain * MOST_LEVELS:
        return grain, True
    # The smallest server still counts as something.
    return min(highest / MOST_LEVELS, *units), False


def _worthwhile(candidates: Sequence[Candidate], gives: list[int], highest: int) -> list[int]:
    prices = [Decimal(float(one.price_per_hour)) for one in candidates]
    return useful_types(prices, [(give,) for give in gives], (highest,))


def _chosen(gives: list[int], types: list[Candidate], highest: int) -> list[int]:
    """Place of the type that is added last in the cheapest cover of each level from 1 on."""
    prices = np.array([float(one.price_per_hour) for one in types])
    units: NDArray[np.int64] = np.array(gives, dtype=np.int64)
    costs = np.zeros(highest + 1)
    chosen = []
    for level in range(1, highest + 1):
        options = prices + costs[np.maximum(level - units, 0)]
        best = int(options.argmin())
        costs[level] = options[best]
        chosen.append(best)
    return chosen


def _covers(chosen: list[int], gives: list[int]) -> list[Counter[int]]:
    """How many of each type cover each level from 0 on."""
    covers: list[Counter[int]] = [Counter()]
    for level, place in enumerate(chosen, start=1):
        rest = covers[max(0, level - gives[place])]
        covers.append(rest + Counter({place: 1}))
    return covers


def _price(cover: Counter[int], candidates: Sequence[Candidate], kept: list[int]) -> Fraction:
    amounts = (count * candidates[kept[place]].price_per_hour for place, count in cover.items())
    return sum(amounts, Fraction(0))
