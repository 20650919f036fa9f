"""Work on runs in this process, without a broker."""

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workers.engine.in_process import require_keys
from workers.engine.pump import Pump


class Command(BaseCommand):
    help = (
        "Do the workers' work in this process: claim due steps, follow running runs, start "
        "scheduled campaigns, send notices. Needs PostgreSQL only, and may run beside any number "
        "of workers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="do what is due now and end, instead of going on"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        require_keys()
        pump = Pump(has_schedules=True)
        if options["once"]:
            pump.once()
            return
        # The step under way is finished: its lease would else have to run out first.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: pump.stop())
        pump.run()
