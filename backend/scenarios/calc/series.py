"""Everything of a result that has a time: for charts and tables.

Where there are more steps than points are asked for, a point stands for several steps and shows
the largest value among them, so that no peak and no unserved demand is lost.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.money.pricing.billing.lifetimes import Horizon, months
from backend.scenarios.calc.charges import RESERVED, extras_costs
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.fleet import OptionFleet
from backend.scenarios.calc.model import Option, ScenarioInput, unlimited
from backend.scenarios.calc.results import OptionOutcome, missing, money, outcome

MOST_POINTS = 2000
Values = NDArray[Any]
ZERO = Fraction(0)


def series(
    document: object, *, most_points: int = MOST_POINTS, check: Callable[[], None] = unlimited
) -> dict[str, Any]:
    """Series of a scenario document; InvalidDocument names every field that is wrong.

    `t` has the start of each point, of `point_s` seconds. `demand` and `unserved` are in units,
    `running` and `serving` in servers, `carried` in the units that those in service carry; shares
    are of the time or of the demand, amounts decimal strings.
    """
    scenario = scenario_from(document, check)
    outcomes = [outcome(scenario, option) for option in scenario.options]
    losses = [missing(scenario, option_outcome.fleet) for option_outcome in outcomes]
    steps = scenario.steps
    # Rounded up: there are at most as many points as asked for.
    # All series share their points, so a chart can lay them over each other.
    width = -(-steps.count // max(1, most_points))
    starts = steps.instants()[::width].tolist()
    bills = [list(_monthly(scenario, option_outcome)) for option_outcome in outcomes]
    return {
        "schema": 1,
        "unit": scenario.demand.unit,
        "currency": scenario.currency,
        "point_s": width * steps.step_s,
        "t": [dt.datetime.fromtimestamp(at, dt.UTC).isoformat() for at in starts],
        "demand": _highest(scenario.demand.values, width),
        "options": [
            _over_time(option_outcome, lost, width)
            for option_outcome, lost in zip(outcomes, losses, strict=True)
        ],
        "load_duration": _load_duration(scenario, outcomes, losses, width),
        "months": _by_month(scenario, outcomes, losses, bills),
        "cash": _cash(scenario, outcomes, losses, bills),
    }


def _highest(values: Values, width: int) -> list[Any]:
    """Largest value of each `width` steps."""
    # reduceat and not reshape: the last point may stand for fewer steps.
    highest: list[Any] = np.maximum.reduceat(values, np.arange(0, values.size, width)).tolist()
    return highest


def _over_time(option_outcome: OptionOutcome, lost: Values, width: int) -> dict[str, Any]:
    fleet = option_outcome.fleet
    # Stored narrow, to hold a year of minutes for many options; sums need room.
    serving = fleet.serving.astype(np.int64)
    carried = serving * float(fleet.units_elastic) + float(fleet.base_units)
    return {
        "name": option_outcome.option.name,
        "running": _highest(fleet.running.astype(np.int64) + fleet.always_on, width),
        "serving": _highest(serving + fleet.always_on, width),
        "carried": _highest(carried, width),
        "unserved": _highest(lost, width),
    }


# --- the load-duration curve --------------------------------------------------------------------


def _load_duration(
    scenario: ScenarioInput, outcomes: list[OptionOutcome], losses: list[Values], width: int
) -> dict[str, Any]:
    """Everything in falling order. At each share of the time the bands of an option, in servers,
    add up to what runs: what the base pays, and what runs beyond it."""
    count = scenario.steps.count
    return {
        "share": (np.arange(0, count, width) / count).tolist(),
        "demand": _falling(scenario.demand.values, width),
        "options": [
            _bands(option_outcome, lost, width)
            for option_outcome, lost in zip(outcomes, losses, strict=True)
        ],
    }


def _falling(values: Values, width: int) -> list[Any]:
    # Each series by itself: the hour of the highest demand need not be that of the most servers.
    falling: list[Any] = np.sort(values)[::-1][::width].tolist()
    return falling


def _bands(option_outcome: OptionOutcome, lost: Values, width: int) -> dict[str, Any]:
    fleet = option_outcome.fleet
    running = fleet.running.astype(np.int64) + fleet.always_on
    # Reservations are money: they cover what runs and run nothing themselves.
    base = fleet.always_on if fleet.base is None else fleet.base
    return {
        "name": option_outcome.option.name,
        "base_kind": _base_kind(fleet),
        "base": _falling(np.minimum(running, base), width),
        "burst": _falling(np.maximum(running - base, 0), width),
        "unserved": _falling(lost, width),
    }


def _base_kind(fleet: OptionFleet) -> str | None:
    """`servers` that are always on, `reservations`, or None."""
    if fleet.fixed_part is None:
        return None
    is_commitment = fleet.base is not None and fleet.fixed_part.price.billing == RESERVED
    return "reservations" if is_commitment else "servers"


# --- money over the months ----------------------------------------------------------------------


def _ends(scenario: ScenarioInput) -> list[tuple[str, int]]:
    """Calendar months (UTC) that the horizon touches, each with its end within the horizon."""
    horizon = scenario.steps.horizon
    return [
        (f"{dt.datetime.fromtimestamp(start_s, dt.UTC):%Y-%m}", min(end_s, horizon.end_s))
        for start_s, end_s in months(horizon)
    ]


def _monthly(
    scenario: ScenarioInput, option_outcome: OptionOutcome
) -> Iterator[tuple[dict[str, Fraction], Fraction, Fraction]]:
    """Up to the end of each month: cost by component, what is prepaid, and what is still owed if
    everything ends then. The last one is the bill of the scenario."""
    for _, end_s in _ends(scenario):
        scenario.check()
        # From the start each time: tiers, caps and terms depend on what was before.
        until = Horizon(scenario.steps.start_s, end_s)
        charges = option_outcome.fleet.charges_until(until)
        breakdown = {
            "compute": charges.compute,
            **extras_costs(option_outcome.option.extras, until, option_outcome.fleet.administered),
            "setup": charges.setup,
        }
        yield breakdown, charges.prepaid, charges.owed


Bills = list[tuple[dict[str, Fraction], Fraction, Fraction]]


def _by_month(
    scenario: ScenarioInput,
    outcomes: list[OptionOutcome],
    losses: list[Values],
    bills: list[Bills],
) -> list[dict[str, Any]]:
    """Additions of each month to the bill; the months add up to the whole."""
    rows = []
    before_s = scenario.steps.start_s
    for index, (month, end_s) in enumerate(_ends(scenario)):
        options = []
        for option_outcome, lost, bill in zip(outcomes, losses, bills, strict=True):
            earlier = bill[index - 1][0] if index else {}
            # Differences of exact bills, so that the months add up to the whole to the cent.
            added = {k: amount - earlier.get(k, ZERO) for k, amount in bill[index][0].items()}
            options.append(
                _price_series(option_outcome.option, sum(added.values(), ZERO))
                | {"unserved_share": _share(scenario, lost, before_s, end_s)}
                | {"breakdown": {name: money(amount) for name, amount in added.items()}}
            )
        rows.append({"month": month, "options": options})
        before_s = end_s
    return rows


def _price_series(option: Option, amount: Fraction) -> dict[str, Any]:
    return {"name": option.name, "cost": money(amount)}


def _cash(
    scenario: ScenarioInput,
    outcomes: list[OptionOutcome],
    losses: list[Values],
    bills: list[Bills],
) -> list[dict[str, Any]]:
    """Payments by the end of each month, and the cost of leaving then."""
    start_s = scenario.steps.start_s
    return [
        {
            "month": month,
            "options": [
                {
                    "name": option_outcome.option.name,
                    "paid": money(sum(bill[index][0].values(), ZERO) + bill[index][1]),
                    "exit": money(bill[index][2]),
                    "unserved_share": _share(scenario, lost, start_s, end_s),
                }
                for option_outcome, lost, bill in zip(outcomes, losses, bills, strict=True)
            ],
        }
        for index, (month, end_s) in enumerate(_ends(scenario))
    ]


def _share(scenario: ScenarioInput, lost: Values, from_s: int, until_s: int) -> float:
    """Unserved share of the demand of the steps that start in a time."""
    steps = scenario.steps
    first, last = (-(-(at - steps.start_s) // steps.step_s) for at in (from_s, until_s))
    asked = float(scenario.demand.values[first:last].sum())
    return float(lost[first:last].sum()) / asked if asked else 0.0
