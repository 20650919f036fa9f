"""Import price lists from files, or read them from their provider now."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from backend.benchmarks.services.twins import twins_refresh
from backend.catalog.selectors.published_prices import on_demand_prices
from backend.catalog.services.price_import import ImportReport, prices_record
from backend.core import clock
from backend.foundation.errors import DomainError
from backend.money.price_lists import ParsedPrice
from backend.money.price_lists.collected import Collected
from backend.providers.http import FetchError
from backend.providers.price_refresh import ProviderProgress
from backend.providers.registry import PROVIDERS
from backend.providers.spool import Spool
from workers.pricelists.fetching import fetch_now, refresh_now
from workers.pricelists.files import FileReading, PriceList, price_lists

# A file of gigabytes is read for minutes, in which nothing else is to be seen.
PROGRESS_EVERY_S = 5.0
MB = 1_000_000
ACTOR = "command"
COUNTS = (
    ("priced", "priced"),
    ("published", "new or changed"),
    ("unchanged", "unchanged"),
    ("announced", "announced for a later day"),
    ("quarantined", "waiting for a person"),
    ("refused", "refused before"),
    ("missing", "not listed any more"),
    ("returned", "listed again"),
    ("new_types", "new types"),
    ("unpriced", "types without a price"),
)


class Command(BaseCommand):
    help = (
        "Import the prices of a provider from FILEs as its interface answers them (what each is "
        "is seen by its content; .gz too), or with --live from the provider itself; --live without "
        "a provider refreshes every list that can be read. All files are taken over, or none. "
        "Importing them again changes nothing."
    )

    def create_parser(self, prog_name: str, subcommand: str, **given: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **given)
        # Else no FILE could stand behind an option.
        parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("provider", nargs="?", default="", choices=["", *_providers()])
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
        parser.add_argument("--live", action="store_true", help="ask the provider now")
        parser.add_argument("--region", default="", help="of a list that does not name its own")
        parser.add_argument(
            "--accept-missing",
            action="store_true",
            help="accept a list that lacks more than 5 %% of the known prices",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["files"]) == options["live"]:
            raise CommandError("give either FILEs or --live")
        if not options["provider"]:
            self._refresh(options)
            return
        try:
            reports = self._live(options) if options["live"] else self._files(options)
        except (DomainError, FetchError, OSError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            document = {name: asdict(report) for name, report in reports.items()}
            self.stdout.write(json.dumps(document, default=str))
        else:
            self.stdout.write("\n".join(_line(name, report) for name, report in reports.items()))
        for report in reports.values():
            if report.movements:
                self.stderr.write(
                    f"{' '.join(report.movements)} The prices wait for your decision on the page "
                    "Prices; until then the old ones stay in force and are marked."
                )
            if report.incomplete:
                self.stderr.write(
                    f"{', '.join(report.incomplete) or 'the list'}: more than one price in twenty is "
                    "missing, so nothing new counts; --accept-missing says that it is whole"
                )

    def _refresh(self, options: Mapping[str, Any]) -> None:
        """Every list that can be read; CommandError if none was."""
        seen = ""
        try:
            for progress in refresh_now(actor=ACTOR):
                if progress.sentence != seen:
                    seen = progress.sentence
                    self.stderr.write(seen)
        except DomainError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(asdict(progress)))
        else:
            self.stdout.write("\n".join(map(_provider_line, progress.providers)))
        if not progress.read:
            raise CommandError(progress.sentence)

    def _live(self, options: Mapping[str, Any]) -> dict[str, ImportReport]:
        return fetch_now(provider=options["provider"], region=options["region"])

    def _files(self, options: Mapping[str, Any]) -> dict[str, ImportReport]:
        """All lists of the files in one transaction; reports by the kind of list."""
        reports: dict[str, ImportReport] = {}
        progress = _Progress(self.stderr, options["files"])
        # Across lists: savings plans are joined on prices of the file before, and half an import is none.
        with transaction.atomic():
            for price_list in price_lists(options["provider"], options["files"], options["region"]):
                report = _record(price_list, options, progress)
                reports.setdefault(price_list.feed.kind, ImportReport()).add(report)
        return reports


def _providers() -> list[str]:
    """Slugs of those that have price lists."""
    feeds = {slug: record.feeds for slug, record in PROVIDERS.items() if record.sells_machines}
    return sorted(slug for slug in feeds if feeds[slug])


def _record(
    price_list: PriceList, options: Mapping[str, Any], progress: "_Progress"
) -> ImportReport:
    provider = options["provider"]

    def on_demand(region: str) -> Sequence[ParsedPrice]:
        return on_demand_prices(provider=provider, region=region)

    with Spool() as spool:
        reading = FileReading(spool, progress.note)
        observed_at = clock.now()
        listed = reading.results(price_list, options["region"], on_demand)
        results = Collected.of(listed, observed_at.date())
        payload = spool.payload()
    report = prices_record(
        provider=provider,
        feed_kind=price_list.feed.kind,
        region=price_list.region,
        results=results,
        observed_at=observed_at,
        payload=payload,
        is_shrinking_ok=options["accept_missing"] or price_list.feed.is_market,
    )
    if report.new_types:
        twins_refresh()
    return report


def _provider_line(progress: ProviderProgress) -> str:
    words = (progress.result, progress.cause, progress.remedy, progress.detail)
    return " ".join(filter(None, words))


class _Progress:
    """Says on the error output how far reading is, every few seconds."""

    def __init__(self, output: Any, paths: list[Path]) -> None:
        self._output = output
        self._files = len(set(paths))
        self._seen: dict[Path, int] = {}
        self._at = time.monotonic()

    def note(self, path: Path, size: int) -> None:
        self._seen[path] = self._seen.get(path, 0) + size
        if time.monotonic() - self._at >= PROGRESS_EVERY_S:
            self._at = time.monotonic()
            self._output.write(
                f"{path}: {self._seen[path] / MB:.0f} MB read "
                f"(file {len(self._seen)} of {self._files})"
            )


def _line(name: str, report: ImportReport) -> str:
    counts = [
        f"{getattr(report, field)} {word}" for field, word in COUNTS if getattr(report, field)
    ]
    skipped = sum(report.skipped.values())
    if skipped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items())
        counts.append(f"{skipped} other rows ({reasons})")
    return f"{', '.join(report.feeds) or name}: {', '.join(counts) or 'nothing'}"
