"""DigitalOcean: the pages of /v2/sizes."""

from collections.abc import Iterator

from backend.domain.parsing.prices import Result, answers
from backend.providers.digitalocean import prices
from backend.providers.http import Client, Validators, bearer
from backend.providers.source import Wanted
from backend.providers.spool import Spool

BASE = "https://api.digitalocean.com"
SIZES = "sizes"


class Sizes:
    def fetch(self, wanted: Wanted, spool: Spool) -> Validators:
        token = wanted.secret("token")
        with Client(
            wanted.endpoint or BASE,
            wanted.patience,
            headers=bearer(token),
            secret={"token": token},
        ) as client:
            address = "v2/sizes?per_page=200"
            while address:
                client.get(address, spool.page(SIZES))
                links = answers.inner(spool.last(SIZES), "links")
                address = answers.word(answers.inner(links, "pages"), "next")
        return Validators()

    def read(self, wanted: Wanted, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(SIZES))
