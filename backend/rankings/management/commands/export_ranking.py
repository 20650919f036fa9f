"""`manage.py export_ranking [--format csv] [name=value …]`: the ranking as the API gives it."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.services.current_data import current_stamp
from backend.core.rest.parameters import InvalidParameters
from backend.core.rest.renderers import CsvRenderer, TsvRenderer, XlsxRenderer
from backend.core.rest.table import Table, json_rows
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking

RENDERERS: Mapping[str, type[CsvRenderer | XlsxRenderer]] = {
    "csv": CsvRenderer,
    "tsv": TsvRenderer,
    "xlsx": XlsxRenderer,
}


class Command(BaseCommand):
    help = "Print the ranked list: parameters are those of the page, such as provider=aws."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query", nargs="*", metavar="name=value", help="or a whole a=1&b=2")
        parser.add_argument("--format", choices=[*RENDERERS, "json"], default="csv")
        parser.add_argument("--json", action="store_true", help="the same as --format json")
        parser.add_argument("--output", type=Path, help="write there and not to standard output")
        workspace_argument(parser)

    def handle(self, *args: Any, query: list[str], output: Path | None, **options: Any) -> None:
        kind = "json" if options["json"] else options["format"]
        if kind == "xlsx" and output is None and sys.stdout.isatty():
            raise CommandError("a workbook is no text: name a file with --output")
        current_stamp()
        ranking_query, warnings = _query(query)
        for warning in warnings:
            self.stderr.write(warning)
        slug = workspace_option(options).slug
        content = _print_table(ranking(ranking_query, workspace_slug=slug), ranking_query, kind)
        if output is None:
            self.stdout.flush()
            sys.stdout.buffer.write(content)
            return
        try:
            output.write_bytes(content)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror}") from None


def _query(query: list[str]) -> tuple[RankingQuery, list[str]]:
    params: dict[str, list[str]] = {}
    for text in query:
        if "=" not in text:
            raise CommandError(f"{text!r} is not name=value")
        for name, value in parse_qsl(text.removeprefix("?"), keep_blank_values=True):
            params.setdefault(name, []).append(value)
    try:
        return query_from(params)
    except InvalidParameters as error:
        raise CommandError(str(error)) from None


def _print_table(listed: Ranking, ranking_query: RankingQuery, kind: str) -> bytes:
    columns = tuple(COLUMN[name] for name in ranking_query.cols)
    rows = map(vars, listed.rows)
    if kind == "json":
        document = {
            "count": listed.count,
            "data_version": listed.data_version,
            "basis": dict(listed.basis),
            "results": json_rows(columns, rows),
        }
        return (json.dumps(document, indent=1) + "\n").encode()
    about = {"data_version": str(listed.data_version), "basis": json.dumps(dict(listed.basis))}
    return RENDERERS[kind]().render(Table(columns, rows, "rankings", about))
