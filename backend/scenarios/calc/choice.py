"""Which option may be called the cheapest: one that serves the demand.

An option that leaves more unserved than the document tolerates is cheap because it drops load. Where
the document gives unserved demand a price instead, that price is added and all may win.
"""

import numpy as np
from numpy.typing import NDArray

from backend.money.pricing.billing.lifetimes import HOUR_S
from backend.scenarios.calc.model import ScenarioInput

# Shares are sums of floats: so far beyond the tolerated one is still within it.
NEAR = 1e-12
Figures = NDArray[np.float64]


def serves(scenario: ScenarioInput, unserved: Figures) -> NDArray[np.bool_]:
    """True if so large a share unserved may still be the cheapest."""
    if scenario.price_per_unserved_unit_hour is not None:
        return np.ones(np.shape(unserved), dtype=bool)
    return np.asarray(unserved <= float(scenario.tolerated_unserved_share) + NEAR)


def judge(
    scenario: ScenarioInput, costs: Figures, unserved: Figures, demand: Figures | float = 1.0
) -> Figures:
    """Costs with what unserved demand costs; `demand` is a factor on that of the scenario."""
    price = scenario.price_per_unserved_unit_hour
    if price is None:
        return costs
    unit_hours = scenario.demand.total * scenario.steps.step_s / HOUR_S
    return np.asarray(costs + float(price) * unserved * unit_hours * demand)


def cheapest(scenario: ScenarioInput, costs: Figures, unserved: Figures) -> int:
    """Index of the cheapest option that serves; where none does, of the one that serves most."""
    may_win = serves(scenario, unserved)
    if not may_win.any():
        return int(np.lexsort((costs, unserved))[0])
    return int(np.argmin(np.where(may_win, judge(scenario, costs, unserved), np.inf)))
