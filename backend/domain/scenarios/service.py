"""How far the demand of each step was met by the servers in service."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from backend.domain.scenarios.lives import Whole
from backend.domain.scenarios.model import ScenarioInput
from backend.domain.scenarios.needed import BLOCK, NEAR
from backend.domain.scenarios.scan import Servers

Values = NDArray[np.float64]


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
    """What of the share is an expected loss by interruptions."""


def served(
    scenario: ScenarioInput, serving: Servers, units: Fraction, always: Fraction = Fraction(0)
) -> Service:
    """How far servers in service that carry `units` each met the demand, beside what is carried
    `always`."""
    missing, steps, worst = 0.0, 0, 0.0
    for _, lost in _unserved(scenario, serving, units, always):
        missing += float(lost.sum())
        worst = max(worst, float(lost.max()))
        steps += int(np.count_nonzero(lost))
    asked = scenario.demand.total
    capacity = float(int(serving.sum(dtype=np.int64)) * units + always * scenario.steps.count)
    return Service(
        share=missing / asked if asked else 0.0,
        minutes=steps * scenario.steps.step_s / 60,
        worst=worst,
        served=asked - missing,
        utilisation=(asked - missing) / capacity if capacity else None,
    )


def unserved(
    scenario: ScenarioInput, serving: Servers, units: Fraction, always: Fraction = Fraction(0)
) -> Values:
    """Units of each step that no server carried."""
    missing = np.zeros(serving.size)
    for at, lost in _unserved(scenario, serving, units, always):
        missing[at] = lost
    return missing


def _unserved(
    scenario: ScenarioInput, serving: Servers, units: Fraction, always: Fraction
) -> Iterator[tuple[Whole, Values]]:
    """Block by block the steps in which something is unserved, and how much."""
    demand = scenario.demand.values
    carried: Values | None = None
    near = NEAR * scenario.demand.highest
    buffer = np.empty(BLOCK)
    for start in range(0, demand.size, BLOCK):
        asked, servers = demand[start : start + BLOCK], serving[start : start + BLOCK]
        missing = buffer[: asked.size]
        missing[...] = servers
        missing *= float(units)
        if always:
            missing += float(always)
        np.subtract(asked, missing, out=missing)
        at = np.flatnonzero(missing > 0)
        if not at.size:
            continue
        lost = missing[at]
        if lost.min() < near:
            # Looked at again with products that are rounded once: 7 × 0.7 carries 4.9.
            if carried is None:
                carried = _carried(int(serving.max()), units, always)
            lost = np.maximum(0.0, asked[at] - carried[servers[at]])
        yield at + start, lost


def _carried(most: int, units: Fraction, always: Fraction) -> Values:
    """always + n · units for n from 0 to `most`, each as the float that is nearest."""
    common = math.lcm(units.denominator, always.denominator)
    each, first = int(units * common), int(always * common)
    # Whole numbers divided by one another are rounded once.
    return np.array([(first + n * each) / common for n in range(most + 1)])
