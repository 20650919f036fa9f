"""Scaleway: the pages of a zone's products, which anybody may read."""

from collections.abc import Iterator

from backend.money.price_lists import Result, answers
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Client, Validators
from backend.providers.scaleway import prices
from backend.providers.spool import Spool

BASE = "https://api.scaleway.com"
SERVERS = "servers"
PER_PAGE = 100


class InstanceTypes:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        path = f"instance/v1/zones/{request.region}/products/servers"
        with Client(request.endpoint or BASE, request.patience) as client:
            page, is_last = 1, False
            while not is_last:
                params = {"page": str(page), "per_page": str(PER_PAGE)}
                client.get(path, spool.page(SERVERS), params=params)
                rows = answers.inner(spool.last(SERVERS), "servers")
                page, is_last = page + 1, len(rows) < PER_PAGE
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(SERVERS), zone=request.region)


FETCHERS = {"on_demand": InstanceTypes()}
