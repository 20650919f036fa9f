"""Everything of a scenario that has a time, as tables: one row a point and option."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from rest_framework.request import Request

from backend.core.rest.parameters import InvalidParameters, one_of, whole
from backend.core.rest.problem import Conflict
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import MAX_EXPORT_ROWS, ListAnswer, ListView
from backend.foundation.errors import InvalidDocument
from backend.scenarios.api.scenarios import scenario_of
from backend.scenarios.calc.series import MOST_POINTS
from backend.scenarios.models import Scenario
from backend.scenarios.selectors.scenarios import scenario_series

Series = Mapping[str, Any]
Rows = Iterator[dict[str, Any]]

COLUMN = {
    column.name: column
    for column in (
        Column("at", ColumnType.TIME, "Start of the point"),
        Column("month", ColumnType.TEXT, "Calendar month, UTC"),
        Column("share", ColumnType.NUMBER, "Of the time, from the busiest on", "ratio"),
        Column("option", ColumnType.TEXT, "Name of the option"),
        Column("demand", ColumnType.NUMBER, "Asked for", "unit of the demand"),
        Column("running", ColumnType.NUMBER, "Servers that are paid", "servers"),
        Column("serving", ColumnType.NUMBER, "Servers in service", "servers"),
        Column("carried", ColumnType.NUMBER, "What those in service carry", "unit of the demand"),
        Column("base", ColumnType.NUMBER, "Servers that the base pays", "servers"),
        Column("burst", ColumnType.NUMBER, "Servers beyond it", "servers"),
        Column("unserved", ColumnType.NUMBER, "Demand that nobody carried", "unit of the demand"),
        Column("cost", ColumnType.DECIMAL, "All of the month", "currency"),
        *(
            Column(name, ColumnType.DECIMAL, f"Of it for {name}", "currency")
            for name in ("compute", "egress", "storage", "staff", "fixed", "setup")
        ),
        Column("paid", ColumnType.DECIMAL, "Paid by the end of the month", "currency"),
        Column("exit", ColumnType.DECIMAL, "What leaving then still costs", "currency"),
        Column("unserved_share", ColumnType.NUMBER, "Unserved of the demand", "ratio"),
        Column("currency", ColumnType.TEXT, "Currency of the amounts"),
    )
}


def _steps(of: Series) -> Rows:
    names = ("running", "serving", "carried", "unserved")
    for n, at in enumerate(of["t"]):
        for option in of["options"]:
            cells = {name: option[name][n] for name in names}
            at_time = dt.datetime.fromisoformat(at)
            yield {"at": at_time, "option": option["name"], "demand": of["demand"][n], **cells}


def _load_duration(of: Series) -> Rows:
    curve = of["load_duration"]
    for n, share in enumerate(curve["share"]):
        for option in curve["options"]:
            cells = {name: option[name][n] for name in ("base", "burst", "unserved")}
            yield {"share": share, "option": option["name"], "demand": curve["demand"][n], **cells}


def _months(of: Series) -> Rows:
    for month in of["months"]:
        for option in month["options"]:
            amounts = {"cost": option["cost"], **option["breakdown"]}
            yield {
                "month": month["month"],
                "option": option["name"],
                **{name: Decimal(amount) for name, amount in amounts.items()},
                "unserved_share": option["unserved_share"],
                "currency": of["currency"],
            }


def _cash(of: Series) -> Rows:
    for month in of["cash"]:
        for option in month["options"]:
            yield {
                "month": month["month"],
                "option": option["name"],
                "paid": Decimal(option["paid"]),
                "exit": Decimal(option["exit"]),
                "unserved_share": option["unserved_share"],
                "currency": of["currency"],
            }


TABLES: Mapping[str, tuple[tuple[str, ...], Callable[[Series], Rows]]] = {
    "steps": (("at", "option", "demand", "running", "serving", "carried", "unserved"), _steps),
    "load_duration": (("share", "option", "demand", "base", "burst", "unserved"), _load_duration),
    "months": (
        (
            "month",
            "option",
            "cost",
            "compute",
            "egress",
            "storage",
            "staff",
            "fixed",
            "setup",
            "unserved_share",
            "currency",
        ),
        _months,
    ),
    "cash": (("month", "option", "paid", "exit", "unserved_share", "currency"), _cash),
}


def _points(scenario: Scenario, asked: int | None) -> int:
    """Points of each option, so that an export holds them all."""
    options = len(scenario.document["options"])
    most = MAX_EXPORT_ROWS // options
    # Refused and not cut off: an export without its end would look complete.
    if asked is not None and asked > most:
        detail = f"{asked} points of {options} options are more than {MAX_EXPORT_ROWS} rows"
        raise InvalidParameters([("points", detail)])
    return asked or min(MOST_POINTS, most)


class ScenarioSeriesView(ListView):
    """Series of a scenario: servers and unserved demand over time, and costs by the month."""

    name = "scenario-series"
    columns = tuple(COLUMN.values())

    def parameter_descriptions(self) -> Mapping[str, str]:
        return {
            **super().parameter_descriptions(),
            "table": f"Of {', '.join(TABLES)} (default steps)",
            "points": "The most points of a table; each shows the highest value of its time "
            f"(default {MOST_POINTS})",
        }

    def parameter_readers(self) -> Mapping[str, Any]:
        return {
            "table": one_of(tuple(TABLES)),
            "points": whole(1, MAX_EXPORT_ROWS),
            **super().parameter_readers(),
        }

    def listing(self, request: Request) -> ListAnswer:
        asked, shown = self.parameters(request)
        names, rows_of = TABLES[asked.get("table", "steps")]
        scenario = scenario_of(request, self.kwargs["slug"])
        try:
            of = scenario_series(scenario, most_points=_points(scenario, asked.get("points")))
        except InvalidDocument as error:
            raise Conflict(f"it has no result any more: {error}") from error
        rows = list(rows_of(of))
        return ListAnswer(
            columns=tuple(COLUMN[name] for name in names),
            rows=rows,
            count=len(rows),
            cells=dict,
            members={name: of[name] for name in ("unit", "currency", "point_s")},
            **shown,
        )
