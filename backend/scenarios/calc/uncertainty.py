"""Uncertainty of a result by that of its inputs: Monte Carlo with common draws.

Four inputs vary by log-normal factors of median 1 whose coefficients of variation the document
states: demand, score (units a server carries), price, and boot time. Options share every draw that
is the same thing for them: demand and boot time always, a score where servers carry the same, a
price where the prices are equal. So a difference between two options is a paired one.

The number of servers that are always on is a decision and stays as it is; elastic ones follow the
demand. Their number changes at certain ratios of demand to capacity alone, so the engine is asked
at both ends of every stretch between two of these in which a draw lies: within one the cost stays
and unserved demand is linear, and the draws are exact. Where demand has so many levels that this
would take too long, its steps are as many and small, and it is asked at a grid of ratios (see
`stretches`). Boot time is looked at alone, as what it adds to unserved demand. Interruptions of spot
servers are drawn as their number in each draw (Poisson).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.scenarios.calc.charges import part_cost
from backend.scenarios.calc.choice import judge, serves
from backend.scenarios.calc.document import Uncertainty
from backend.scenarios.calc.model import Demand, Option, OptionPart, ScenarioInput
from backend.scenarios.calc.policies import REMEMBERING, pace
from backend.scenarios.calc.results import OptionOutcome, money, outcome

GRID = 9
FINEST_GRID = 129
# Steps of all options together that exact draws may take.
EXACT_WORK = 12_000_000
# Of the engine, for all options together: each has a cost beside its steps.
MOST_RUNS = 900
# Of demand: with more, servers start at so many ratios that no draw shares a stretch.
MOST_LEVELS = 2000
MOST_STRETCHES = 200_000
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
    missing: Draws
    """Unserved, in shares of the demand as stated."""
    interruptions: Draws
    """Expected number; `restarted` is what they cost, `interrupted` what they leave unserved."""
    restarted: Draws
    interrupted: Draws
    base: float
    """Cost of the servers or reservations that are there in any case."""
    other: float
    """Extras and set-up."""


@dataclass(frozen=True)
class OptionSpread:
    """An option over the draws."""

    costs: Draws
    unserved: Draws
    cost_error_ratio: float = 0.0
    """The most that a cost is off by interpolation, where cost grows with the demand; 0: exact."""


@dataclass(frozen=True)
class Factors:
    """Factors of one draw each: of demand, boot time, and by what shares a score or a price."""

    demand: Draws
    boot: Draws
    scores: Mapping[Hashable, Draws]
    prices: Mapping[Hashable, Draws]
    interruptions: Mapping[Hashable, tuple[int, int]] = field(default_factory=dict)
    """Seeds of the numbers of interruptions, by price; none where their mean is taken."""


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
        return _draw_factors(random, cv, spreads)

    return Factors(
        demand=drawn(spreads.demand_growth_cv),
        boot=drawn(spreads.boot_cv),
        scores={key: drawn(spreads.score_cv) for key in dict.fromkeys(map(score_key, parts))},
        prices={key: drawn(spreads.price_cv) for key in dict.fromkeys(map(price_key, parts))},
        # Seeds of their own: options at one spot price see the same interruptions.
        interruptions={
            price_key(part): (spreads.seed, n)
            for n, part in enumerate(parts)
            if part.price.terms.interruptions_per_month
        },
    )


def demand_factors(spreads: Uncertainty) -> Draws:
    """The draws of the demand alone, which are the first."""
    return _draw_factors(np.random.default_rng(spreads.seed), spreads.demand_growth_cv, spreads)


def _draw_factors(random: np.random.Generator, cv: float, spreads: Uncertainty) -> Draws:
    return np.exp(sigma(cv) * random.standard_normal(spreads.draws))


def sigma(cv: float) -> float:
    """Standard deviation of the logarithm of a log-normal factor."""
    # Of a log-normal factor cv² = exp(σ²) − 1.
    return float(np.sqrt(np.log1p(cv**2)))


def option_with_counts(option_outcome: OptionOutcome) -> Option:
    """The option with every count that was a question answered."""
    counts = {"all": option_outcome.fleet.always_on, "base": option_outcome.fleet.base}
    parts = tuple(
        part if part.count is None else replace(part, count=counts[part.role])
        for part in option_outcome.option.parts
    )
    return replace(option_outcome.option, parts=parts)


def curve(scenario: ScenarioInput, option_outcome: OptionOutcome, ratio: Draws) -> Curve:
    """The option at the ends of the stretches that `stretches` chose for the ratios drawn."""
    option = option_with_counts(option_outcome)
    at: list[float] = []
    outcomes: list[OptionOutcome] = []

    def run(end: float) -> OptionOutcome:
        return option_outcome if end == 1 else outcome(_scale_input(scenario, end), option)

    # From above: where nothing is unserved at the upper end nothing is at the lower one, either.
    for low, high in reversed(stretches(scenario, option_outcome, ratio)):
        at.append(high)
        outcomes.append(run(high))
        if low < high:
            at.append(low)
            outcomes.append(run(low) if outcomes[-1].service.share else outcomes[-1])
    # Always-on servers cost the same at any demand, so only the rest follows the ratio.
    base = _base_cost(scenario, option)

    def values(of: Callable[[OptionOutcome], Any]) -> Draws:
        return np.array([float(of(each)) for each in reversed(outcomes)])

    shown = np.array(at[::-1])
    return Curve(
        ratio=shown,
        elastic=values(lambda each: each.fleet.compute - base),
        # Of the demand at the ratio a share is linear in 1 / ratio, this in the ratio itself.
        missing=values(lambda each: each.service.share) * shown,
        interruptions=values(lambda each: each.fleet.charges.interruptions),
        restarted=values(lambda each: each.fleet.charges.restarted),
        interrupted=values(lambda each: each.service.interrupted) * shown,
        base=float(base),
        other=float(option_outcome.total - option_outcome.fleet.compute),
    )


def stretches(
    scenario: ScenarioInput, option_outcome: OptionOutcome, ratio: Draws
) -> list[tuple[float, float]]:
    """Both ends of every stretch of ratios with a draw in which an option is linear; or a grid of
    points where they are too many."""
    drawn = np.unique(ratio)
    allowed = exact_runs(scenario.steps.count, len(scenario.options), scenario.policy.kind)
    breaks = _breaks(scenario, option_outcome, float(drawn[-1])) if drawn.size > GRID else None
    ids = np.arange(drawn.size) if breaks is None else np.searchsorted(breaks, drawn)
    first = np.flatnonzero(np.diff(ids, prepend=-1))
    if first.size <= allowed:
        last = np.append(first[1:], drawn.size) - 1
        return list(zip(drawn[first].tolist(), drawn[last].tolist(), strict=True))
    points = max(GRID, min(FINEST_GRID, allowed // 2))
    grid = np.unique(np.append(np.geomspace(drawn[0], drawn[-1], points), 1.0)).tolist()
    return list(zip(grid, grid, strict=True))


def exact_runs(steps: int, options: int, policy: str) -> int:
    """Stretches that each option may have for its draws to be exact; each is a run or two."""
    return max(2 * GRID, min(EXACT_WORK // (steps * pace(policy)), MOST_RUNS) // options)


def _breaks(scenario: ScenarioInput, option_outcome: OptionOutcome, highest: float) -> Draws | None:
    """Ratios at which servers start or unserved demand begins; None for too many to list.

    A demand d needs a server more where ratio · d passes n · units · share beyond what the base
    takes; it is unserved from where it passes what n servers and the base carry.
    """
    demand = scenario.demand.values
    if np.unique(demand[: 10 * MOST_LEVELS]).size > MOST_LEVELS:
        return None
    levels = np.unique(demand)
    levels = levels[levels > 0]
    fleet, policy = option_outcome.fleet, scenario.policy
    units = float(fleet.units_elastic)
    target = float(policy.target if policy.kind in REMEMBERING else scenario.target_utilisation)
    always = float(fleet.base_units)
    if fleet.elastic_part is None:
        return np.unique(always / levels)
    lines = [(always, units), (always * target, units * float(scenario.target_utilisation))]
    if policy.kind in REMEMBERING:
        lines += [
            (always * target, units * target),
            (always * target, units * float(policy.in_below)),
        ]
    least = min(each for _, each in lines if each > 0)
    most = int(highest * scenario.demand.highest / least) + 2
    if not levels.size or levels.size * most * len(lines) > MOST_STRETCHES:
        return None
    loads = np.concatenate([start + np.arange(most) * each for start, each in lines])
    return np.unique(loads[:, None] / levels)


def _scale_input(scenario: ScenarioInput, ratio: float) -> ScenarioInput:
    demand = Demand(scenario.demand.unit, scenario.demand.values * ratio)
    return replace(scenario, demand=demand)


def _with_warmup(scenario: ScenarioInput, warmup_s: float) -> ScenarioInput:
    return replace(scenario, policy=scenario.policy.model_copy(update={"warmup_s": warmup_s}))


def _base_cost(scenario: ScenarioInput, option: Option) -> Fraction:
    for part in option.parts:
        if isinstance(part.count, int):
            return part_cost(part, part.count, scenario.steps.horizon)
    return Fraction(0)


def spread(scenario: ScenarioInput, option_outcome: OptionOutcome, drawn: Factors) -> OptionSpread:
    """Cost and unserved demand of an option in each draw."""
    elastic = next(
        (p for p in option_outcome.option.parts if p.count is None), option_outcome.option.parts[0]
    )
    fixed = next((p for p in option_outcome.option.parts if p.count is not None), elastic)
    ratio = drawn.demand / drawn.scores[score_key(elastic)]
    known = curve(scenario, option_outcome, ratio)

    def at(values: Draws) -> Draws:
        return np.interp(ratio, known.ratio, values)

    price = drawn.prices[price_key(elastic)]
    # Base and burst are bought at prices of their own, which vary apart.
    costs = at(known.elastic) * price + known.base * drawn.prices[price_key(fixed)] + known.other
    unserved = at(known.missing) / ratio + _boot(scenario, option_outcome, drawn.boot)
    more = _more_interruptions(option_outcome.option, at(known.interruptions), drawn)
    costs += more * at(known.restarted) * price
    unserved += more * at(known.interrupted) / ratio
    # Without demand nothing costs anything, and nothing is off.
    jumps = np.divide(
        _jumps(known, ratio) * price, costs, out=np.zeros_like(costs), where=costs > 0
    )
    error = float(np.max(jumps, initial=0.0))
    return OptionSpread(costs, np.clip(unserved, 0.0, 1.0), error)


def _jumps(known: Curve, ratio: Draws) -> Draws:
    """How far the elastic costs of the two calculated ratios that enclose each draw lie apart; none
    within a stretch, where the cost stays."""
    above = np.minimum(np.searchsorted(known.ratio, ratio), known.ratio.size - 1)
    is_calculated = known.ratio[above] == ratio
    below = np.where(is_calculated, above, np.maximum(above - 1, 0))
    return np.asarray(np.abs(known.elastic[above] - known.elastic[below]))


def _more_interruptions(option: Option, expected: Draws, drawn: Factors) -> Draws:
    """By how much more often than expected servers are taken back, as a share of it."""
    keys = [price_key(part) for part in option.parts]
    seed = next((drawn.interruptions[key] for key in keys if key in drawn.interruptions), None)
    if seed is None:
        return np.zeros(expected.size)
    counts = np.random.default_rng(seed).poisson(expected)
    return np.divide(counts - expected, expected, out=np.zeros(expected.size), where=expected > 0)


def _boot(scenario: ScenarioInput, option_outcome: OptionOutcome, boot: Draws) -> Draws:
    """Addition to the unserved share by a longer or shorter warm-up."""
    warmup_s = scenario.policy.warmup_s
    if not warmup_s or boot.min() == boot.max():
        return np.zeros(boot.size)
    option = option_with_counts(option_outcome)
    # Servers serve from the start of a step on, so only a longer warm-up in steps adds anything.
    lengths = np.ceil(boot * warmup_s / scenario.steps.step_s)
    times, index = np.unique(lengths, return_inverse=True)
    # What an interruption costs follows the seconds of the warm-up, not its steps.
    is_exact = times.size <= 2 * GRID and not option_outcome.fleet.charges.interruptions
    if not is_exact:
        times = np.unique(np.quantile(boot, np.linspace(0, 1, GRID)))
    seconds = times * (scenario.steps.step_s if is_exact else warmup_s)
    shares = np.array(
        [outcome(_with_warmup(scenario, each), option).service.share for each in seconds]
    )
    added = shares - option_outcome.service.share
    return added[index] if is_exact else np.interp(boot, times, added)


# --- what the draws say -------------------------------------------------------------------------


def uncertainty_members(
    scenario: ScenarioInput,
    spreads: Uncertainty,
    by_option: Sequence[OptionSpread],
    shares: Sequence[float],
) -> list[dict[str, Any]]:
    """Members of each option of the result: interval, regret, and whether it is distinguishable.
    `shares` are what they leave unserved as stated.

    Only options that serve the demand of a draw compete in it (see `choice`). `p_cheapest` is the
    share of draws in which the option does and no other costs less, `p_serves` that in which it
    serves; `regret` what it then costs more than the best, None where it never serves;
    `distinguishable` whether 95 % of its paired differences to the serving option cheapest at the
    median lie on one side.
    """
    demand = demand_factors(spreads)
    unserved = np.stack([option_spread.unserved for option_spread in by_option])
    may_win = serves(scenario, unserved)
    costs = judge(
        scenario, np.stack([option_spread.costs for option_spread in by_option]), unserved, demand
    )
    # Where no option serves the demand of a draw none is its cheapest.
    best = np.where(may_win, costs, np.inf).min(axis=0)
    medians = np.median(costs, axis=1)
    is_stated = serves(scenario, np.array(shares))
    winner = int(np.argmin(np.where(is_stated, medians, np.inf) if is_stated.any() else medians))
    return [
        {
            **_interval(option_spread),
            "p_cheapest": float(np.mean(wins & (judged_costs <= best))),
            "p_serves": float(np.mean(wins)),
            "regret": _amount(np.mean((judged_costs - best)[wins])) if wins.any() else None,
            "cvar95": _amount(_tail_mean(option_spread.costs)),
            "distinguishable": _is_apart(judged_costs - costs[winner]),
        }
        for option_spread, judged_costs, wins in zip(by_option, costs, may_win, strict=True)
    ]


def _interval(option_spread: OptionSpread) -> dict[str, Any]:
    points = dict(zip(("p5", "p50", "p95"), (LOW, 0.5, HIGH), strict=True))
    return {
        "interval": {
            name: _amount(np.quantile(option_spread.costs, at)) for name, at in points.items()
        },
        "unserved_interval": {
            name: float(np.quantile(option_spread.unserved, at)) for name, at in points.items()
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
