"""Linode: the pages of /linode/types, and of /regions, since a type lists only regions that differ."""

from collections.abc import Iterator

from backend.money.price_lists import Result, answers
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Client, Validators
from backend.providers.linode import prices
from backend.providers.spool import Spool

BASE = "https://api.linode.com"
TYPES, REGIONS = "types", "regions"
PER_PAGE = "500"
# What a region that sells machines is capable of: some have object storage alone.
MACHINES = "Linodes"


class Types:
    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        with Client(request.endpoint or BASE, request.patience) as client:
            for path, kind in (("v4/linode/types", TYPES), ("v4/regions", REGIONS)):
                page, pages = 1, 1
                while page <= pages:
                    params = {"page": str(page), "page_size": PER_PAGE}
                    client.get(path, spool.page(kind), params=params)
                    count = answers.number(spool.last(kind).get("pages"))
                    page, pages = page + 1, int(count or 1)
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        regions = [request.region] if request.region else _regions(spool)
        return prices.parse(spool.pages(TYPES), regions=regions)


FETCHERS = {"on_demand": Types()}


def _regions(spool: Spool) -> list[str]:
    """Codes of the regions that sell machines."""
    regions: list[str] = []
    for number, page in enumerate(spool.pages(REGIONS)):
        where = f"regions, page {number + 1}"
        answer = answers.mapping(answers.document(page, where=where), where=where)
        regions.extend(
            answers.word(region, "id")
            for region in answers.objects(answer.get("data"), where=f"{where} data")
            if MACHINES in answers.words(region, "capabilities")
        )
    return regions
