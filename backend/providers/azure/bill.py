"""Azure's bill for our machines in a month, from Cost Management.

Each launch has a resource group of its own, so the group is the machine. Figures are up to a day late
(learn.microsoft.com/azure/cost-management-billing/costs/understand-cost-mgmt-data); the request is
learn.microsoft.com/rest/api/cost-management/query/usage.
"""

import asyncio
import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from backend.foundation.errors import DriverError, Reason
from backend.money.money import Money
from backend.providers.azure.documents import GROUP, PREFIX
from backend.providers.azure.library import Clients, translate_error
from backend.providers.azure.refusals import error_of_answer
from backend.providers.machines import Access

VERSION = "2023-11-01"
COST, GROUP_NAME, CURRENCY = "Cost", "ResourceGroupName", "Currency"


class AzureBill:
    """The bill of one subscription."""

    def __init__(self, access: Access) -> None:
        self._clients = Clients(access)

    async def month(self, first: dt.date, end: dt.date) -> Mapping[str, Money]:
        """By token of the launch, what was billed from the first day to the day before `end`."""
        return await asyncio.to_thread(self._month, first, end)

    def _month(self, first: dt.date, end: dt.date) -> Mapping[str, Money]:
        from azure.core.exceptions import AzureError

        try:
            return self._read(_query(first, end))
        except AzureError as error:
            raise translate_error(error) from None

    def _read(self, query: dict[str, Any]) -> dict[str, Money]:
        from azure.core.rest import HttpRequest

        scope = f"/subscriptions/{self._clients.id}/providers/Microsoft.CostManagement/query"
        address: str | None = f"{scope}?api-version={VERSION}"
        billed: dict[str, Money] = {}
        while address:
            request = HttpRequest("POST", address, json=query)
            response = self._clients.groups.send_request(request)
            # From text, as floats would lose digits of amounts.
            document = json.loads(response.text() or "{}", parse_float=Decimal)
            if response.status_code >= 400:
                raise error_of_answer(document, response.status_code)
            _collect(document["properties"], billed)
            address = document["properties"].get("nextLink")
        return billed


BILL = AzureBill


def _query(first: dt.date, end: dt.date) -> dict[str, Any]:
    # Azure counts the last moment in, where `end` is the first day that is not asked for.
    last = end - dt.timedelta(days=1)
    return {
        "type": "ActualCost",
        "timeframe": "Custom",
        "timePeriod": {"from": f"{first}T00:00:00Z", "to": f"{last}T23:59:59Z"},
        "dataset": {
            "granularity": "None",
            "aggregation": {"totalCost": {"name": COST, "function": "Sum"}},
            "grouping": [{"type": "Dimension", "name": GROUP_NAME}],
        },
    }


def _collect(answer: Mapping[str, Any], billed: dict[str, Money]) -> None:
    names = [column["name"] for column in answer["columns"]]
    for values in answer["rows"]:
        row = dict(zip(names, values, strict=True))
        # Cost Management writes names of groups in small letters.
        name = str(row[GROUP_NAME])
        if not GROUP.fullmatch(name):
            continue
        token, money = name.removeprefix(PREFIX), Money(Decimal(row[COST]), str(row[CURRENCY]))
        known = billed.get(token)
        if known is not None and known.currency != money.currency:
            detail = f"{name} is billed in {known.currency} and {money.currency}"
            raise DriverError(Reason.UNSUPPORTED, detail, retryable=False)
        amount = money.amount + (known.amount if known else 0)
        billed[token] = Money(amount, money.currency)
