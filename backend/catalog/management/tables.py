"""What the commands share that read a table of a person's."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.services.workspaces import default_workspace
from backend.catalog.services.quotes import TableReport
from backend.domain.parsing.tables import MAX_BYTES

STDIN = "-"


class TableCommand(BaseCommand):
    """Reads FILE.csv with `service`; ends with an error when a line was refused."""

    service: ClassVar[Callable[..., TableReport]]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the table in CSV, UTF-8; - reads standard input")
        parser.add_argument("--dry-run", action="store_true", help="say it all, store nothing")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        report = type(self).service(
            workspace=default_workspace(),
            text=_bytes(options["file"]),
            actor="command",
            is_dry=options["dry_run"],
        )
        if options["json"]:
            self.stdout.write(json.dumps(report.as_document()))
        else:
            self._print(report)
        if report.refused:
            first = f"; the first: {report.refused[0]}"
            raise CommandError(f"{len(report.refused)} of {report.rows} lines were refused{first}")

    def _print(self, report: TableReport) -> None:
        for remark in report.refused:
            self.stderr.write(f"refused: {remark}")
        for remark in report.warnings:
            self.stderr.write(f"warning: {remark}")
        kept = "would be stored" if report.is_dry else "stored"
        self.stdout.write(
            f"{report.rows} lines; {kept}: {report.offers_new} new offers, "
            f"{report.offers_changed} changed, {report.prices_new} prices "
            f"({report.prices_unchanged} known already)"
        )


def _bytes(name: str) -> bytes:
    try:
        if name == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
