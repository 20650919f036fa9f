"""Google's bill for our machines in a month, from the export of Cloud Billing to BigQuery.

Machines and disks carry the launch's token as a label, and the export has the labels of what was used
(cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/standard-usage). Rows come some hours
late. The request is cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query.
"""

import asyncio
import datetime as dt
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from backend.foundation.errors import DriverError, Reason
from backend.money.money import Money
from backend.providers.gcp.documents import TOKEN, call_error, failures
from backend.providers.gcp.os_login import credentials_of
from backend.providers.machines import Access, unsupported_error

HOST = "https://bigquery.googleapis.com"
SCOPES = ("https://www.googleapis.com/auth/bigquery",)
CALL_S = 20
# How long one call waits for the query's end.
ANSWER_S = 10
QUERY_S = 120
# As text: floats would lose digits of amounts. Credits say nothing of what the machines used.
QUERY = """
SELECT label.value, currency, CAST(SUM(CAST(cost AS NUMERIC)) AS STRING)
FROM `{table}`, UNNEST(labels) AS label
WHERE label.key = @label
  AND usage_start_time >= TIMESTAMP(@first) AND usage_start_time < TIMESTAMP(@end)
GROUP BY 1, 2
"""


class GcpBill:
    """The bill of one project, whose identity may read the table."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def month(self, first: dt.date, end: dt.date) -> Mapping[str, Money]:
        """By token of the launch, what was billed from the first day to the day before `end`."""
        return await asyncio.to_thread(self._month, first, end)

    def _month(self, first: dt.date, end: dt.date) -> Mapping[str, Money]:
        table = self._access.settings.get("billing_export")
        if not table:
            raise unsupported_error(
                "name the table of the billing export in the account's settings"
            )
        billed: dict[str, Money] = {}
        try:
            for token, currency, amount in self._rows(_query(table, first, end)):
                if token in billed:
                    raise unsupported_error(
                        f"{token} is billed in {billed[token].currency} and {currency}"
                    )
                billed[token] = Money(Decimal(amount), currency)
        except failures() as error:
            raise call_error(error) from None
        return billed

    def _rows(self, query: Mapping[str, Any]) -> Iterator[list[str]]:
        until = time.monotonic() + QUERY_S
        answer = self._ask("POST", "", json=query)
        while True:
            for row in answer.get("rows", ()):
                yield [str(field["v"]) for field in row["f"]]
            is_over, page = answer["jobComplete"], answer.get("pageToken")
            if is_over and not page:
                return
            if time.monotonic() > until:
                raise DriverError(Reason.TIMEOUT, "BigQuery does not end the query", retryable=True)
            job = answer["jobReference"]
            page_of = {"location": job.get("location"), "pageToken": page}
            asked = {"timeoutMs": ANSWER_S * 1000, **{k: v for k, v in page_of.items() if v}}
            answer = self._ask("GET", f"/{quote(job['jobId'])}", params=asked)

    def _ask(self, method: str, path: str, **given: Any) -> Mapping[str, Any]:
        from google.api_core.exceptions import from_http_response
        from google.auth.transport.requests import AuthorizedSession

        host = self._access.settings.get("endpoint_url") or HOST
        project = quote(str(self._access.settings.get("project", "")))
        credentials = credentials_of(self._access, SCOPES)
        with AuthorizedSession(credentials) as session:  # type: ignore[no-untyped-call]
            answer = session.request(  # type: ignore[no-untyped-call]
                method,
                f"{host}/bigquery/v2/projects/{project}/queries{path}",
                timeout=CALL_S,
                **given,
            )
        if answer.status_code != 200:
            raise from_http_response(answer)  # type: ignore[no-untyped-call]
        document: Mapping[str, Any] = answer.json()
        return document


BILL = GcpBill


def _query(table: str, first: dt.date, end: dt.date) -> dict[str, Any]:
    values = {"label": ("STRING", TOKEN), "first": ("DATE", first), "end": ("DATE", end)}
    return {
        # No parameter may name a table; what an account may name is checked when it is saved.
        "query": QUERY.format(table=table),
        # Legacy SQL is the API's default, and knows no named parameters.
        "useLegacySql": False,
        "timeoutMs": ANSWER_S * 1000,
        "parameterMode": "NAMED",
        "queryParameters": [
            {
                "name": name,
                "parameterType": {"type": kind},
                "parameterValue": {"value": str(value)},
            }
            for name, (kind, value) in values.items()
        ],
    }
