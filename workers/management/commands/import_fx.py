"""Exchange rates of the European Central Bank."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.catalog.services.rates import RatesReport, rates_record
from backend.foundation.errors import InvalidValue
from backend.providers.ecb import rates as ecb
from backend.providers.http import FetchError
from workers.pricelists.fetching import rates_now

LARGEST_FILE = 64 * 2**20


class Command(BaseCommand):
    help = (
        "Record the European Central Bank's reference rates: from a file (XML, CSV, or the zip "
        "archive of one; - reads standard input), or without one from the ECB itself. Recording "
        "them again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", help="rates as the ECB publishes them")
        parser.add_argument(
            "--history",
            action="store_true",
            help="without a file: all days since 1999, instead of the last ninety",
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = _record(options["file"], is_history=options["history"])
        except (InvalidValue, FetchError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(_report_text(report, is_json=options["json"]))


def _record(file: str | None, *, is_history: bool) -> RatesReport:
    if file is None:
        return rates_now(is_history=is_history)
    if is_history:
        raise InvalidValue("--history", "is for reading from the ECB, not from a file")
    return rates_record(rates=ecb.parse(ecb.text_of(_content(file))))


def _content(file: str) -> bytes:
    if file == "-":
        # One more than allowed, to see that there is more without reading it.
        content = sys.stdin.buffer.read(LARGEST_FILE + 1)
    else:
        with Path(file).open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InvalidValue(file, f"longer than {LARGEST_FILE // 2**20} MiB")
    return content


def _report_text(report: RatesReport, *, is_json: bool) -> str:
    if is_json:
        return json.dumps(asdict(report), default=str)
    days = f", {report.first_day} to {report.last_day}" if report.last_day else ""
    skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(report.skipped.items()))
    counts = f"{report.new} new, {report.changed} changed, {report.unchanged} unchanged"
    return f"{counts}{days}" + (f"; left out: {skipped}" if skipped else "")
