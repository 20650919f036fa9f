"""`manage.py import_trace FILE`: a recorded demand as a scenario document."""

import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.foundation.errors import InvalidValue
from backend.foundation.reading.encodings import text_of
from backend.scenarios.calc.recorded import steps_of, with_recorded_demand
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.calc.trace_files import STATISTICS, import_trace

STDIN = "-"


class Command(BaseCommand):
    help = (
        "Print the scenario document of a recorded demand: CSV (time,value), or the JSON that "
        "CloudWatch and Prometheus export. What `simulate` reads."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the recording; - reads standard input")
        parser.add_argument("--series", default="", help="one of several series")
        parser.add_argument("--statistic", default="", choices=["", *STATISTICS])
        parser.add_argument("--step", type=int, metavar="S", help="seconds of a step")
        parser.add_argument("--template", default="startup", choices=list(TEMPLATES))
        parser.add_argument("--name", default="", help="name of the scenario")
        parser.add_argument("--json", action="store_true", help="what is printed anyway")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"] or f"Demand of {Path(options['file']).name}"
        try:
            with self._opened(options["file"]) as lines:
                trace = import_trace(
                    lines, series=options["series"], statistic=options["statistic"]
                )
            steps = steps_of(trace, options["step"])
            template = TEMPLATES[options["template"]].document
            document = with_recorded_demand(trace, steps, template, name=name[:100])
        except (InvalidValue, UnicodeDecodeError) as error:
            raise CommandError(f"{options['file']}: {error}") from None
        # On standard error: standard output is the document, which may go into `simulate` by a
        # pipe.
        for remark in document["demand"]["remarks"]:
            self.stderr.write(f"remark: {remark}")
        self.stdout.write(json.dumps(document, indent=1))

    def _opened(self, name: str) -> Any:
        if name == STDIN:
            source: Iterable[str] = sys.stdin
            return nullcontext(source)
        try:
            return text_of(Path(name).open("rb"))
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from None
