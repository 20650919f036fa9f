"""CSV, TSV, XLSX and plain text; all print the cells that JSON carries."""

import codecs
import csv
import datetime as dt
import io
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import xlsxwriter
from rest_framework.renderers import BaseRenderer

from backend.common.rest.table import Column, Table, text_cell

EXCEL = "excel"
EXCEL_EU = "excel-eu"
DIALECTS = (EXCEL, EXCEL_EU)
EXCEL_TIME = "%Y-%m-%d %H:%M:%S"


class CsvRenderer(BaseRenderer):
    """RFC 4180: one header row, CRLF, UTF-8, dot decimals, empty for unknown.

    `dialect=excel` adds a byte order mark, `excel-eu` also semicolons and decimal commas.
    """

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"
    render_style = "binary"
    delimiter = ","

    def render(
        self,
        data: Table,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        dialect = _dialect(renderer_context)
        buffer = io.StringIO(newline="")
        is_semicolon = dialect == EXCEL_EU and self.delimiter == ","
        writer = csv.writer(
            buffer, delimiter=";" if is_semicolon else self.delimiter, lineterminator="\r\n"
        )
        writer.writerow([column.name for column in data.columns])
        for row in data.rows:
            writer.writerow([_cell(row[column.name], dialect) for column in data.columns])
        encoded = buffer.getvalue().encode()
        return codecs.BOM_UTF8 + encoded if dialect else encoded


class TsvRenderer(CsvRenderer):
    """The same with tabs."""

    media_type = "text/tab-separated-values"
    format = "tsv"
    delimiter = "\t"


def _dialect(context: Mapping[str, Any] | None) -> str:
    request = (context or {}).get("request")
    return request.query_params.get("dialect", "") if request else ""


def _cell(value: Any, dialect: str) -> str:
    if dialect and isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).strftime(EXCEL_TIME)
    is_number = isinstance(value, (float, Decimal))
    printed = text_cell(value)
    return printed.replace(".", ",") if dialect == EXCEL_EU and is_number else printed


class TextRenderer(BaseRenderer):
    """Text as it is."""

    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return str(data).encode()


class XlsxRenderer(BaseRenderer):
    """A workbook: typed cells under a frozen header with a filter, and a sheet About."""

    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    format = "xlsx"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Table,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        buffer = io.BytesIO()
        options = {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        }
        with xlsxwriter.Workbook(buffer, options) as book:
            _data_sheet(book, data)
            _about_sheet(book, data)
        return buffer.getvalue()


def _data_sheet(book: Any, table: Table) -> None:
    formats = {
        "header": book.add_format({"bold": True}),
        "day": book.add_format({"num_format": "yyyy-mm-dd"}),
        "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
    }
    sheet = book.add_worksheet(table.name[:31])
    sheet.freeze_panes(1, 1)
    for place, column in enumerate(table.columns):
        sheet.write_string(0, place, column.name, formats["header"])
        sheet.set_column(place, place, max(len(column.name) + 2, 12))
    last = 0
    for last, row in enumerate(table.rows, start=1):
        for place, column in enumerate(table.columns):
            _write(sheet, last, place, row[column.name], formats)
    sheet.autofilter(0, 0, last, len(table.columns) - 1)


def _write(sheet: Any, row: int, place: int, value: Any, formats: Mapping[str, Any]) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, place, value)
    elif isinstance(value, (int, float, Decimal)):
        sheet.write_number(row, place, float(value))
    elif isinstance(value, dt.datetime):
        sheet.write_datetime(
            row, place, value.astimezone(dt.UTC).replace(tzinfo=None), formats["time"]
        )
    elif isinstance(value, dt.date):
        sheet.write_datetime(row, place, value, formats["day"])
    else:
        sheet.write_string(row, place, str(value))


def _about_sheet(book: Any, table: Table) -> None:
    sheet = book.add_worksheet("About")
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 2, 60)
    for row, cells in enumerate(_about_rows(table)):
        for place, cell in enumerate(cells):
            sheet.write_string(row, place, cell)


def _about_rows(table: Table) -> Iterator[tuple[str, ...]]:
    yield from table.about.items()
    yield ()
    yield "column", "meaning", "unit"
    for column in table.columns:
        yield _described(column)


def _described(column: Column) -> tuple[str, str, str]:
    return column.name, column.description, column.unit
