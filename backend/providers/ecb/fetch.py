"""The European Central Bank's files of reference rates; without an account."""

from backend.providers.ecb import rates
from backend.providers.fetcher import FetchRequest
from backend.providers.http import MIB, Client, Validators
from backend.providers.spool import Spool

BASE = "https://www.ecb.europa.eu"
LAST_90_DAYS = "stats/eurofxref/eurofxref-hist-90d.xml"
SINCE_1999 = "stats/eurofxref/eurofxref-hist.zip"
RATES = "rates"
FILE_BYTES = 16 * MIB


class Rates:
    """Rates of the last ninety days, or of all days since 1999."""

    def __init__(self, address: str) -> None:
        self._address = address

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        """As PriceFetcher.fetch."""
        with Client(request.endpoint or BASE, request.patience) as client:
            answer = client.get(
                self._address,
                spool.page(RATES),
                validators=request.validators,
                limit_bytes=FILE_BYTES,
            )
        return answer.validators

    def read(self, request: FetchRequest, spool: Spool) -> list[rates.Result]:
        """Content of the answer. Raises InvalidValue where it has not the form of one."""
        return rates.parse(rates.text_of(spool.content(RATES)))


FETCHERS = {"fx": Rates(LAST_90_DAYS), "fx_history": Rates(SINCE_1999)}
