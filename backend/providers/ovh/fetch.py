"""OVHcloud: the public order catalogues of one subsidiary, which has prices in euros."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from backend.money.price_lists import Result
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Client, Validators
from backend.providers.ovh import prices
from backend.providers.spool import Spool

BASE = "https://eu.api.ovh.com"
SUBSIDIARY = {"ovhSubsidiary": "IE"}


class Catalogues:
    """Some of them, as one list."""

    def __init__(
        self,
        document: str,
        names: Sequence[str],
        parse: Callable[[Iterable[str]], Iterator[Result]],
    ) -> None:
        self._document, self._names, self._parse = document, names, parse

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        with Client(request.endpoint or BASE, request.patience) as client:
            for name in self._names:
                page = spool.page(self._document)
                client.get(f"1.0/order/catalog/public/{name}", page, params=SUBSIDIARY)
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return self._parse(spool.pages(self._document))


FETCHERS = {
    "on_demand": Catalogues("cloud", ["cloud"], prices.instances),
    "dedicated": Catalogues("servers", ["eco", "baremetalServers"], prices.servers),
}
