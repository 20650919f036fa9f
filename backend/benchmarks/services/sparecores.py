"""Servers, prices and scores of Spare Cores' public database, stored as imported.

The data is not ours: each row says whose it is, under which licence, and where to look it up.
Bringing the same file in again changes nothing; a newer one appends. Each provider's catalog is
one transaction, and each batch of scores: what was cut short is made whole by the next run.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.sparecores_scores import Series, series
from backend.benchmarks.services.sparecores_file import Row, Score, SpareCoresFile
from backend.benchmarks.services.sparecores_scores import ScoreStaging, ServerOffer
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.calc.sparecores import (
    SITE,
    ListedPrice,
    ListedServer,
    is_ordered,
    moment,
    provider,
    quote,
    region_code,
    server,
    settle_quotes,
    text,
)
from backend.catalog.models import Offer
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.third_party_prices import Collection, Recorded, collection_record
from backend.foundation.attributions import SPARE_CORES
from backend.foundation.errors import InvalidValue
from backend.money.price_lists import NoPrice, ParsedType
from backend.money.price_lists.answers import shown

# What they publish in their repositories has this one; a file from elsewhere may have another.
LICENCE = "CC BY-SA 4.0"
FEED_KIND = "sparecores"
# Scores of one transaction: an import that is cut short loses no more than these.
BATCH = 100_000
# Both are columns of 80 characters, and the licence is stored with the name of whose data it is.
MOST_LICENCE, MOST_VERSION = 80 - len(f", {SPARE_CORES}"), 80
WriteLine = Callable[[str], None]


@dataclass
class SpareCoresReport:
    """The outcome of a file: counts by name, and what was left out by its reason."""

    counts: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    """table: reason → rows."""
    unknown_benchmarks: Counter[str] = field(default_factory=Counter)
    """Ids that no metric of ours stands for → scores."""


@dataclass
class _Server:
    """A server of theirs: its number among all, and its offers so far."""

    number: int
    page: str
    offers: list[Offer] = field(default_factory=list)


Servers = dict[tuple[str, str], _Server]


def sparecores_import(
    *,
    workspace: Workspace,
    path: Path,
    actor: str,
    licence: str = LICENCE,
    write_line: WriteLine = lambda line: None,
) -> SpareCoresReport:
    """Take over a file; `write_line` gets how far it is. Raises InvalidValue for one of another form."""
    if not 1 <= len(licence) <= MOST_LICENCE or not licence.isprintable():
        raise InvalidValue("licence", f"1 to {MOST_LICENCE} printable characters are needed")
    report = SpareCoresReport()
    with SpareCoresFile(path) as file:
        catalog = _Catalog(file, f"Spare Cores, {licence}, {SITE}", file.scored(), report)
        for vendor in file.rows("vendor"):
            catalog.take(vendor)
            write_line(f"{vendor['vendor_id']}: {_count_words(report.counts)}")
        prices_refresh()
        _scores(file, catalog.servers, licence, report, write_line)
    audit_record(
        actor=actor,
        action="sparecores_import",
        target=workspace,
        detail={"file": path.name, "licence": licence, "counts": dict(report.counts)},
    )
    return report


def _count_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


# --- servers and prices ---------------------------------------------------------------------------


@dataclass
class _Catalog:
    """The servers and prices of a file on their way into the catalog, vendor by vendor."""

    file: SpareCoresFile
    source: str
    scored: set[tuple[str, str]]
    report: SpareCoresReport
    servers: Servers = field(default_factory=dict)

    def take(self, vendor: Row) -> None:
        """Record everything of a vendor."""
        vendor_id = text(vendor, "vendor_id")
        regions = {text(row, "region_id"): row for row in self.file.rows("region", vendor_id)}
        types = self._types(self.file.rows("server", vendor_id))
        quotes = self._quotes(self.file.rows("server_price", vendor_id), types, regions)
        self.report.counts["prices"] += sum(map(len, quotes.values()))
        made = collection_record(
            collection=Collection(
                provider=provider(vendor_id),
                provider_name=text(vendor, "name"),
                kind=FEED_KIND,
                source=self.source,
                types=self._types_on_sale(vendor_id, types, quotes),
                quotes=quotes,
                names={
                    region_code(row): text(row, "display_name", "name") for row in regions.values()
                },
                countries={region_code(row): text(row, "country_id") for row in regions.values()},
            )
        )
        self.report.counts += made.counts
        self._note(vendor_id, types, made)

    def _types(self, rows: Iterable[Row]) -> dict[str, ListedServer]:
        """The servers that can be ordered, by their id."""
        servers = {}
        for row in rows:
            is_sold = is_ordered(row["status"])
            server_type = server(row) if is_sold else None
            if server_type is None:
                self.report.skipped[f"server: {'no name' if is_sold else 'inactive'}"] += 1
            else:
                servers[text(row, "server_id")] = server_type
        self.report.counts["servers"] += len(servers)
        return servers

    def _quotes(
        self, rows: Iterable[Row], types: Mapping[str, ListedServer], regions: Mapping[str, Row]
    ) -> dict[str, list[ListedPrice]]:
        """The prices in force, by the code of their region."""
        quotes: dict[str, list[ListedPrice]] = {}
        for row in rows:
            of, region = types.get(text(row, "server_id")), regions.get(text(row, "region_id"))
            why = ""
            if not is_ordered(row["status"]):
                why = "inactive"
            elif of is None:
                why = "server inactive or absent"
            elif region is None:
                why = "region absent"
            else:
                code = region_code(region)
                try:
                    quotes.setdefault(code, []).append(quote(row, of, code, self.source))
                except NoPrice as error:
                    why = str(error.reason)
            if why:
                self.report.skipped[f"server_price: {why}"] += 1
        return {code: settle_quotes(listed) for code, listed in quotes.items()}

    def _types_on_sale(
        self,
        vendor_id: str,
        types: Mapping[str, ListedServer],
        quotes: Mapping[str, list[ListedPrice]],
    ) -> dict[str, list[ParsedType]]:
        """Where each type is sold; what has scores and no price is sold somewhere ("")."""
        machines = {server_type.machine.name: server_type.machine for server_type in types.values()}
        names = {
            code: {listing.price.offer for listing in listed} for code, listed in quotes.items()
        }
        priced = set().union(*names.values())
        scored = {
            server_type.machine.name
            for key, server_type in types.items()
            if (vendor_id, key) in self.scored
        }
        if scored - priced:
            names[""] = scored - priced
        return {code: [machines[name] for name in sorted(listed)] for code, listed in names.items()}

    def _note(self, vendor_id: str, types: Mapping[str, ListedServer], made: Recorded) -> None:
        offers: dict[str, list[Offer]] = {}
        for (_, name), offer in made.offers.items():
            offers.setdefault(name, []).append(offer)
        for key, server_type in types.items():
            sold = offers.get(server_type.machine.name, [])
            self.servers[vendor_id, key] = _Server(len(self.servers), server_type.page, sold)


# --- scores ---------------------------------------------------------------------------------------


def _scores(
    file: SpareCoresFile,
    servers: Servers,
    licence: str,
    report: SpareCoresReport,
    write_line: WriteLine,
) -> None:
    total = file.score_count()
    staging = ScoreStaging(_server_offers(servers), licence)
    reader = _Reader(servers, report)
    rows = file.scores()
    try:
        while batch := list(islice(rows, BATCH)):
            scores = list(reader.read(batch))
            with transaction.atomic():
                # At once, so that no reader has to make ready what a whole file marks.
                report.counts["samples_new"] += staging.store(scores, reader.new_series())
                summaries_refresh()
            write_line(
                f"scores: {reader.seen} of {total}, {report.counts['samples_new']} new samples"
            )
    finally:
        staging.close()
    if others := total - reader.seen:
        report.skipped["benchmark_score: not of a server"] += others


def _server_offers(servers: Servers) -> Iterator[ServerOffer]:
    for server_type in servers.values():
        # The first offer stays the first, whatever a later file has.
        ordered = sorted(server_type.offers, key=lambda offer: (offer.created_at, offer.slug))
        for rank, offer in enumerate(ordered):
            yield ServerOffer(server_type.number, offer.pk, rank == 0, server_type.page)


# Of a file's rows many hundreds share one time and one version.
_moment = lru_cache(maxsize=4096)(moment)
_shown = lru_cache(maxsize=4096)(shown)


class _Reader:
    """Their scores as rows to be staged; counts what is left out."""

    def __init__(self, servers: Servers, report: SpareCoresReport) -> None:
        self.servers = servers
        self.report = report
        self.seen = 0
        self._known: dict[tuple[str, str], tuple[int, Series] | str] = {}
        """Number and series of a benchmark and configuration, or why there is none."""
        self._series: list[Series] = []
        self._reported_count = 0

    def new_series(self) -> list[Series]:
        """The series met since the last call, in the order of their numbers."""
        new = self._series[self._reported_count :]
        self._reported_count = len(self._series)
        return new

    def read(self, rows: Iterable[Score]) -> Iterator[tuple[Any, ...]]:
        """The rows as Stage.store takes them."""
        for row in rows:
            self.seen += 1
            staged = self._read(row)
            if isinstance(staged, str):
                self.report.skipped[f"benchmark_score: {staged}"] += 1
            else:
                self.report.counts["scores"] += 1
                yield staged

    def _read(self, row: Score) -> tuple[Any, ...] | str:
        vendor, key, benchmark, config, value, at, version, kernel, note, status = row
        if not is_ordered(status):
            return "inactive"
        of = self.servers.get((vendor, str(key)))
        if of is None:
            return "server inactive or absent"
        known = self._of(str(benchmark), config)
        if isinstance(known, str):
            if known == UNKNOWN:
                self.report.unknown_benchmarks[shown(benchmark)] += 1
            return known
        number, series = known
        if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            return "not above zero"
        measured_at = _moment(at)
        if measured_at is None:
            return "no time"
        version_text = _shown(version or series.version)[:MOST_VERSION]
        words = (_shown(kernel) if kernel else None, shown(note) if note else None)
        return of.number, number, value * series.factor, measured_at, version_text, *words

    def _of(self, benchmark: str, config: object) -> tuple[int, Series] | str:
        key = benchmark, str(config or "")
        if key not in self._known:
            self._known[key] = self._read_series(*key)
        return self._known[key]

    def _read_series(self, benchmark: str, config: str) -> tuple[int, Series] | str:
        try:
            met = series(benchmark, config)
        except InvalidValue as error:
            return f"configuration is {error.detail}"
        if met is None:
            return UNKNOWN
        self._series.append(met)
        return len(self._series) - 1, met


UNKNOWN = "unknown benchmark"
