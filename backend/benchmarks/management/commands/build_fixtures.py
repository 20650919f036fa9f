"""`manage.py build_fixtures`: the load forms of market and scores, made from the tables of facts."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from backend.benchmarks.services.published_figures import figures_build
from backend.catalog.services.fact_tables import build


class Command(BaseCommand):
    help = "Make fixtures/catalog/market and world and the load form of scores from their tables."

    def handle(self, *args: Any, **options: Any) -> None:
        counts = build(settings.FIXTURE_DIR)
        counts["figures"] = figures_build(settings.FIXTURE_DIR)
        self.stdout.write(", ".join(f"{count} {name}" for name, count in counts.items()))
