"""Azure Retail Prices: the pages of one region's virtual machines, without an account."""

from collections.abc import Iterator

from backend.money.price_lists import Result, answers
from backend.providers.azure import prices
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Client, Validators
from backend.providers.spool import Spool

BASE = "https://prices.azure.com"
# The first with savings plans.
API_VERSION = "2023-01-01-preview"
# Any other would be at Microsoft's own rate of exchange.
CURRENCY = "'USD'"
ITEMS = "items"
REMAINING = "x-ms-ratelimit-remaining-retailprices-requests"
# The limit is one of requests in a minute, so a shorter pause would meet it again.
PAUSE_S = 65.0


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
                # The link to the next page repeats the whole query.
                address, params = answers.word(spool.last(ITEMS), "NextPageLink"), None
                # Waiting before the refusal costs the same minute, and none of the attempts.
                if address and answer.headers.get(REMAINING, "").strip() == "0":
                    request.patience.wait(PAUSE_S)
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(ITEMS))


FETCHERS = {"on_demand": RetailPrices()}
