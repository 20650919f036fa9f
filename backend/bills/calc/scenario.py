"""A bill as a scenario: the load that its machines carried, today's cost, and where they could go."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from backend.bills.calc.beside import BillPart
from backend.bills.calc.elsewhere import Alternative
from backend.bills.calc.estate_document import WEEK_HOURS
from backend.bills.calc.replacing import HOURLY, Destination, Work
from backend.foundation.units import HOURS_PER_MONTH

DAY_HOURS = 24
MONTHS = 12
# Characters of an option's name: charts and tables have its words beside others.
MOST_NAME = 80
STEP_S = 3600


def bill_scenario(
    works: Sequence[Work],
    targets: Sequence[Alternative],
    names: Mapping[str, str],
    *,
    name: str,
    metric: str,
    currency: str,
    start: str,
    today: float,
) -> dict[str, Any]:
    """A document of design 5 that the editor opens; `names` has the words of `today` and each target;
    `today` is what all that is compared costs a month.

    Its demand is the score of the machines that ran by the hour of the week; spares, staff and memory
    are in what a server costs and carries. None of `works` is a ValueError.
    """
    if not works:
        raise ValueError("a scenario needs machines")
    curve = _week(works)
    level = sum(curve) / WEEK_HOURS
    daily = [sum(curve[hour::DAY_HOURS]) / 7 / level for hour in range(DAY_HOURS)]
    weekly = [sum(curve[at : at + DAY_HOURS]) / DAY_HOURS / level for at in _day_starts()]
    # What the two factors make of the week is at times above what it was at its highest.
    most = max(math.ceil(level * max(daily) * max(weekly)), 1)
    todays = {
        "role": "all",
        "count": 1,
        "capacity": str(most),
        "price": _monthly(today, currency),
    }
    return {
        "schema": 1,
        "name": name,
        "horizon": {"start": start, "months": MONTHS, "step_s": STEP_S},
        "demand": {
            "unit": "score",
            "kind": "composed",
            "time_zone": "UTC",
            "level": _text(level),
            "daily": [_text(value) for value in daily],
            "weekly": [_text(value) for value in weekly],
        },
        "capacity": {"metric": metric, "units_per_score": "1"},
        "policy": {"kind": "perfect"},
        "options": [
            {"name": names["today"], "parts": [todays]},
            *(
                {
                    "name": _name(names[outcome.target], outcome),
                    "parts": [_part(outcome, level, most, currency)],
                }
                for outcome in sorted(targets, key=lambda outcome: outcome.cost)
            ),
        ],
    }


def _day_starts() -> range:
    return range(0, WEEK_HOURS, DAY_HOURS)


def _week(works: Sequence[Work]) -> list[float]:
    """Score that ran in each hour of the week."""
    curve = [0.0] * WEEK_HOURS
    for work in works:
        counts = work.week or [work.mean] * WEEK_HOURS
        for hour, count in enumerate(counts):
            curve[hour] += count * work.score.value
    return curve


def _name(words: str, target: Alternative) -> str:
    servers = ", ".join(f"{count} × {name}" for _slug, name, count in target.servers)
    return f"{words}: {servers}"[:MOST_NAME]


def _part(target: Alternative, level: float, most: float, currency: str) -> dict[str, Any]:
    count = sum(server[2] for server in target.servers)
    # What one of them carries of the peak, which memory may make less than its score.
    part: dict[str, Any] = {"role": "all", "capacity": _text(most / count)}
    if target.target not in HOURLY:
        return {**part, "count": count, "price": _monthly(target.cost / count, currency)}
    beside = target.cost - target.parts[BillPart.MACHINES]
    is_list_price = target.target is not Destination.COMMITTED and not beside
    if len(target.servers) == 1 and is_list_price:
        return {**part, "price": {"offer": target.servers[0][0], "currency": currency}}
    # Several types scale together, disks and traffic with them: an hour of their mean.
    hourly = target.cost * most / level / count / HOURS_PER_MONTH
    price = {"amount": f"{hourly:.6f}", "currency": currency, "unit": "hour"}
    return {**part, "price": {**price, "billing": "per_second"}}


def _monthly(amount: float, currency: str) -> dict[str, Any]:
    return {
        "amount": f"{amount:.2f}",
        "currency": currency,
        "unit": "month",
        "billing": "monthly",
    }


def _text(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
