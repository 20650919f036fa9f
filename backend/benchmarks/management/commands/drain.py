"""`manage.py drain`: before an upgrade, or before a machine is taken away."""

import time
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.benchmarks.services.drains import active_runs, drain_begin, drain_end
from backend.foundation.errors import InvalidValue

LOOK_S = 1.0


class Command(BaseCommand):
    help = (
        "Let no run begin any more, wait until those under way have ended, and say so. Queued "
        "runs wait until --end. Ends with an error when runs are still under way after --timeout."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--worker", metavar="ID", help="only runs on the machine with this WORKER_ID"
        )
        parser.add_argument(
            "--timeout", type=float, default=7200, metavar="S", help="0: do not wait at all"
        )
        parser.add_argument("--end", action="store_true", help="let runs begin again")

    def handle(self, *args: Any, **options: Any) -> None:
        worker_id = options["worker"]
        if options["end"]:
            drain_end(worker_id=worker_id)
            self.stdout.write("runs may begin")
            return
        try:
            drain_begin(worker_id=worker_id)
        except InvalidValue as error:
            raise CommandError(error.detail) from error
        self._wait(worker_id, options["timeout"])
        self.stdout.write("empty: no run is under way, and none begins before drain --end")

    def _wait(self, worker_id: str | None, timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        before: Counter[str] | None = None
        while left := active_runs(worker_id=worker_id):
            if left != before:
                states = ", ".join(f"{count} {state}" for state, count in sorted(left.items()))
                self.stdout.write(f"{left.total()} under way: {states}")
            before = left
            if time.monotonic() >= until:
                detail = f"{left.total()} runs are still under way; none begins before drain --end"
                raise CommandError(detail)
            time.sleep(LOOK_S)
