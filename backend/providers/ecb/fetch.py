"""The European Central Bank's files of reference rates; without an account."""

import io
import zipfile
import zlib

from backend.domain.errors import InvalidValue
from backend.providers.ecb import rates
from backend.providers.http import MIB, Client, Validators
from backend.providers.source import Wanted
from backend.providers.spool import Spool

BASE = "https://www.ecb.europa.eu"
LAST_90_DAYS = "stats/eurofxref/eurofxref-hist-90d.xml"
SINCE_1999 = "stats/eurofxref/eurofxref-hist.zip"
RATES = "rates"
FILE_BYTES = 16 * MIB
ZIP_MAGIC = b"PK\x03\x04"


class Rates:
    """Rates of the last ninety days, or of all days since 1999."""

    def __init__(self, *, is_history: bool = False) -> None:
        self._address = SINCE_1999 if is_history else LAST_90_DAYS

    def fetch(self, wanted: Wanted, spool: Spool) -> Validators:
        """As backend.providers.source.Source.fetch."""
        with Client(wanted.endpoint or BASE, wanted.patience) as client:
            answer = client.get(
                self._address,
                spool.part(RATES),
                validators=wanted.validators,
                limit_bytes=FILE_BYTES,
            )
        return answer.validators

    def read(self, spool: Spool) -> list[rates.Result]:
        """What the answer says. Raises InvalidValue where it has not the form of one."""
        return rates.parse(rates_text(spool.content(RATES)))


def rates_text(content: bytes) -> str:
    """The text of a file of rates, which may be the one file in a zip archive.

    Raises InvalidValue for another archive, one that grows beyond the limit, and no UTF-8.
    """
    if content.startswith(ZIP_MAGIC):
        content = _unpacked(content)
    if len(content) > rates.LARGEST_TEXT:
        raise InvalidValue(RATES, f"longer than {rates.LARGEST_TEXT // MIB} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidValue(RATES, "not UTF-8") from error


def _unpacked(content: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if len(names) != 1:
                raise InvalidValue(RATES, f"an archive of {len(names)} files instead of one")
            # What its directory says of the size is not relied on.
            with archive.open(names[0]) as file:
                return file.read(rates.LARGEST_TEXT + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise InvalidValue(RATES, f"not an archive that can be read: {error}") from error
