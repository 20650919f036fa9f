"""BigQuery on loopback: one table of a billing export, and the one question that is asked of it.

Documents as in cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query and …/getQueryResults: an answer
may come before its query is over, has a page of rows, and each value is a text. Columns as in
cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/standard-usage.

Faults: forbidden, late (the first answers have no rows yet).
"""

import datetime as dt
import re
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.fakes.rest import Answer, Asked, RestServer

PAGE = 2


@dataclass(frozen=True)
class Usage:
    """One line of the export."""

    at: dt.datetime
    labels: tuple[tuple[str, str], ...]
    cost: float
    currency: str = "EUR"


class BigQuery(RestServer):
    project = "rackrate-bench"
    table = "billing-of-all.export.gcp_billing_export_v1_0123AB"

    def __init__(self) -> None:
        super().__init__()
        self.usage: list[Usage] = []
        self.asked: list[Asked] = []
        self._rows: list[list[str]] = []

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        if self.faults.happens("forbidden") is not None:
            message = f"Access Denied: Table {self.table}: User does not have permission"
            errors = [{"reason": "accessDenied", "message": message}]
            return Answer({"error": {"code": 403, "message": message, "errors": errors}}, 403)
        queries = f"/bigquery/v2/projects/{self.project}/queries"
        if (asked.method, asked.path) == ("POST", queries):
            self._rows = self._summed(asked.body)
        elif (asked.method, asked.path) != ("GET", f"{queries}/job_1"):
            return Answer({"error": {"code": 404, "message": "Not found"}}, 404)
        elif asked.query.get("location") != "EU":  # where the table is
            return Answer({"error": {"code": 404, "message": "Not found: Job job_1"}}, 404)
        document: dict[str, Any] = {"jobReference": {"jobId": "job_1", "location": "EU"}}
        if self.faults.happens("late") is not None:
            return Answer({**document, "jobComplete": False})
        first = int(asked.query.get("pageToken", 0))
        rows = [{"f": [{"v": v} for v in row]} for row in self._rows[first : first + PAGE]]
        more = {"pageToken": str(first + PAGE)} if first + PAGE < len(self._rows) else {}
        return Answer({**document, "jobComplete": True, "rows": rows, **more})

    def _summed(self, body: Any) -> list[list[str]]:
        assert body["useLegacySql"] is False
        assert re.findall(r"FROM `([^`]+)`", body["query"]) == [self.table]
        given = {
            one["name"]: (one["parameterType"]["type"], one["parameterValue"]["value"])
            for one in body["queryParameters"]
        }
        assert {f"@{name}" for name in given} == set(re.findall(r"@\w+", body["query"]))
        first, end = (
            dt.datetime.fromisoformat(given[name][1]).replace(tzinfo=dt.UTC)
            for name in ("first", "end")
        )
        sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for one in self.usage:
            for key, value in one.labels:
                if key == given["label"][1] and first <= one.at < end:
                    sums[value, one.currency] += Decimal(str(one.cost))
        return [[value, currency, f"{cost:f}"] for (value, currency), cost in sums.items()]
