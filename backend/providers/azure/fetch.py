"""Azure Retail Prices: the pages of one region's virtual machines, without an account."""

from collections.abc import Iterator

from backend.domain.parsing.prices import Result, answers
from backend.providers.azure import prices
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Client, Validators
from backend.providers.spool import Spool

BASE = "https://prices.azure.com"
API_VERSION = "2023-01-01-preview"
"""The first with savings plans."""
CURRENCY = "'USD'"
"""Any other would be at Microsoft's own rate of exchange."""
ITEMS = "items"
REMAINING = "x-ms-ratelimit-remaining-retailprices-requests"
PAUSE_S = 65.0
"""The limit is one of requests in a minute."""


class RetailPrices:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        chosen = f"serviceName eq 'Virtual Machines' and armRegionName eq '{request.region}'"
        params: dict[str, str] | None = {
            "api-version": API_VERSION,
            "currencyCode": CURRENCY,
            "$filter": chosen,
        }
        address = "api/retail/prices"
        with Client(request.endpoint or BASE, request.patience, least_wait_s=PAUSE_S) as client:
            while address:
                answer = client.get(address, spool.page(ITEMS), params=params)
                address, params = answers.word(spool.last(ITEMS), "NextPageLink"), None
                if address and answer.headers.get(REMAINING, "").strip() == "0":
                    request.patience.wait(PAUSE_S)
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(ITEMS))


FETCHERS = {"on_demand": RetailPrices()}
