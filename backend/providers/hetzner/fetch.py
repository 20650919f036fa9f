"""Hetzner Cloud: /pricing (currency, tax, addresses) and the pages of /server_types."""

from collections.abc import Iterator
from typing import Any

from backend.domain.parsing.prices import Result, answers
from backend.providers.fetcher import FetchRequest
from backend.providers.hetzner import prices
from backend.providers.http import Validators
from backend.providers.spool import Spool

BASE = "https://api.hetzner.cloud"
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


FETCHERS = {"on_demand": ServerTypes()}


def _next(page: dict[str, Any]) -> str:
    """The number of the next page, "" at the end."""
    return answers.word(answers.inner(answers.inner(page, "meta"), "pagination"), "next_page")
