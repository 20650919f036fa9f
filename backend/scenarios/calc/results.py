"""Results of a scenario: for each option its cost, and always the demand that it leaves unserved."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from backend.money.pricing.billing.lifetimes import HOUR_S
from backend.scenarios.calc.charges import extras_a_month, extras_costs
from backend.scenarios.calc.choice import serves
from backend.scenarios.calc.fleet import OptionFleet, option_fleet
from backend.scenarios.calc.interruptions import interrupt, outages
from backend.scenarios.calc.model import Option, ScenarioInput
from backend.scenarios.calc.service import Service, Values, unserved_units

ENGINE_VERSION = "1"
CENTS = Decimal("0.000001")
MONEY_DECIMALS, QUOTIENT_DIGITS = 6, 20
ZERO = Fraction(0)
_EXACT = Context(prec=60)


@dataclass(frozen=True)
class OptionOutcome:
    """An option as it came out; amounts are exact."""

    option: Option
    fleet: OptionFleet
    service: Service
    breakdown: Mapping[str, Fraction]
    server_s: int

    @property
    def total(self) -> Fraction:
        return sum(self.breakdown.values(), ZERO)


def outcome(scenario: ScenarioInput, option: Option) -> OptionOutcome:
    """An option over the horizon."""
    scenario.check()
    fleet = option_fleet(scenario, option)
    steps = scenario.steps
    return OptionOutcome(
        option=option,
        fleet=fleet,
        service=_service(scenario, fleet),
        breakdown={
            "compute": fleet.charges.compute,
            **extras_costs(option.extras, steps.horizon, fleet.administered),
            "setup": fleet.charges.setup,
        },
        server_s=int(fleet.lives.seconds.sum()) + fleet.always_on * steps.horizon.seconds,
    )


def _service(scenario: ScenarioInput, fleet: OptionFleet) -> Service:
    if not fleet.charges.interruptions:
        return fleet.run.service
    expected = outages(scenario, fleet, _demand_left(scenario, fleet))
    return (
        fleet.run.service if expected is None else interrupt(scenario, fleet.run.service, expected)
    )


def missing(scenario: ScenarioInput, fleet: OptionFleet) -> Values:
    """Units of each step that nobody serves, with the expected loss by interruptions."""
    uncarried = _demand_left(scenario, fleet)
    expected = outages(scenario, fleet, uncarried)
    return uncarried if expected is None else uncarried + expected.lost


def _demand_left(scenario: ScenarioInput, fleet: OptionFleet) -> Values:
    return unserved_units(scenario, fleet.serving, fleet.units_elastic, fleet.base_units)


# --- the document -------------------------------------------------------------------------------


def result_document(scenario: ScenarioInput, options: list[dict[str, Any]]) -> dict[str, Any]:
    """The result document of such options, without what comparing them adds."""
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
        "options": options,
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


def option_members(scenario: ScenarioInput, option_outcome: OptionOutcome) -> dict[str, Any]:
    """The result's members of an option, without what uncertainty adds."""
    fleet, service = option_outcome.fleet, option_outcome.service
    steps = scenario.steps
    plain, restarts = fleet.charges.plain, fleet.charges.interruptions
    served_hours = Fraction(service.served) * steps.step_s / HOUR_S
    return {
        "name": option_outcome.option.name,
        "cost_total": money(option_outcome.total),
        "cost_per_month": money(_a_month(scenario, option_outcome)),
        "cost_one_off": money(fleet.charges.setup),
        "cost_per_demand_unit_hour": quotient(option_outcome.total / served_hours)
        if served_hours
        else None,
        "server_hours": option_outcome.server_s / HOUR_S,
        "launches": fleet.lives.count + (float(restarts) if restarts else 0),
        "interruptions": float(restarts),
        "peak_servers": int(fleet.running.max()) + fleet.always_on,
        "may_be_cheapest": bool(serves(scenario, np.array(service.share))),
        "unserved_share": service.share,
        "unserved_minutes": service.minutes,
        "worst_minute_unserved": service.worst,
        "utilisation": service.utilisation,
        "billing_overhead_ratio": float(fleet.charges.compute / plain) if plain else None,
        "base_servers": fleet.base,
        "committed_after_horizon": money(fleet.charges.commitments),
        "breakdown": {name: money(amount) for name, amount in option_outcome.breakdown.items()},
        "interval": None,
        "p_cheapest": None,
        "p_serves": None,
        "regret": None,
        "distinguishable": None,
    }


def _a_month(scenario: ScenarioInput, option_outcome: OptionOutcome) -> Fraction:
    """Cost of a month without what is paid once; `cost_one_off` has that."""
    if scenario.months:
        return (option_outcome.total - option_outcome.fleet.charges.setup) / scenario.months
    return option_outcome.fleet.charges.a_month + extras_a_month(
        option_outcome.option.extras, option_outcome.fleet.administered
    )


def money(amount: Fraction) -> str:
    """An exact amount as a decimal string, rounded once to 6 decimals, half to even."""
    # 60 digits, so that the quotient is cut far behind the digit that is rounded.
    whole = _EXACT.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return format(whole.quantize(CENTS, rounding=ROUND_HALF_EVEN, context=_EXACT), "f")


def quotient(amount: Fraction) -> str:
    """An amount over something else as a decimal string of 20 significant digits, at least 6
    decimals: unlike a sum of money it may be far below a cent, and those are compared."""
    whole = _EXACT.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    decimals = max(MONEY_DECIMALS, QUOTIENT_DIGITS - 1 - whole.adjusted())
    unit = Decimal(1).scaleb(-decimals)
    rounded = format(whole.quantize(unit, rounding=ROUND_HALF_EVEN, context=_EXACT), "f")
    point = rounded.index(".") + 1 + MONEY_DECIMALS
    return rounded[:point] + rounded[point:].rstrip("0")
