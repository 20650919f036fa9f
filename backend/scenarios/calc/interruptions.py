"""Users' losses while a server that the provider took back is replaced, as an expected value.

Each server of a price with interruptions ends at a constant rate. Its replacement is launched when
the policy sees that it is gone (lag) and serves once it is warm; for so long the demand that one
server carries at that time stays unserved.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from backend.scenarios.calc import bills
from backend.scenarios.calc.fleet import OptionFleet
from backend.scenarios.calc.model import OptionPart, ScenarioInput
from backend.scenarios.calc.service import Service

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Outages:
    """In each step, expected values."""

    lost: Values
    """Units that go unserved because of interruptions."""
    share_of_time: Values
    """Share of the step with a server missing."""


def outages(scenario: ScenarioInput, fleet: OptionFleet, missing: Values) -> Outages | None:
    """Losses by interruptions beside those `missing` in each step anyway; None without any."""
    policy = scenario.policy
    out_s = policy.warmup_s + policy.lag_s
    elastic_rate = _rate(fleet.elastic_part) * out_s
    always_rate = _rate(fleet.fixed_part) * out_s
    if not elastic_rate and not always_rate:
        return None
    serving = fleet.serving.astype(np.float64)
    # No more servers can be missing than serve.
    out = np.minimum(elastic_rate * fleet.running, serving)
    always_out = min(1.0, always_rate) * fleet.always_on
    carried = serving * float(fleet.units_elastic) + float(fleet.base_units)
    gone = out * float(fleet.units_elastic) + always_out * float(fleet.units_always)
    served = scenario.demand.values - missing
    share = np.divide(gone, carried, out=np.zeros_like(carried), where=carried > 0)
    is_felt = (served > 0) & (missing == 0)
    return Outages(served * share, np.where(is_felt, np.minimum(1.0, out + always_out), 0.0))


def _rate(part: OptionPart | None) -> float:
    """Interruptions a second of one server."""
    return 0.0 if part is None else float(bills.restarts(part.price.terms, 1))


def interrupt(scenario: ScenarioInput, service: Service, expected: Outages) -> Service:
    """The service with what interruptions are expected to take of it; the worst step stays that
    of a run without any."""
    lost = float(expected.lost.sum())
    asked = scenario.demand.total
    minutes = float(expected.share_of_time.sum()) * scenario.steps.step_s / 60
    kept = (service.served - lost) / service.served if service.served else 1.0
    used = service.utilisation
    return replace(
        service,
        share=service.share + (lost / asked if asked else 0.0),
        minutes=service.minutes + minutes,
        served=service.served - lost,
        utilisation=None if used is None else used * kept,
        interrupted=lost / asked if asked else 0.0,
    )
