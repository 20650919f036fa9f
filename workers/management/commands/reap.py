"""End rented machines that should not run; for a timer, or by hand."""

import json
import logging
import signal
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from workers.rentals.reaper import Look, ReapReport, reap

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Compare what runs at every cloud account with what we know of, end what should not run, "
        "and see earlier ends verified. Needs PostgreSQL and the providers only, and may run "
        "beside any number of workers. Ends with an error when an account could not be looked at "
        "or something could not be ended."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be ended, and change nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        parser.add_argument(
            "--every",
            type=int,
            metavar="S",
            help="go on until SIGTERM, with S seconds between looks",
        )
        parser.add_argument(
            "--note", type=Path, metavar="FILE", help="touch it after each look, for a health check"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["every"] is None:
            self._look(options)
            return
        if options["every"] < 1:
            raise CommandError("--every needs a number of at least 1")
        stop = threading.Event()
        # A look that has begun comes to its end.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while not stop.is_set():
            try:
                self._look(options)
            except CommandError as error:
                log.error("%s", error)
            except Exception:
                # Also a database that is away: the next look finds it again.
                log.exception("a look failed, the next one is in %d s", options["every"])
                connection.close()
            stop.wait(options["every"])

    def _look(self, options: dict[str, Any]) -> None:
        report = reap(is_dry=options["dry_run"])
        # Only after a look that came to its end: the file's age shows a health check that looks
        # still happen.
        if options["note"]:
            options["note"].touch()
        if options["json"]:
            self.stdout.write(json.dumps(asdict(report), indent=2))
        elif options["every"] is None or any(look.ended or look.error for look in report.looks):
            self.stdout.write("\n".join(_lines(report)) or "no account to look at")
        if report.has_failed:
            raise CommandError("not everything could be looked at or ended")


def _lines(report: ReapReport) -> list[str]:
    return [line for look in report.looks for line in _account(look, is_dry=report.is_dry)]


def _account(look: Look, *, is_dry: bool) -> list[str]:
    ended = "would end" if is_dry else "ending"
    return [
        f"{look.account} ({look.provider}): "
        + ("passed over" if look.is_skipped else f"{look.machines} machines"),
        *([f"  {look.strangers} of another installation left alone"] if look.strangers else []),
        *(f"  {ended} {line}" for line in look.ended),
        *(f"  gone {line}" for line in look.verified),
        *(f"  closed {line}" for line in look.closed),
        *([f"  error: {look.error}"] if look.error else []),
    ]
