"""`manage.py demo load|remove`: the demo data in, or out again."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.benchmarks.services.demo import demo_load, demo_remove
from backend.bills.services.demo import demo_bill_load, demo_bill_remove
from backend.catalog.services.fact_tables import MARKET, WORLD
from backend.foundation.errors import DomainError
from backend.scenarios.services.demo import demo_scenarios_load, demo_scenarios_remove


class Command(BaseCommand):
    help = "Load figures, list prices, scenarios and a bill under fixtures/, or remove them again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("load", "remove"))
        parser.add_argument(
            "--world", action="store_true", help="load the other regions of the clouds, too"
        )
        parser.add_argument(
            "--small", action="store_true", help="load two regions of each large cloud at most"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        is_load = options["action"] == "load"
        try:
            counts = _load(_parts(options)) if is_load else _remove()
        except DomainError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        listed = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        self.stdout.write(f"{'loaded' if is_load else 'removed'}: {listed}")


def _parts(options: dict[str, Any]) -> tuple[str, ...]:
    """Parts of the market that the options ask for."""
    if options["small"]:
        return ()
    return (MARKET, WORLD) if options["world"] else (MARKET,)


def _load(parts: tuple[str, ...]) -> dict[str, int]:
    counts = demo_load(settings.FIXTURE_DIR, parts)
    counts |= {"scenarios": demo_scenarios_load(settings.FIXTURE_DIR)}
    return counts | {"bills": demo_bill_load(settings.FIXTURE_DIR)}


def _remove() -> dict[str, int]:
    scenarios = demo_scenarios_remove(settings.FIXTURE_DIR)
    return demo_remove() | {"scenarios": scenarios, "bills": demo_bill_remove()}
