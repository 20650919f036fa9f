"""UpCloud: prices and plans, and the account, in whose currency the prices are."""

from collections.abc import Iterator
from urllib.parse import quote

from backend.money.price_lists import Result
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Validators
from backend.providers.spool import Spool
from backend.providers.upcloud import prices

BASE = "https://api.upcloud.com"


class Prices:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        user = quote(request.secret("username"), safe="")
        with request.pair_client(BASE, "username", "password") as client:
            client.get("1.3/price", spool.page("prices"))
            client.get("1.3/plan", spool.page("plans"))
            client.get(f"1.3/account/details/{user}", spool.page("account"))
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(*(next(spool.pages(name)) for name in ("prices", "plans", "account")))


FETCHERS = {"on_demand": Prices()}
