"""Price lists in files: what each file is by its provider's record, and its way into a spool."""

import gzip
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedPrice, Result
from backend.providers.base import ProviderRecord
from backend.providers.fetcher import FetchRequest
from backend.providers.http import Patience
from backend.providers.price_feeds import FeedKind
from backend.providers.registry import provider as provider_record
from backend.providers.spool import Spool
from workers.remote.registry import fetcher

# Enough for the first keys of every document; the files have gigabytes.
HEAD_BYTES = 1 << 16
PIECE_BYTES = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"
# What parsers call a document that they know no name of.
PAGE = re.compile(r"^(?:page [0-9]+|offer file|savings plan file|pricing)(?: |$)")

# The known on-demand prices of a region.
OnDemand = Callable[[str], Sequence[ParsedPrice]]


@dataclass(frozen=True)
class PriceFile:
    """A file and what it is; `region` is "" where the prices in it name their own."""

    path: Path
    feed: FeedKind
    name: str
    region: str


@dataclass(frozen=True)
class PriceList:
    """Documents that make up one list. `region` is as for price_import.prices_record."""

    provider: str
    feed: FeedKind
    region: str | None
    documents: Sequence[PriceFile]


def price_lists(provider: str, paths: Iterable[Path], region: str) -> list[PriceList]:
    """The lists in the files, those that others are joined on first.

    `region` is for lists that name none. Raises InvalidValue, naming the file, and OSError.
    """
    record = provider_record(provider)
    documents = [_recognise(record, path, region) for path in paths]
    lists: list[PriceList] = []
    for feed in record.feeds:
        own = [document for document in documents if document.feed is feed]
        for code in sorted({document.region for document in own}):
            group = [document for document in own if document.region == code]
            _check_complete(provider, feed, group)
            parts = [[line] for line in group] if feed.is_one_document else [group]
            list_region = (code or None) if feed.is_regional else ""
            # The parser of such a list reads one document only.
            lists += [PriceList(provider, feed, list_region, part) for part in parts]
    return lists


def _recognise(record: ProviderRecord, path: Path, region: str) -> PriceFile:
    """Kind of the file, judged by its beginning. Raises InvalidValue, naming it, and OSError."""
    with _open(path) as file:
        head = file.read(HEAD_BYTES).decode(errors="replace")
    for feed in record.feeds:
        for name, pattern in feed.documents.items():
            if pattern.search(head):
                return PriceFile(path, feed, name, _region(feed, path, head, region))
    known = ", ".join(name for feed in record.feeds for name in feed.documents)
    raise InvalidValue(str(path), f"is no price document of {record.slug} (known are {known})")


def _region(feed: FeedKind, path: Path, head: str, region: str) -> str:
    if feed.region is None:
        return ""
    match = feed.region.search(head)
    code = region or (match[1] if match else "")
    if not code:
        raise InvalidValue(str(path), "names no region: give it with --region")
    return code


def _check_complete(provider: str, feed: FeedKind, documents: Sequence[PriceFile]) -> None:
    missing = feed.documents.keys() - {document.name for document in documents}
    if missing:
        raise InvalidValue(provider, f"a file is missing: {', '.join(sorted(missing))}")


class FileReading:
    """Files on their way through a spool to their parser. `on_read` is called for each piece that
    is read, with its file and the size in bytes."""

    def __init__(self, spool: Spool, on_read: Callable[[Path, int], None]) -> None:
        self._spool, self._on_read = spool, on_read
        self._paths: dict[str, Path] = {}
        self._current = Path()
        self._part = ""
        spool.on_read = self._note

    def results(self, price_list: PriceList, region: str, on_demand: OnDemand) -> Iterator[Result]:
        """Content of a list's documents, read as it goes. Raises InvalidValue, naming the file."""
        source = fetcher(price_list.provider, price_list.feed.kind)
        code = price_list.region or region
        known = on_demand(code) if price_list.feed.needs_on_demand else ()
        if price_list.feed.needs_on_demand and not known:
            detail = f"no on-demand prices of {code} are known to join on"
            raise InvalidValue(str(price_list.documents[0].path), detail)
        request = FetchRequest(Patience(0), region=code, on_demand=known)
        with self._name_errors():
            for document in price_list.documents:
                self._copy(document)
            yield from source.read(request, self._spool)

    def _copy(self, document: PriceFile) -> None:
        """Copy the file, unpacked, to the spool."""
        self._current = document.path
        with _open(document.path) as file:
            part = self._spool.page(document.name)
            shutil.copyfileobj(file, part, PIECE_BYTES)
        self._paths[self._spool.move_to_disk(document.name)] = document.path

    def _note(self, part: str, size_bytes: int) -> None:
        self._part, self._current = part, self._paths[part]
        self._on_read(self._current, size_bytes)

    @contextmanager
    def _name_errors(self) -> Iterator[None]:
        """Errors within name the file instead of the page."""
        try:
            yield
        except InvalidValue as error:
            location = PAGE.sub("", error.field)
            is_file = location in {"", str(self._current), self._part}
            detail = error.detail if is_file else f"{location}: {error.detail}"
            raise InvalidValue(str(self._current), detail) from error


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """The file, unpacked where it is packed. Raises InvalidValue where that cannot be."""
    with path.open("rb") as file:
        # By content: downloads lose their suffix, and some are named .json although they are packed.
        is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(0)
        try:
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_packed else file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InvalidValue(str(path), f"is damaged: {error}") from error
