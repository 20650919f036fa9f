"""What a scenario comes to: for each option its cost, and always what it leaves unserved."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.domain.pricing.billing.lifetimes import HOUR_S
from backend.domain.scenarios.fleet import Fleet, fleet, months_begun
from backend.domain.scenarios.model import Extras, Option, Scenario
from backend.domain.scenarios.needed import BLOCK

ENGINE_VERSION = "1"
HOURS_PER_MONTH = 730
CENTS = Decimal("0.000001")
ZERO = Fraction(0)
_EXACT = Context(prec=60)


@dataclass(frozen=True)
class Service:
    """How far the demand was met."""

    unserved: NDArray[np.float64]
    """Units in each step that no server carried."""
    share: float
    minutes: float
    worst: float
    """The largest unserved demand of a step, in units."""
    served: float
    """Σ of the units served in each step."""
    utilisation: float | None


@dataclass(frozen=True)
class Outcome:
    """One option as it came out; amounts are exact."""

    option: Option
    fleet: Fleet
    service: Service
    breakdown: Mapping[str, Fraction]
    server_s: int

    @property
    def total(self) -> Fraction:
        return sum(self.breakdown.values(), ZERO)


def outcome(scenario: Scenario, option: Option) -> Outcome:
    """One option over the horizon."""
    found = fleet(scenario, option)
    steps = scenario.steps
    elastic_s = int(found.running.sum(dtype=np.int64)) * steps.step_s
    return Outcome(
        option=option,
        fleet=found,
        service=_service(scenario, found),
        breakdown={
            "compute": found.compute,
            **_extras(option.extras, scenario),
            "setup": found.setup,
        },
        server_s=elastic_s + found.always_on * steps.horizon.seconds,
    )


def _service(scenario: Scenario, found: Fleet) -> Service:
    demand, serving = scenario.demand.values, found.serving
    always = float(found.always_on * found.units_always)
    units = float(found.units_elastic)
    unserved = np.empty(demand.size)
    for start in range(0, demand.size, BLOCK):
        block = slice(start, start + BLOCK)
        carried = unserved[block]
        np.multiply(serving[block], units, out=carried)
        carried += always
        np.subtract(demand[block], carried, out=carried)
        np.maximum(carried, 0.0, out=carried)
    missing, asked = float(unserved.sum()), float(demand.sum())
    capacity = int(serving.sum(dtype=np.int64)) * units + always * demand.size
    return Service(
        unserved=unserved,
        share=missing / asked if asked else 0.0,
        minutes=int(np.count_nonzero(unserved)) * scenario.steps.step_s / 60,
        worst=float(unserved.max()),
        served=asked - missing,
        utilisation=(asked - missing) / capacity if capacity else None,
    )


def _extras(extras: Extras, scenario: Scenario) -> dict[str, Fraction]:
    count = months_begun(scenario.steps.horizon, extras.month_convention)
    return {
        "egress": count * _tiered(extras),
        "storage": count * extras.storage_gb * extras.storage_price,
        "staff": count * extras.staff_hours * extras.staff_price,
        "fixed": count * extras.fixed,
    }


def _tiered(extras: Extras) -> Fraction:
    """A month's egress under tiers of cumulative bounds."""
    cost, lower = ZERO, ZERO
    for upper, price in extras.egress_tiers:
        until = extras.egress_gb if upper is None else min(upper, extras.egress_gb)
        cost += max(ZERO, until - lower) * price
        lower = max(lower, until)
    return cost


# --- the document -------------------------------------------------------------------------------


def told(scenario: Scenario, outcomes: list[Outcome]) -> dict[str, Any]:
    """The result document without what uncertainty adds."""
    demand = scenario.demand.values
    return {
        "schema": 1,
        "input_sha256": input_sha256(scenario.document),
        "engine_version": ENGINE_VERSION,
        "demand": {
            "peak": float(demand.max()),
            "mean": float(demand.mean()),
            "unit_hours": float(demand.sum()) * scenario.steps.step_s / HOUR_S,
        },
        "options": [_option(scenario, one) for one in outcomes],
        "break_even": [],
        "tornado": [],
        "assumptions": [
            {"name": a.name, "value": a.value, "unit": a.unit, "source": a.source}
            for a in scenario.assumptions
        ],
    }


def input_sha256(document: Mapping[str, object]) -> str:
    """Hash of a document, whatever the order of its fields."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _option(scenario: Scenario, one: Outcome) -> dict[str, Any]:
    found, service = one.fleet, one.service
    steps = scenario.steps
    months = scenario.months or Fraction(steps.horizon.seconds, HOURS_PER_MONTH * HOUR_S)
    plain = found.plain_compute
    served_hours = Fraction(service.served) * steps.step_s / HOUR_S
    return {
        "name": one.option.name,
        "cost_total": money(one.total),
        "cost_per_month": money(one.total / months),
        "cost_per_demand_unit_hour": money(one.total / served_hours) if served_hours else None,
        "server_hours": one.server_s / HOUR_S,
        "launches": found.lives.count,
        "peak_servers": int(found.running.max()) + found.always_on,
        "unserved_share": service.share,
        "unserved_minutes": service.minutes,
        "worst_minute_unserved": service.worst,
        "utilisation": service.utilisation,
        "billing_overhead_ratio": float(found.compute / plain) if plain else None,
        "base_servers": found.base,
        "committed_after_horizon": money(found.owed_later),
        "breakdown": {name: money(amount) for name, amount in one.breakdown.items()},
        "interval": None,
        "p_cheapest": None,
        "regret": None,
        "distinguishable": None,
    }


def money(amount: Fraction) -> str:
    """An exact amount as a decimal string, rounded once to 6 decimals, half to even."""
    whole = _EXACT.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return format(whole.quantize(CENTS, rounding=ROUND_HALF_EVEN, context=_EXACT), "f")
