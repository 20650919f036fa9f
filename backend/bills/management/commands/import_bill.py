"""`manage.py import_bill FILE…`: what a bill of a provider contains."""

import json
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.bills.calc.formats import FORMATS
from backend.bills.calc.unit_prices import PriceIs, UnclearPrice
from backend.bills.services.importing import BillFile, bill_import
from backend.foundation import figures
from backend.foundation.errors import InvalidValue


class Command(BaseCommand):
    help = (
        "Import a bill (FOCUS, AWS Cost and Usage Report, Azure usage details, Google Cloud "
        "billing export, invoice of Hetzner, or a plain table): CSV, Parquet or JSON, also packed. Only sums are kept."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", help="the files of one bill")
        parser.add_argument("--format", choices=list(FORMATS), help="where it is not recognised")
        parser.add_argument(
            "--price-is",
            choices=[str(meaning) for meaning in PriceIs if meaning],
            default=PriceIs.UNKNOWN,
            help="of a plain table: its amounts are of one unit, or the total of a line",
        )
        parser.add_argument("--name", default="", help="of the bill; the first file's otherwise")
        parser.add_argument("--json", action="store_true", help="print JSON")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        paths = [Path(name) for name in options["files"]]
        name = options["name"] or paths[0].name.partition(".")[0] or "bill"
        try:
            bill = bill_import(
                workspace=workspace_option(options),
                name=name[:100],
                files=[BillFile(path.name, partial(_open, path)) for path in paths],
                slug=options["format"],
                actor="command",
                price_is=PriceIs(options["price_is"]),
            )
        except UnclearPrice as error:
            raise CommandError(f"{error.detail} (--price-is unit or --price-is total)") from None
        except InvalidValue as error:
            raise CommandError(error.detail) from None
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None
        if options["json"]:
            said = {
                "id": str(bill.pk),
                "slug": bill.slug,
                "lines": bill.line_count,
                "total": bill.estate["total"],
                "currency": bill.currency,
                "unreadable": bill.unreadable_count,
                "notes": bill.estate["notes"],
            }
            self.stdout.write(json.dumps(said))
            return
        self.stdout.write(
            f"{bill.name}: {bill.line_count:,} lines, "
            f"{figures.price(Decimal(bill.estate['total']), bill.currency)}"
        )
        for kind in bill.estate["by_kind"]:
            self.stdout.write(
                f"  {kind['kind']:<12}{figures.price(Decimal(kind['cost']), bill.currency):>14}"
            )
        for note in bill.estate["notes"]:
            self.stderr.write(note["text"])
        unreadable = bill.estate["unreadable"]
        for bad in unreadable["named"]:
            self.stderr.write(f"line {bad['line']}: {bad['why']}")
        if unreadable["lines"]:
            self.stderr.write(f"{unreadable['lines']} lines could not be read")


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", path.open("rb"))
