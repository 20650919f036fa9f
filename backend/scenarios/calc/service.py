"""How far the demand of each step was met by the servers in service."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from backend.scenarios.calc.lives import Whole
from backend.scenarios.calc.model import ScenarioInput
from backend.scenarios.calc.needed import MOST_SERVERS, NEAR, Needs
from backend.scenarios.calc.scan import Servers, flag_positions

Values = NDArray[np.float64]
# Share of what a server carries: more than what floats are off by.
HAIR = Fraction(1, 10**6)


@dataclass(frozen=True)
class Service:
    """Over the whole horizon; units are those of the demand."""

    share: float
    """Unserved demand as a share of all demand."""
    minutes: float
    worst: float
    """The largest unserved demand of a step."""
    served: float
    """Σ of the units served in each step."""
    utilisation: float | None
    interrupted: float = 0.0
    """Part of the share that is an expected loss by interruptions."""


def measure_service(
    scenario: ScenarioInput, serving: Servers, units: Fraction, always: Fraction = Fraction(0)
) -> Service:
    """How far servers in service that carry `units` each met the demand, beside what is carried
    `always`."""
    _, lost = _find_unserved(scenario, serving, units, always)
    missing = float(lost.sum())
    asked = scenario.demand.total
    capacity = float(_sum(serving) * units + always * scenario.steps.count)
    return Service(
        share=missing / asked if asked else 0.0,
        minutes=lost.size * scenario.steps.step_s / 60,
        worst=float(lost.max(initial=0.0)),
        served=asked - missing,
        utilisation=(asked - missing) / capacity if capacity else None,
    )


def _sum(servers: Servers) -> int:
    # In half the time of wider numbers wherever it fits.
    fits = int(servers.max()) * servers.size < 2**32
    return int(servers.sum(dtype=np.uint32 if fits else np.int64))


def unserved_units(
    scenario: ScenarioInput, serving: Servers, units: Fraction, always: Fraction = Fraction(0)
) -> Values:
    """Units of each step that no server carried."""
    missing = np.zeros(serving.size)
    at, lost = _find_unserved(scenario, serving, units, always)
    missing[at] = lost
    return missing


def _find_unserved(
    scenario: ScenarioInput, serving: Servers, units: Fraction, always: Fraction
) -> tuple[Whole, Values]:
    """The steps in which something is unserved, and how much."""
    at = _short(scenario, serving, units, always)
    asked, servers = scenario.demand.values[at], serving[at]
    lost = asked - (servers * float(units) + float(always))
    is_lost = lost > 0
    at, asked, servers, lost = at[is_lost], asked[is_lost], servers[is_lost], lost[is_lost]
    if lost.min(initial=np.inf) < NEAR * scenario.demand.highest:
        # Looked at again with products that are rounded once: 7 × 0.7 carries 4.9.
        lost = asked - _carrying_table(int(servers.max()), units, always)[servers]
        at, lost = at[lost > 0], lost[lost > 0]
    return at, lost


def _short(scenario: ScenarioInput, serving: Servers, units: Fraction, always: Fraction) -> Whole:
    """The steps in which something may be unserved, and few others."""
    demand = scenario.demand
    size = units * (1 - HAIR)
    # There are no such servers, or so small ones that more were needed than there may be.
    if not units or demand.highest > MOST_SERVERS * size:
        return np.flatnonzero(demand.values > float(always))
    needs = Needs(np.maximum(0.0, demand.values - float(always))) if always else demand.needs
    # Whole numbers of servers that carry somewhat less: they fall short wherever real ones do.
    is_short = serving < needs.of_this_or_less(size)
    # Next to no demand counts as no need, and still goes unserved where nobody serves.
    if not serving.min():
        is_short |= serving == 0
    return flag_positions(is_short)


def _carrying_table(most: int, units: Fraction, always: Fraction) -> Values:
    """always + n · units for n from 0 to `most`, each as the float that is nearest."""
    common = math.lcm(units.denominator, always.denominator)
    each, first = int(units * common), int(always * common)
    # Whole numbers divided by one another are rounded once.
    return np.array([(first + n * each) / common for n in range(most + 1)])
