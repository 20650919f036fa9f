"""Which input moves the answer: each alone at its low and high end, all others as they are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from backend.foundation import figures
from backend.foundation.texts import number
from backend.foundation.texts import text as _
from backend.scenarios.calc.alone import OptionAlone
from backend.scenarios.calc.choice import cheapest
from backend.scenarios.calc.document import Uncertainty
from backend.scenarios.calc.model import ScenarioInput
from backend.scenarios.calc.uncertainty import Draws, Factors, price_key, score_key, sigma

# Standard deviations of the 95th percentile; the 5th lies as far below.
Z_95 = 1.6448536269514722


@dataclass(frozen=True)
class Bar:
    """An input at its 5th and 95th percentile, as factors on what is stated: what the option
    that is cheapest as stated costs then, and which would be the cheapest that serves."""

    input: str
    option: str
    """The cheapest as stated, whose costs these are."""
    low: float
    high: float
    cost_low: float
    cost_high: float
    winner_low: str
    winner_high: str


class MovedInput(NamedTuple):
    """An input, its two ends, and two draws in which only it differs from what is said."""

    name: str
    ends: Draws
    factors: Factors


def bars(scenario: ScenarioInput, options: Sequence[OptionAlone]) -> list[Bar]:
    """A bar for each input with a spread, the widest first."""
    winner = cheapest(
        scenario,
        np.array([float(option.total) for option in options]),
        np.array([option.unserved_share for option in options]),
    )
    unsorted = []
    for n, (name, ends, _factors) in enumerate(inputs_with_spread(scenario)):
        costs = np.stack([option.moved[n].costs for option in options])
        unserved = np.stack([option.moved[n].unserved for option in options])
        low, high = (
            options[cheapest(scenario, costs[:, end], unserved[:, end])].option.name
            for end in (0, 1)
        )
        unsorted.append(
            Bar(
                input=name,
                option=options[winner].option.name,
                low=float(ends[0]),
                high=float(ends[1]),
                cost_low=float(costs[winner, 0]),
                cost_high=float(costs[winner, 1]),
                winner_low=low,
                winner_high=high,
            )
        )
    return sorted(unsorted, key=lambda bar: -abs(bar.cost_high - bar.cost_low))


def inputs_with_spread(scenario: ScenarioInput) -> list[MovedInput]:
    """The inputs that have a spread."""
    return list(_inputs(scenario, scenario.uncertainty)) if scenario.uncertainty else []


def _inputs(scenario: ScenarioInput, spreads: Uncertainty) -> Iterator[MovedInput]:
    parts = [part for option in scenario.options for part in option.parts]
    still = np.ones(2)
    scores = dict.fromkeys(map(score_key, parts), still)
    prices = dict.fromkeys(map(price_key, parts), still)
    as_stated = Factors(still, still, scores, prices)
    if spreads.demand_growth_cv:
        ends = _ends(spreads.demand_growth_cv)
        yield MovedInput(_("demand"), ends, replace(as_stated, demand=ends))
    if spreads.score_cv:
        ends = _ends(spreads.score_cv)
        for part in {score_key(part): part for part in parts}.values():
            units = float(part.units_per_server)
            name = (
                _("score")
                if len(scores) == 1
                else _("score of {units} units a server", units=number(figures.figure(units)))
            )
            yield MovedInput(
                name, ends, replace(as_stated, scores=scores | {score_key(part): ends})
            )
    if spreads.price_cv:
        ends = _ends(spreads.price_cv)
        for part in {price_key(part): part for part in parts}.values():
            price = part.price
            name = _(
                "price {billing} {amount} {currency}",
                billing=price.billing,
                amount=number(figures.money(float(price.terms.price))),
                currency=price.currency,
            )
            moved = prices | {price_key(part): ends}
            yield MovedInput(name, ends, replace(as_stated, prices=moved))
    if spreads.boot_cv and scenario.policy.warmup_s:
        ends = _ends(spreads.boot_cv)
        yield MovedInput("boot time", ends, replace(as_stated, boot=ends))


def _ends(cv: float) -> Draws:
    # A factor and its inverse, as draws are lognormal: a figure can double or halve, and not fall
    # below zero.
    return np.exp(np.array([-Z_95, Z_95]) * sigma(cv))
