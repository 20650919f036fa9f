"""Wrap every stored secret under the present keys."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.core.crypto import CREDENTIALS, WEB, KeyMissing
from backend.core.sealing import Rotated, keys_rotate


class Command(BaseCommand):
    help = (
        "Wrap every stored secret under CREDENTIAL_KEY, and what the web opens itself under WEB_KEY."
        " Afterwards CREDENTIAL_KEYS_PREVIOUS and WEB_KEYS_PREVIOUS may be emptied. It may be ended and"
        " started again at any time; no secret is opened."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            columns = keys_rotate(seen=self._report)
        except KeyMissing as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(_document(columns)))
        broken = sum(len(rotated.broken) for rotated in columns)
        if broken:
            raise CommandError(
                f"{broken} values open with none of the keys given; keep the previous keys,"
                " add the missing key to them, or replace those secrets"
            )

    def _report(self, rotated: Rotated) -> None:
        broken = f", {len(rotated.broken)} not openable" if rotated.broken else ""
        self.stderr.write(
            f"{rotated.column}: {rotated.rewrapped} wrapped again, {rotated.current} already{broken}"
        )


def _document(columns: list[Rotated]) -> dict[str, Any]:
    return {
        "key": CREDENTIALS.id(),
        "web_key": WEB.id(),
        "columns": [
            {
                "column": str(rotated.column),
                "rewrapped": rotated.rewrapped,
                "current": rotated.current,
                "broken": rotated.broken,
            }
            for rotated in columns
        ],
    }
