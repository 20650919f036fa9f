"""`manage.py compare_bill SLUG`: what the machines of a bill would cost elsewhere."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.services.current_data import current_stamp
from backend.bills.selectors.bills import bill_by_slug
from backend.bills.selectors.compared import ASSUMED, READERS, comparison_document
from backend.bills.selectors.works import WhyLeftOut
from backend.core.rest.parameters import InvalidParameters, read
from backend.foundation import figures

REASONS = {
    WhyLeftOut.NO_PROVIDER: "the bill names no provider (columns provider and region)",
    WhyLeftOut.NO_SCORE: "the catalogue has no score or memory of it",
    WhyLeftOut.NO_COST: "the bill has no amount for it, so its cost is unknown",
    WhyLeftOut.NO_LICENCE: "its price holds a licence of unknown cost",
}

REASONS = {
    WhyLeftOut.NO_PROVIDER: "the bill names no provider (columns provider and region)",
    WhyLeftOut.NO_SCORE: "the catalogue has no score or memory of it",
    WhyLeftOut.NO_COST: "the bill has no amount for it, so its cost is unknown",
    WhyLeftOut.NO_LICENCE: "its price holds a licence of unknown cost",
}


class Command(BaseCommand):
    help = "What the machines of a bill would cost elsewhere, the cheapest first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="of the bill, as in its address")
        for name, words in ASSUMED.items():
            parser.add_argument(f"--{name.replace('_', '-')}", metavar="VALUE", help=words)
        parser.add_argument("--json", action="store_true", help="print JSON")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        bill = bill_by_slug(workspace_option(options), options["slug"])
        if bill is None:
            raise CommandError(f"there is no bill {options['slug']!r}")
        given = {name: [options[name]] for name in ASSUMED if options[name] is not None}
        try:
            asked, _ = read(given, READERS)
            said = comparison_document(bill, current_stamp(), asked)
        except InvalidParameters as error:
            raise CommandError("; ".join(f"{name}: {why}" for name, why in error.errors)) from None
        if options["json"]:
            self.stdout.write(json.dumps(said))
            return
        self.stdout.write(
            f"{'today':<14}{figures.price(said['compared']['cost_per_month'], bill.currency):>14}"
        )
        for alternative in sorted(
            said["alternatives"], key=lambda alternative: alternative["cost_per_month"]
        ):
            servers = ", ".join(f"{of['count']} × {of['name']}" for of in alternative["servers"])
            self.stdout.write(
                f"{alternative['kind']:<14}{figures.price(alternative['cost_per_month'], bill.currency):>14}  "
                f"{figures.money(alternative['p5'])} to {figures.money(alternative['p95'])}, cheaper "
                f"{figures.percent(alternative['probability_cheaper'])}  {servers}"
            )
        for alternative in said["compared"]["left_out"]:
            self.stderr.write(f"not compared: {alternative['name']}, {REASONS[alternative['why']]}")
