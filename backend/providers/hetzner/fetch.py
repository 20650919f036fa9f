"""Hetzner Cloud: /pricing (currency, tax, addresses) and the pages of /server_types; dedicated servers:
the lists of Robot's web service and the public file of the server auction."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from backend.money.price_lists import Result, answers
from backend.providers.fetcher import FetchRequest
from backend.providers.hetzner import prices, robot
from backend.providers.http import Client, Validators
from backend.providers.spool import Spool

BASE = "https://api.hetzner.cloud"
ROBOT = "https://robot-ws.your-server.de"
AUCTION_PAGE = "https://www.hetzner.com"
AUCTION_FILE = "_resources/app/data/app/live_data_sb_EUR.json"
PRICING, TYPES = "pricing", "server_types"
PER_PAGE = "50"


class ServerTypes:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        with request.token_client(BASE) as client:
            client.get("v1/pricing", spool.page(PRICING))
            page: str | None = "1"
            while page:
                params = {"page": page, "per_page": PER_PAGE}
                client.get("v1/server_types", spool.page(TYPES), params=params)
                page = _next(spool.last(TYPES))
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(next(spool.pages(PRICING)), spool.pages(TYPES))


class Auction:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        with Client(request.endpoint or AUCTION_PAGE, request.patience) as client:
            page = spool.page("auction")
            return client.get(AUCTION_FILE, page, validators=request.validators).validators

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return robot.auction(spool.pages("auction"))


class Robot:
    """A list of Robot's web service, which is one answer."""

    def __init__(
        self, path: str, document: str, parse: Callable[[Iterable[str]], Iterator[Result]]
    ) -> None:
        self._path, self._document, self._parse = path, document, parse

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        with request.pair_client(ROBOT, "robot_user", "robot_password") as client:
            client.get(self._path, spool.page(self._document))
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return self._parse(spool.pages(self._document))


FETCHERS = {
    "on_demand": ServerTypes(),
    "auction": Auction(),
    "robot": Robot("order/server/product", "products", robot.products),
    "robot_market": Robot("order/server_market/product", "market", robot.market),
}


def _next(page: dict[str, Any]) -> str:
    """The number of the next page, "" at the end."""
    return answers.word(answers.inner(answers.inner(page, "meta"), "pagination"), "next_page")
