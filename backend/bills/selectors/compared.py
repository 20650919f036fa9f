"""Cost of a bill's machines elsewhere, as the API and the command answer it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from backend.bills.calc.replacing import MOST_HEADROOM
from backend.bills.models import Bill
from backend.bills.selectors.elsewhere import default_assumptions, elsewhere
from backend.bills.selectors.works import ANYWHERE
from backend.catalog.selectors.data_version import DataStamp
from backend.core.rest.parameters import Reader, boolean, number, text, whole
from backend.rankings.calc.region_groups import REGION_GROUPS

ASSUMED: Mapping[str, str] = {
    "metric": "Whose scores are compared; the one that most offers have otherwise",
    "moving_cost": "Once, in the bill's currency",
    "staff_per_server": "A month, for each dedicated server; the costs of your own hold theirs",
    "spares": "Servers more than needed, of dedicated ones and your own",
    "headroom_percent": "Of score and memory of servers that stand, kept free, from 0 to 90",
    "spread_commitments": "TRUE: committed machines cost what the bill spreads over their use, else the fees",
    "may_change_arch": "TRUE where programs run on CPUs of another architecture, too",
    "may_run_services": "TRUE where managed services become software that one runs oneself",
    "managed_premium": "Share of their price that is for being managed, from 0 to 1",
    "service_hours": "Staff hours a month for services that one runs oneself",
    "staff_hour": "Cost of an hour of staff, in the bill's currency",
    "region_group": "Part of the world of replacements, that of the bill otherwise: "
    + ", ".join((ANYWHERE, *REGION_GROUPS)),
}


def _from_zero(most: float = math.inf) -> Reader:
    def reader(value: str) -> float:
        parsed = float(number(value))
        if not 0 <= parsed <= most:
            raise ValueError(f"{value} is not from 0 to {most:g}")
        return parsed

    return reader


def _region_group(value: str) -> str:
    if value not in {ANYWHERE, *REGION_GROUPS}:
        raise ValueError(f"{value!r} is not one of {', '.join((ANYWHERE, *REGION_GROUPS))}")
    return value


READERS: Mapping[str, Reader] = {
    "metric": text,
    "moving_cost": _from_zero(),
    "staff_per_server": _from_zero(),
    "spares": whole(0, 100),
    "headroom_percent": _from_zero(MOST_HEADROOM),
    "spread_commitments": boolean,
    "may_change_arch": boolean,
    "may_run_services": boolean,
    "managed_premium": _from_zero(1),
    "service_hours": _from_zero(),
    "staff_hour": _from_zero(),
    "region_group": _region_group,
}


def comparison_document(bill: Bill, stamp: DataStamp, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Cost of its machines elsewhere, under assumptions as READERS gave them.

    InvalidParameters for a metric that cannot be compared.
    """
    given = {name: value for name, value in asked.items() if name != "metric"}
    assumed = replace(default_assumptions(bill.currency), **given)
    answer = elsewhere(bill, stamp, metric=asked.get("metric", ""), assumed=assumed)
    return {
        "compared": {
            "metric": answer.metric,
            "cost_per_month": round(answer.today, 2),
            "uncompared": [left_out.name for left_out in answer.uncompared],
            "left_out": [
                {"name": left_out.name, "cost": str(left_out.cost), "why": left_out.why}
                for left_out in answer.uncompared
            ],
            "region_groups": sorted(
                {group for work in answer.works for group in work.region_groups}
            ),
            **asdict(answer.assumed),
        },
        "alternatives": [
            {
                "kind": alternative.target,
                "servers": [
                    {"offer": slug, "name": name, "count": count}
                    for slug, name, count in alternative.servers
                ],
                "cost_per_month": round(alternative.cost, 2),
                "parts": {part: round(cost, 2) for part, cost in alternative.parts.items()},
                "unpriced": list(alternative.unpriced),
                "idle_cost": round(alternative.idle_cost, 2),
                "p5": round(alternative.p5, 2),
                "p95": round(alternative.p95, 2),
                "probability_cheaper": round(alternative.probability_cheaper, 4),
                "payback_months": None
                if alternative.payback_months is None
                else round(alternative.payback_months, 2),
                "swings": [
                    {
                        **asdict(swing),
                        "cost_low": round(swing.cost_low, 2),
                        "cost_high": round(swing.cost_high, 2),
                    }
                    for swing in alternative.swings
                ],
            }
            for alternative in answer.alternatives
        ],
    }
