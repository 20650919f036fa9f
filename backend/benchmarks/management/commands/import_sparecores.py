"""`manage.py import_sparecores FILE.db`: the public Spare Cores database, as imported results."""

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.services.sparecores import LICENCE, sparecores_import
from backend.foundation.errors import DomainError


class Command(BaseCommand):
    help = "Import servers, prices and scores of a Spare Cores SQLite file, marked imported."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--licence",
            default=LICENCE,
            help=f"under which the file was given; stated with every row (default {LICENCE})",
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        began = time.monotonic()

        def write_line(line: str) -> None:
            # Not on standard output, which is one document with --json.
            self.stderr.write(f"{time.monotonic() - began:7.1f} s  {line}")

        try:
            report = sparecores_import(
                workspace=default_workspace(),
                path=options["file"],
                actor="command",
                licence=options["licence"],
                write_line=write_line,
            )
        except DomainError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(vars(report)))
            return
        for name, count in report.counts.items():
            self.stdout.write(f"{name}: {count}")
        for kind, left in (("left out", report.skipped), ("unknown", report.unknown_benchmarks)):
            for reason, count in sorted(left.items()):
                self.stdout.write(f"{kind}: {count} × {reason}")
