"""What a result is worth when its inputs are not exactly known: Monte Carlo with common draws.

Four inputs vary by log-normal factors of median 1 whose coefficients of variation the document
states: demand, score (units a server carries), price, and boot time. Options share every draw that
is the same thing for them: demand and boot time always, a score where servers carry the same, a
price where the prices are equal. So a difference between two options is a paired one.

The number of servers that are always on is a decision and stays as it is; elastic ones follow the
demand. How cost and unserved demand follow it is calculated by the engine itself at GRID ratios of
demand to capacity and interpolated between them (see `curve`); boot time is looked at alone, as
what it adds to unserved demand.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.domain.scenarios.charges import base_cost
from backend.domain.scenarios.document import Uncertainty
from backend.domain.scenarios.model import Demand, Option, OptionPart, ScenarioInput
from backend.domain.scenarios.results import OptionOutcome, money, outcome

GRID = 9
TAIL = 0.95
CONFIDENCE = 0.95
LOW, HIGH = 0.05, 0.95

Draws = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """An option at growing ratios of demand to capacity, relative to the scenario's own."""

    ratio: Draws
    elastic: Draws
    """Cost of the elastic servers."""
    unserved: Draws
    """Share of the demand."""
    base: float
    """Cost of the servers or reservations that are there in any case."""
    other: float
    """Extras and set-up."""


@dataclass(frozen=True)
class OptionSpread:
    """An option over the draws."""

    costs: Draws
    unserved: Draws


@dataclass(frozen=True)
class Factors:
    """Factors of one draw each: of demand, boot time, and by what shares a score or a price."""

    demand: Draws
    boot: Draws
    scores: Mapping[Hashable, Draws]
    prices: Mapping[Hashable, Draws]


def score_key(part: OptionPart) -> Hashable:
    """Parts of one key have the same score, so its error is the same, too."""
    return part.units_per_server


def price_key(part: OptionPart) -> Hashable:
    """Parts of one key are bought at the same price."""
    return part.price.billing, part.price.currency, part.price.terms.price


def factors(scenario: ScenarioInput, spreads: Uncertainty) -> Factors:
    """The draws; the same seed gives the same ones."""
    # The order of the draws below is a part of the seed: another one gives other results.
    random = np.random.default_rng(spreads.seed)
    parts = [part for option in scenario.options for part in option.parts]

    def drawn(cv: float) -> Draws:
        return np.exp(sigma(cv) * random.standard_normal(spreads.draws))

    return Factors(
        demand=drawn(spreads.demand_growth_cv),
        boot=drawn(spreads.boot_cv),
        scores={key: drawn(spreads.score_cv) for key in dict.fromkeys(map(score_key, parts))},
        prices={key: drawn(spreads.price_cv) for key in dict.fromkeys(map(price_key, parts))},
    )


def sigma(cv: float) -> float:
    """Standard deviation of the logarithm of a log-normal factor."""
    # Of a log-normal factor cv² = exp(σ²) − 1.
    return float(np.sqrt(np.log1p(cv**2)))


def option_with_counts(one: OptionOutcome) -> Option:
    """The option with every count that was a question answered."""
    counts = {"all": one.fleet.always_on, "base": one.fleet.base}
    parts = tuple(
        part if part.count is None else replace(part, count=counts[part.role])
        for part in one.option.parts
    )
    return replace(one.option, parts=parts)


def curve(
    scenario: ScenarioInput, one: OptionOutcome, low: float, high: float, points: int = GRID
) -> Curve:
    """The option at its own ratio, and at some from low to high, equally far apart in logarithms."""
    option = option_with_counts(one)
    ratios = np.unique(np.append(np.geomspace(low, high, points), 1.0))
    outcomes = [
        one if ratio == 1 else outcome(_scaled(scenario, ratio), option) for ratio in ratios
    ]
    # Always-on servers cost the same at any demand, so only the rest follows the ratio.
    base = _base_cost(scenario, option)
    return Curve(
        ratio=ratios,
        elastic=np.array([float(at.fleet.compute - base) for at in outcomes]),
        unserved=np.array([at.service.share for at in outcomes]),
        base=float(base),
        other=float(one.total - one.fleet.compute),
    )


def _scaled(scenario: ScenarioInput, ratio: float) -> ScenarioInput:
    demand = Demand(scenario.demand.unit, scenario.demand.values * ratio)
    return replace(scenario, demand=demand)


def _started_in(scenario: ScenarioInput, warmup_s: float) -> ScenarioInput:
    return replace(scenario, policy=scenario.policy.model_copy(update={"warmup_s": warmup_s}))


def _base_cost(scenario: ScenarioInput, option: Option) -> Fraction:
    for part in option.parts:
        if isinstance(part.count, int):
            return base_cost(part.price, part.count, scenario.steps.horizon)
    return Fraction(0)


def spread(
    scenario: ScenarioInput, one: OptionOutcome, drawn: Factors, points: int = GRID
) -> OptionSpread:
    """Cost and unserved demand of an option in each draw."""
    elastic = next((p for p in one.option.parts if p.count is None), one.option.parts[0])
    fixed = next((p for p in one.option.parts if p.count is not None), elastic)
    ratio = drawn.demand / drawn.scores[score_key(elastic)]
    known = curve(scenario, one, float(ratio.min()), float(ratio.max()), points)
    costs = np.interp(ratio, known.ratio, known.elastic) * drawn.prices[price_key(elastic)]
    # Base and burst are bought at prices of their own, which vary apart.
    costs += known.base * drawn.prices[price_key(fixed)] + known.other
    unserved = np.interp(ratio, known.ratio, known.unserved)
    return OptionSpread(costs, np.clip(unserved + _boot(scenario, one, drawn.boot), 0.0, 1.0))


def _boot(scenario: ScenarioInput, one: OptionOutcome, boot: Draws) -> Draws:
    """What a longer or shorter warm-up adds to the unserved share."""
    warmup_s = scenario.policy.warmup_s
    if not warmup_s or boot.min() == boot.max():
        return np.zeros(boot.size)
    option = option_with_counts(one)
    times = np.unique(np.quantile(boot, np.linspace(0, 1, GRID)))
    shares = [
        outcome(_started_in(scenario, warmup_s * time), option).service.share for time in times
    ]
    return np.interp(boot, times, np.array(shares) - one.service.share)


# --- what the draws say -------------------------------------------------------------------------


def uncertainty_members(
    scenario: ScenarioInput, outcomes: Sequence[OptionOutcome]
) -> list[dict[str, Any]]:
    """Members of each option of the result: interval, regret, and whether it is distinguishable.

    `p_cheapest` is the share of draws in which no other option costs less; `distinguishable`
    whether 95 % of its paired differences to the option cheapest at the median lie on one side.
    """
    spreads = scenario.uncertainty
    if spreads is None:
        return [{} for _ in outcomes]
    drawn = factors(scenario, spreads)
    by_option = [spread(scenario, one, drawn) for one in outcomes]
    costs = np.stack([one.costs for one in by_option])
    best = costs.min(axis=0)
    winner = int(np.argmin(np.median(costs, axis=1)))
    return [
        {
            **_interval(one),
            "p_cheapest": float(np.mean(one.costs <= best)),
            "regret": _amount(np.mean(one.costs - best)),
            "cvar95": _amount(_tail_mean(one.costs)),
            "distinguishable": _is_apart(one.costs - costs[winner]),
        }
        for one in by_option
    ]


def _interval(one: OptionSpread) -> dict[str, Any]:
    points = dict(zip(("p5", "p50", "p95"), (LOW, 0.5, HIGH), strict=True))
    return {
        "interval": {name: _amount(np.quantile(one.costs, at)) for name, at in points.items()},
        "unserved_interval": {
            name: float(np.quantile(one.unserved, at)) for name, at in points.items()
        },
    }


def _amount(value: Any) -> str:
    return money(Fraction(float(value)))


def _tail_mean(costs: Draws) -> float:
    """Mean of the dearest twentieth of the draws."""
    worst = np.sort(costs)[int(np.floor(TAIL * costs.size)) :]
    return float(worst.mean())


def _is_apart(difference: Draws) -> bool:
    low, high = np.quantile(difference, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return bool(low > 0 or high < 0)
