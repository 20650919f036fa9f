"""DigitalOcean: the pages of /v2/sizes."""

from collections.abc import Iterator

from backend.money.price_lists import Result, answers
from backend.providers.digitalocean import prices
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Validators
from backend.providers.spool import Spool

BASE = "https://api.digitalocean.com"
SIZES = "sizes"


class Sizes:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        with request.token_client(BASE) as client:
            # The most that a page may have.
            address = "v2/sizes?per_page=200"
            while address:
                client.get(address, spool.page(SIZES))
                links = answers.inner(spool.last(SIZES), "links")
                address = answers.word(answers.inner(links, "pages"), "next")
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(SIZES))


FETCHERS = {"on_demand": Sizes()}
