"""CSV, TSV, XLSX and plain text; all print the cells that JSON carries."""

import codecs
import csv
import datetime as dt
import io
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rest_framework.renderers import BaseRenderer

from backend.common.rest.table import Table, text_cell
from backend.common.rest.workbook import workbook

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
        # Where the comma is the decimal sign, Excel separates by semicolons.
        is_semicolon = dialect == EXCEL_EU and self.delimiter == ","
        writer = csv.writer(
            buffer, delimiter=";" if is_semicolon else self.delimiter, lineterminator="\r\n"
        )
        names = [column.name for column in data.columns]
        writer.writerow(names)

        def printed(value: Any) -> str:
            return _cell(value, dialect)

        if data.texts:
            writer.writerows(data.texts(names, printed))
        else:
            writer.writerows([printed(row[name]) for name in names] for row in data.rows)
        encoded = buffer.getvalue().encode()
        # Excel takes a file without the mark for the computer's old code page and breaks every umlaut.
        return codecs.BOM_UTF8 + encoded if dialect else encoded


# Spreadsheets paste tabs into cells whatever the language, where commas depend on it.
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
        # Excel reads no time with a zone as a time; all of them are UTC.
        return value.astimezone(dt.UTC).strftime(EXCEL_TIME)
    is_number = isinstance(value, (float, Decimal))
    printed = text_cell(value)
    # Only in numbers: a name of a machine type has points as well.
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
        return workbook(data)
