"""Shared parts of commands that answer a document: reading it, and one line on a fault."""

import json
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.foundation.errors import DomainError


class DocumentCommand(BaseCommand):
    """Answers a JSON document from a file or standard input, as the API does."""

    file_help: ClassVar[str] = "the document as JSON; - is standard input"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help=self.file_help)
        parser.add_argument("--json", action="store_true", help="print the answer of the API")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        try:
            answer = self.answer(_read(file), options)
        except DomainError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(answer, indent=1))
            return
        for line in self.lines(answer):
            self.stdout.write(line)

    def answer(self, document: Any, options: dict[str, Any]) -> dict[str, Any]:
        """The answer of the API; raises DomainError."""
        raise AssertionError("a command answers its document")

    def lines(self, answer: Mapping[str, Any]) -> list[str]:
        """The answer as lines of text."""
        raise AssertionError("a command prints its answer")


def _read(file: str) -> Any:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{file}: no UTF-8 text") from None
    try:
        # As the API reads it: amounts keep their digits, and NaN or Infinity, which Python takes,
        # are no JSON. Nesting that goes too deep is a RecursionError.
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file}: no JSON: {error}") from None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number")


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of columns under their heads, the first to the left and the others to the right."""
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
