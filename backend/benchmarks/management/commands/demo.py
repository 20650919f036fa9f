"""`manage.py demo load|remove`: the demo data in, or out again."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.benchmarks.demo import demo_load, demo_remove
from backend.domain.errors import DomainError


class Command(BaseCommand):
    help = "Load the published figures and list prices under fixtures/, or remove them again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("load", "remove"))
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        is_load = options["action"] == "load"
        try:
            counts = demo_load(settings.FIXTURE_DIR) if is_load else demo_remove()
        except DomainError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        listed = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        self.stdout.write(f"{'loaded' if is_load else 'removed'}: {listed}")
