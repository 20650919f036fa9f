"""Cost of each option as the load grows or lasts longer, and the cheapest option by range.

Every point is a run of the engine: counts that are a question (peak, optimal) are asked anew, so
at the load as stated the costs are those of the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from backend.foundation.texts import text as _
from backend.money.pricing.billing.lifetimes import DAY_S, HOUR_S
from backend.scenarios.calc.choice import cheapest, serves
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.model import ScenarioInput, unlimited
from backend.scenarios.calc.results import OptionOutcome, outcome

# What a break-even is exact to: nobody knows a load to a thousandth.
LOAD_STEP = Fraction(1, 1000)
# A tenth to four times the load, in thousandths of it.
LOAD_POINTS = tuple(range(100, 4001, 100))
# From one hour on: without any the peak that servers are counted for is another one.
POINTS_A_DAY = 24
# Loads at which all options are run for both curves; see `work.check_curve_work`.
MOST_RUNS = 200

Values = NDArray[np.float64]


@dataclass(frozen=True)
class CostLine:
    """An option at each value of a curve."""

    option: str
    costs: tuple[Fraction, ...]
    """Costs of the whole horizon, as `cost_total`."""
    serves: tuple[bool, ...]
    """True if no more is left unserved than the document tolerates."""
    never: str | None
    """Why it is the cheapest nowhere: "never: …"; None where it is somewhere."""


@dataclass(frozen=True)
class CheapestStretch:
    """The option that is the cheapest from `low` up to, not including, `high`; the last stretch
    includes it. None: no option serves the demand."""

    option: str | None
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class CostCurve:
    """Costs over a range of one value, and what they say.

    `value` is `load` (a factor on the demand at every instant; multiply `peak` by it for the
    highest demand) or `hours_a_day` (the highest demand lasts so long each day from the horizon's
    start, the lowest fills the rest). `at` are the values in growing order; each line has a cost
    for each. `stretches` cover the range without a gap. Where one ends is exact to `resolution`;
    one that lies between two neighbours of `at` altogether is not seen.
    """

    value: str
    unit: str
    peak: float
    resolution: Fraction
    at: tuple[Fraction, ...]
    lines: tuple[CostLine, ...]
    stretches: tuple[CheapestStretch, ...]


@dataclass(frozen=True)
class _Point:
    """All options at one value."""

    outcomes: tuple[OptionOutcome, ...]
    serves: tuple[bool, ...]
    cheapest: int | None


def cost_curves(document: object, check: Callable[[], None] = unlimited) -> tuple[CostCurve, ...]:
    """The curves of a document over its load and over the hours a day that its peak lasts.

    Raises InvalidDocument for faults of the document and for loads too large to calculate.
    """
    scenario = scenario_from(document, check)
    values, steps = scenario.demand.values, scenario.steps
    highest, lowest = float(values.max()), float(values.min())
    second = (steps.instants() - steps.start_s) % DAY_S

    def lasting(index: int) -> Values:
        return np.where(second < index * steps.step_s, highest, lowest)

    # Steps are the finest that the demand can change in.
    a_day = max(1, DAY_S // steps.step_s)
    hours = sorted({max(1, n * a_day // POINTS_A_DAY) for n in range(1, POINTS_A_DAY + 1)})
    return (
        _curve(
            scenario,
            ("load", _("of the load as stated"), LOAD_STEP),
            LOAD_POINTS,
            lambda index: values * float(index * LOAD_STEP),
        ),
        _curve(
            scenario,
            ("hours_a_day", _("h/day"), Fraction(steps.step_s, HOUR_S)),
            hours,
            lasting,
        ),
    )


def _curve(
    scenario: ScenarioInput,
    named: tuple[str, str, Fraction],
    indices: Sequence[int],
    demand: Callable[[int], Values],
) -> CostCurve:
    value, unit, resolution = named
    known: dict[int, _Point] = {}

    def point(index: int) -> _Point:
        # Bisection meets the same loads again for the next stretch.
        if index not in known:
            known[index] = _point(scenario, demand(index))
        return known[index]

    changes = [indices[0], *_changes(indices, lambda index: point(index).cheapest), indices[-1]]
    names = [option.name for option in scenario.options]
    stretches = tuple(
        CheapestStretch(_name(names, point(low).cheapest), low * resolution, high * resolution)
        for low, high in pairwise(changes)
    )
    points = [point(index) for index in indices]
    return CostCurve(
        value=value,
        unit=unit,
        peak=scenario.demand.highest,
        resolution=resolution,
        at=tuple(index * resolution for index in indices),
        lines=tuple(_line(n, name, points, stretches) for n, name in enumerate(names)),
        stretches=stretches,
    )


def _point(scenario: ScenarioInput, values: Values) -> _Point:
    # The whole engine anew: reservations, caps and policies are no straight lines in the load.
    there = replace(scenario, demand=replace(scenario.demand, values=values))
    outcomes = tuple(outcome(there, option) for option in scenario.options)
    unserved = np.array([option_outcome.service.share for option_outcome in outcomes])
    serving = tuple(bool(is_served) for is_served in serves(there, unserved))
    best = cheapest(
        there, np.array([float(option_outcome.total) for option_outcome in outcomes]), unserved
    )
    # `cheapest` answers the least unserved where nobody serves; that is no winner.
    return _Point(outcomes, serving, best if serving[best] else None)


def _changes(indices: Sequence[int], best: Callable[[int], int | None]) -> list[int]:
    """The first index of each stretch after the first one."""
    changes = []
    for low, high in pairwise(indices):
        begun = low
        # Between two neighbours there may be several changes: each is looked for from where the last one
        # was.
        while best(begun) != best(high):
            before, after = begun, high
            # Bisection: costs cross once between neighbours in practice, and each point is a run of the
            # engine.
            while after - before > 1:
                middle = (before + after) // 2
                same = best(middle) == best(begun)
                before, after = (middle, after) if same else (before, middle)
            changes.append(after)
            begun = after
    return changes


def _name(names: Sequence[str], index: int | None) -> str | None:
    return None if index is None else names[index]


def _line(
    n: int, name: str, points: Sequence[_Point], stretches: Sequence[CheapestStretch]
) -> CostLine:
    serving = tuple(point.serves[n] for point in points)
    never = None
    if all(stretch.option != name for stretch in stretches):
        never = (
            _("never: wherever it serves the demand, another option costs the same or less")
            if any(serving)
            else _("never: it leaves more demand unserved than is tolerated")
        )
    costs = tuple(point.outcomes[n].total for point in points)
    return CostLine(name, costs, serving, never)
