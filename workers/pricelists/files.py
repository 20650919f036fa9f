"""Price lists in files: which document of a provider each file is, and what they say together."""

import gzip
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from backend.domain.errors import InvalidValue
from backend.domain.parsing.prices import ParsedPrice, Result
from backend.providers.aws import offer_file as aws_bulk
from backend.providers.aws import prices as aws
from backend.providers.aws import savings as aws_savings
from backend.providers.aws import spot as aws_spot
from backend.providers.azure import prices as azure
from backend.providers.digitalocean import prices as digitalocean
from backend.providers.gcp import prices as gcp
from backend.providers.hetzner import prices as hetzner
from backend.providers.linode import prices as linode
from backend.providers.spool import Spool

HEAD_BYTES = 1 << 16
PIECE_BYTES = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"
FORMS: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "aws": {
        "products": re.compile(r'"PriceList"\s*:\s*\['),
        "spot": re.compile(r'"SpotPriceHistory"\s*:\s*\['),
        "savings": re.compile(r'"products"\s*:\s*\['),
        "offers_json": re.compile(r'"products"\s*:\s*\{'),
        "offers_csv": re.compile(r'\A\s*"?(?:FormatVersion|SKU)"?,'),
    },
    "gcp": {
        "skus": re.compile(r'"skus"\s*:\s*\['),
        "machine_types": re.compile(r'"items"\s*:\s*\{'),
    },
    "azure": {"items": re.compile(r'"Items"\s*:\s*\[|\A\s*\[')},
    "hetzner": {
        # The answer with the prices of addresses tells server types, too.
        "pricing": re.compile(r'"pricing"\s*:\s*\{'),
        "server_types": re.compile(r'"server_types"\s*:\s*\['),
    },
    "digitalocean": {"sizes": re.compile(r'"sizes"\s*:\s*\[')},
    "linode": {"types": re.compile(r'"data"\s*:\s*\[')},
}
"""What tells each document, by provider; the first that is found near the beginning counts."""
REGION_OF: Mapping[str, re.Pattern[str]] = {
    "spot": re.compile(r'"AvailabilityZone"\s*:\s*"([a-z]{2}(?:-[a-z]+)+-[0-9]+)'),
    "savings": re.compile(r'"regionCode"\s*:\s*"([a-z0-9-]+)"'),
}
"""Where lists of one region that name it once, or only within names of zones, do so."""
PAGE = re.compile(r"^(?:page [0-9]+|offer file|savings plan file|pricing)(?: |$)")
"""What parsers call a document that they know no name of."""


@dataclass(frozen=True)
class Document:
    """One file and what it is; `region` is "" unless the list needs to be told."""

    path: Path
    form: str
    region: str


@dataclass(frozen=True)
class PriceList:
    """Documents that make up one list. `region` is as for price_import.prices_record."""

    kind: str
    region: str | None
    documents: Sequence[Document]


Told = Callable[[Path, int], None]
"""Hears of each piece that is read: of which file, and how many bytes it has."""
BySku = Callable[[str], Mapping[str, ParsedPrice]]
"""On-demand prices of a region by SKU."""


def lists(provider: str, paths: Sequence[Path], region: str) -> list[PriceList]:
    """The lists in the files, those that others are joined on first.

    `region` is for lists that name none. Raises InvalidValue, naming the file, and OSError.
    """
    documents = [document(provider, path, region) for path in paths]
    if provider != "aws":
        _check_whole(provider, documents)
        place = None if provider == "azure" else ""
        return [PriceList("on_demand", place, documents)]
    found = [PriceList("on_demand", None, [one]) for one in documents if "offers" in one.form]
    for form in ("products", "savings", "spot"):
        for place in sorted({one.region for one in documents if one.form == form}):
            same = [one for one in documents if (one.form, one.region) == (form, place)]
            whole = [same] if form != "savings" else [[one] for one in same]
            found += [PriceList(form, place or None, each) for each in whole]
    return found


def document(provider: str, path: Path, region: str) -> Document:
    """What the file is, judged by its beginning. Raises InvalidValue, naming it, and OSError."""
    with _opened(path) as file:
        head = file.read(HEAD_BYTES).decode(errors="replace")
    for form, pattern in FORMS[provider].items():
        if pattern.search(head):
            told = REGION_OF[form].search(head) if form in REGION_OF else None
            place = region or (told[1] if told else "")
            if form in REGION_OF and not place:
                raise InvalidValue(str(path), "names no region: give it with --region")
            return Document(path, form, place if form in REGION_OF else "")
    known = ", ".join(FORMS[provider])
    raise InvalidValue(str(path), f"is no price document of {provider} (known are {known})")


def _check_whole(provider: str, documents: Sequence[Document]) -> None:
    missing = FORMS[provider].keys() - {one.form for one in documents}
    if missing:
        raise InvalidValue(provider, f"a file is missing: {', '.join(sorted(missing))}")


@dataclass
class Reading:
    """Files on their way through a spool to a parser; `current` is the one being read."""

    spool: Spool
    told: Told
    current: Path = Path()
    names: dict[Path, str] = field(default_factory=dict)

    def take(self, one: Document) -> None:
        """Copy the file, unpacked, to the spool."""
        self.current = one.path
        name = self.names[one.path] = f"{len(self.names) + 1:05}-{one.path.name}"
        part = self.spool.part(name)
        with _opened(one.path) as file:
            shutil.copyfileobj(file, part, PIECE_BYTES)
        # Many small files are as much as a large one, and belong on the disk as it does.
        cast("SpooledTemporaryFile[bytes]", part).rollover()

    def pieces(self, path: Path) -> Iterator[str]:
        """The text of a file in pieces."""
        self.current = path
        for piece in self.spool.pieces(self.names[path]):
            self.told(path, len(piece))
            yield piece

    def texts(self, documents: Sequence[Document], form: str) -> Iterator[str]:
        """The whole texts of the files of this form, one at a time."""
        for one in documents:
            if one.form == form:
                yield "".join(self.pieces(one.path))

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors within name the file instead of the page."""
        try:
            yield
        except InvalidValue as error:
            place = PAGE.sub("", error.field)
            is_file = place in {"", str(self.current), self.names.get(self.current)}
            said = error.detail if is_file else f"{place}: {error.detail}"
            raise InvalidValue(str(self.current), said) from error


def results(
    provider: str, found: PriceList, reading: Reading, region: str, by_sku: BySku
) -> Iterator[Result]:
    """What the documents of a list say, read as it goes. Raises InvalidValue, naming the file."""
    with reading.named():
        for one in found.documents:
            reading.take(one)
        yield from _parsed(provider, found, reading, region, by_sku)


def _parsed(
    provider: str, found: PriceList, reading: Reading, region: str, by_sku: BySku
) -> Iterator[Result]:
    documents = found.documents
    first = documents[0]

    def texts(form: str) -> Iterator[str]:
        return reading.texts(documents, form)

    match provider:
        case "aws":
            return _aws(first, reading, texts("products"), texts("spot"), by_sku)
        case "gcp":
            return gcp.parse(texts("skus"), gcp.shapes(texts("machine_types")))
        case "hetzner":
            return hetzner.parse(next(texts("pricing")), texts("server_types"))
        case "azure":
            return azure.parse(texts("items"))
        case "digitalocean":
            return digitalocean.parse(texts("sizes"))
        case _:
            return linode.parse(texts("types"), regions=[region] if region else [])


def _aws(
    first: Document,
    reading: Reading,
    products: Iterator[str],
    spot: Iterator[str],
    by_sku: BySku,
) -> Iterator[Result]:
    match first.form:
        case "products":
            return aws.parse(products)
        case "spot":
            return aws_spot.parse(spot, region=first.region)
        case "savings":
            joined = by_sku(first.region)
            if not joined:
                said = f"no on-demand prices of {first.region} are known to join on"
                raise InvalidValue(str(first.path), said)
            return aws_savings.parse(reading.pieces(first.path), joined)
        case "offers_csv":
            return aws_bulk.from_csv(_lines(reading.pieces(first.path)))
        case _:
            return aws_bulk.from_json(reading.pieces(first.path))


def _lines(pieces: Iterator[str]) -> Iterator[str]:
    """Lines with their ends, as the csv module reads them."""
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield f"{line}\n"
    if rest:
        yield rest


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, unpacked where it is packed. Raises InvalidValue where that cannot be."""
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(0)
        try:
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_packed else file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InvalidValue(str(path), f"is damaged: {error}") from error
