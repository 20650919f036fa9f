"""Vultr: the pages of /v2/plans and /v2/plans-metal, which anybody may read."""

from collections.abc import Iterator

from backend.money.price_lists import Result, answers
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Client, Validators
from backend.providers.spool import Spool
from backend.providers.vultr import prices

BASE = "https://api.vultr.com"
PATHS = {"plans": "v2/plans", "metal": "v2/plans-metal"}
PER_PAGE = "500"


class Plans:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        with Client(request.endpoint or BASE, request.patience) as client:
            for document, path in PATHS.items():
                params = {"per_page": PER_PAGE}
                while True:
                    client.get(path, spool.page(document), params=params)
                    meta = answers.inner(spool.last(document), "meta")
                    cursor = answers.word(answers.inner(meta, "links"), "next")
                    if not cursor:
                        break
                    params["cursor"] = cursor
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages("plans"), spool.pages("metal"))


FETCHERS = {"on_demand": Plans()}
