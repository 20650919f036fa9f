"""Which option is the cheapest where hourly prices and the shape of the demand are others.

Each cell of the map is calculated by the engine: a base that asks for its optimum is asked anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from backend.scenarios.calc.choice import cheapest
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.model import Option, OptionPart, ScenarioInput, unlimited
from backend.scenarios.calc.results import OptionOutcome, outcome

# Factors on every hourly price; prices by the month stay.
PRICES = tuple(Fraction(n, 10) for n in (2, 3, 5, 7, 10, 14, 20, 30, 50))
# How far the demand goes from its mean, of how far it goes as stated.
SHAPES = (0.0, 0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class RegimeCell:
    """The cheapest option that serves the demand, in one cell of the map."""

    option: str
    cost: Fraction
    unserved_share: float


@dataclass(frozen=True)
class RegimeRow:
    """The cells of one shape of the demand, one for each factor of PRICES."""

    peak_to_mean: float
    is_stated: bool
    cells: Sequence[RegimeCell]


def regimes(document: object, check: Callable[[], None] = unlimited) -> list[RegimeRow]:
    """The map of a document, flat demand first; its mean is the same in every row.

    Raises InvalidDocument for faults of the document; `work.map_steps` says how long it takes.
    """
    scenario = scenario_from(document, check)
    return [_row(scenario, shape) for shape in SHAPES]


def _row(scenario: ScenarioInput, shape: float) -> RegimeRow:
    values = scenario.demand.values
    mean = float(values.mean())
    moved = values
    if shape != 1.0:
        moved = np.maximum(0.0, mean + shape * (values - mean))
        # Cutting below zero raises the mean: scaling keeps the same demand in every row.
        moved *= mean / (float(moved.mean()) or 1.0)
    shaped = replace(scenario, demand=replace(scenario.demand, values=moved))
    cells = [_cell(shaped, factor) for factor in PRICES]
    return RegimeRow(float(moved.max()) / (mean or 1.0), shape == 1.0, cells)


def _cell(scenario: ScenarioInput, factor: Fraction) -> RegimeCell:
    outcomes: list[OptionOutcome] = [
        outcome(scenario, _price_option(option, factor)) for option in scenario.options
    ]
    best = outcomes[
        cheapest(
            scenario,
            np.array([float(option_outcome.total) for option_outcome in outcomes]),
            np.array([option_outcome.service.share for option_outcome in outcomes]),
        )
    ]
    return RegimeCell(best.option.name, best.total, best.service.share)


def _price_option(option: Option, factor: Fraction) -> Option:
    return replace(option, parts=tuple(_dearer(part, factor) for part in option.parts))


def _dearer(part: OptionPart, factor: Fraction) -> OptionPart:
    price = part.price
    if price.unit != "hour":
        return part
    terms = replace(
        price.terms,
        price=factor * price.terms.price,
        cap=None if price.terms.cap is None else factor * price.terms.cap,
        upfront=factor * price.terms.upfront,
        commit_per_hour=factor * price.terms.commit_per_hour,
    )
    after = None if price.after_per_hour is None else factor * price.after_per_hour
    return replace(part, price=replace(price, terms=terms, after_per_hour=after))
