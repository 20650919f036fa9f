"""`manage.py import_results FILE|- --tool … --offer …`: a result that was measured elsewhere."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.management.texts import text_of
from backend.benchmarks.services.imports import MAX_TEXT_BYTES, result_import
from backend.catalog.selectors.offers import offers_visible
from backend.foundation import figures
from backend.foundation.errors import DomainError
from backend.measure.readers.importing import PARAMETERS, TOOLS

WORDS = {"true": True, "false": False}


class Command(BaseCommand):
    help = "Import the output of a tool as results of an offer, marked imported."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the text; - reads standard input")
        # The API and file names write stress_ng; both are taken.
        parser.add_argument(
            "--tool", required=True, choices=TOOLS, type=lambda name: name.replace("_", "-")
        )
        parser.add_argument("--offer", required=True, metavar="SLUG")
        parser.add_argument(
            "--param",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"how it was made: {', '.join(PARAMETERS)}",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_option(options)
        offer = offers_visible(workspace.slug).filter(slug=options["offer"]).first()
        if offer is None:
            raise CommandError(f"no offer is called {options['offer']!r}")
        try:
            made = result_import(
                workspace=workspace,
                offer=offer,
                tool=options["tool"],
                text=text_of(options["file"], MAX_TEXT_BYTES),
                parameters=_parameters(options["param"]),
                actor="command",
            )
        except DomainError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            samples = [
                {
                    "metric": sample.metric,
                    "variant": sample.variant,
                    "value": sample.value,
                    "unit": sample.unit,
                    "flags": sample.flags,
                }
                for sample in made.samples
            ]
            answer = {"evidence": made.evidence.pk, "samples": samples, "warnings": made.warnings}
            self.stdout.write(json.dumps(answer))
            return
        for sample in made.samples:
            flags = f" ({', '.join(sample.flags)})" if sample.flags else ""
            self.stdout.write(
                f"{sample.metric} {sample.variant}: {figures.measure(sample.value, sample.unit)}{flags}"
            )
        for warning in made.warnings:
            self.stderr.write(f"warning: {warning}")


def _parameters(given: list[str]) -> dict[str, object]:
    parameters: dict[str, object] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or name in parameters:
            raise CommandError(f"--param {pair}: NAME=VALUE is needed, each name once")
        # `isdigit` also says yes to superscripts, which `int` refuses.
        is_number = value.isascii() and value.isdigit() and len(value) < 20
        parameters[name] = int(value) if is_number else WORDS.get(value, value)
    return parameters
