"""Shared parts of commands that read a person's table."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.accounts.services.workspaces import NotOwned
from backend.catalog.calc.tables.tables import MAX_BYTES, Options
from backend.catalog.selectors.tables import FORMATS, table_template
from backend.catalog.services.table_rows import TableReport
from backend.catalog.services.tables import table_import

STDIN = "-"
DEFAULTS = {
    "locale": "how numbers and days are written, such as de or en-US",
    "currency": "of lines that name none",
    "provider": "of lines that name none",
    "quoted_on": "day of quotes that state none",
}


class TableCommand(BaseCommand):
    """Reads FILE.csv with `service`; ends with an error when a line was refused."""

    service: ClassVar[Callable[..., TableReport]]
    kind: ClassVar[str] = ""
    """Kind of the table, where it is one of TABLES."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the table, CSV or XLSX; - reads standard input")
        for name, meaning in DEFAULTS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", default="", help=meaning)
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="HEADER=COLUMN",
            help="what a header means; HEADER=- leaves the column out; may be repeated",
        )
        parser.add_argument("--dry-run", action="store_true", help="say it all, store nothing")
        parser.add_argument("--json", action="store_true", help="print JSON")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = type(self).service(
                workspace=workspace_option(options),
                text=_bytes(options["file"]),
                options=Options(
                    defaults={name: options[name] for name in DEFAULTS},
                    columns=dict(_mapping_pair(option) for option in options["map"]),
                ),
                actor="command",
                **self.given(options),
                is_dry=options["dry_run"],
            )
        except NotOwned as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(report.as_document()))
        else:
            self._print(report)
        if report.refused:
            lines = len({remark.line for remark in report.refused})
            what = (
                f"{lines} of {report.rows} lines were refused"
                if report.rows
                else "the table is refused"
            )
            raise CommandError(f"{what}; the first: {report.refused[0]}")

    def given(self, options: dict[str, Any]) -> dict[str, Any]:
        """Further arguments of the service."""
        return {}

    def _print(self, report: TableReport) -> None:
        for remark in report.refused:
            self.stderr.write(f"refused: {remark}")
        for remark in report.warnings:
            self.stderr.write(f"warning: {remark}")
        for line in report.lines:
            why = f" ({line.why})" if line.why else ""
            self.stdout.write(f"line {line.line}: {line.offer} {line.price}, {line.state}{why}")
        if report.offers_unchanged:
            self.stdout.write(f"{report.offers_unchanged} offers are known as they are stated")
        kept = "would be stored" if report.is_dry else "stored"
        self.stdout.write(
            f"{report.rows} lines; {kept}: {report.offers_new} new offers, "
            f"{report.offers_changed} changed, {report.prices_new} prices "
            f"({report.prices_unchanged} known already, {report.prices_replaced} corrected, "
            f"{report.prices_waiting} waiting for a review)"
        )


class OwnTableCommand(TableCommand):
    """A command for prices that may be corrected, and providers that may be new."""

    service = staticmethod(table_import)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--replace", action="store_true", help="correct another price of the same day"
        )
        parser.add_argument(
            "--new-provider",
            action="append",
            default=[],
            metavar="NAME",
            help="a provider that is new although its name is like a known one's",
        )
        parser.add_argument(
            "--anew", action="store_true", help="not as the last table of the hoster was read"
        )
        parser.add_argument(
            "--template",
            action="store_true",
            help="write FILE.csv or FILE.xlsx to fill in, and end",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["template"]:
            super().handle(*args, **options)
            return
        path = Path(options["file"])
        if (suffix := path.suffix.removeprefix(".")) not in FORMATS:
            raise CommandError(f"--template writes {' or '.join(FORMATS)}, not {path.name}")
        try:
            path.write_bytes(table_template(self.kind, suffix))
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error

    def given(self, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "is_replacing": options["replace"],
            "known_providers": options["new_provider"],
            "is_recalling": not options["anew"],
        }


def _mapping_pair(pair: str) -> tuple[str, str]:
    # From the right: a header may hold the sign itself, a column's name does not.
    header, sign, column = pair.rpartition("=")
    if not sign:
        raise CommandError(f"--map {pair}: HEADER=COLUMN is needed")
    return header, column


def _bytes(name: str) -> bytes:
    try:
        # One byte beyond the limit shows that there is more, without reading all of it.
        if name == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
