"""DigitalOcean: the pages of /v2/sizes."""

from collections.abc import Iterator

from backend.domain.parsing.prices import Result, answers, digitalocean
from workers.prices.http import Client, Validators, bearer
from workers.prices.source import Wanted
from workers.prices.spool import Spool

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
        return digitalocean.parse(spool.pages(SIZES))
