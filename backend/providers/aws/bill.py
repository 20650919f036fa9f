"""AWS's bill for our machines in a month, from Cost Explorer.

It knows a tag only after an administrator has activated it for the allocation of costs (Billing, Cost
allocation tags: `rackrate-token`), and its figures are up to a day late. Each request costs 0.01 USD
(docs.aws.amazon.com/cost-management/latest/userguide/ce-api.html).
"""

import asyncio
import datetime as dt
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from backend.foundation.errors import DriverError, Reason
from backend.money.money import Money
from backend.providers.aws import api
from backend.providers.aws.request import TOKEN
from backend.providers.machines import Access

# Where Cost Explorer stands, whatever regions an account has.
REGION = "us-east-1"


class AwsBill:
    """The bill of one account."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def month(self, first: dt.date, end: dt.date) -> Mapping[str, Money]:
        """By token of the launch, what was billed from the first day to the day before `end`."""
        return await asyncio.to_thread(self._month, first, end)

    def _month(self, first: dt.date, end: dt.date) -> Mapping[str, Money]:
        try:
            costs = api.login(self._access).costs(REGION)
            return self._read(costs, first, end)
        except api.ERRORS as error:
            raise api.failure(error, self._access) from None

    def _read(self, costs: Any, first: dt.date, end: dt.date) -> dict[str, Money]:
        amounts: dict[str, Decimal] = defaultdict(Decimal)
        currencies: set[str] = set()
        page: dict[str, str] = {}
        while True:
            answer = costs.get_cost_and_usage(
                # Cost Explorer leaves the day of the end out, as it is meant here.
                TimePeriod={"Start": first.isoformat(), "End": end.isoformat()},
                Granularity="MONTHLY",
                Metrics=["UnblendedCost"],
                # Credits and refunds say nothing of what the machines used.
                Filter={"Dimensions": {"Key": "RECORD_TYPE", "Values": ["Usage"]}},
                GroupBy=[{"Type": "TAG", "Key": TOKEN}],
                **page,
            )
            for group in (
                members for span in answer["ResultsByTime"] for members in span["Groups"]
            ):
                # The key of a group is the tag's name and its value, with $ between them.
                token = group["Keys"][0].partition("$")[2]
                cost = group["Metrics"]["UnblendedCost"]
                # Without a token it is of no machine of ours.
                if token:
                    amounts[token] += Decimal(cost["Amount"])
                    currencies.add(cost["Unit"])
            if not (following := answer.get("NextPageToken")):
                break
            page = {"NextPageToken": following}
        if len(currencies) > 1:
            detail = f"a bill in several currencies: {', '.join(sorted(currencies))}"
            raise DriverError(Reason.UNSUPPORTED, detail, retryable=False)
        return {token: Money(amount, *currencies) for token, amount in amounts.items()}


BILL = AwsBill
