"""JSON, CSV, TSV, XLSX and plain text; all print the cells that JSON carries."""

import csv
import datetime as dt
import io
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import orjson
from django.http import FileResponse
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from backend.core.rest.table import Table, text_cell
from backend.core.rest.workbook import workbook

EXCEL = "excel"
EXCEL_EU = "excel-eu"
DIALECTS = (EXCEL, EXCEL_EU)
EXCEL_TIME = "%Y-%m-%d %H:%M:%S"
# Written as the API framework writes them: with Z, and of a dataclass nothing.
AS_FRAMEWORK = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
# Line ends to JavaScript, though not to JSON.
LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


class JsonRenderer(JSONRenderer):
    """JSON by a faster encoder: the framework's takes a fifteenth of a page's whole time.

    What is no number (NaN) is null, unknown, where the framework would fail.
    """

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        by_framework = partial(super().render, data, accepted_media_type, renderer_context)
        # An indent may be asked for beside the type.
        if data is None or ";" in (accepted_media_type or ""):
            return by_framework()
        try:
            text = orjson.dumps(data, self.encoder_class().default, AS_FRAMEWORK)
        # Whole numbers beyond 64 bits, keys that are no text, and what is nested very deep.
        except TypeError:
            return by_framework()
        for line_end, escaped in LINE_ENDS:
            text = text.replace(line_end, escaped)
        return text


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
        buffer, request = io.BytesIO(), (renderer_context or {}).get("request")
        self.write(data, buffer, _dialect(request) if request else "")
        return buffer.getvalue()

    def write(self, table: Table, file: BinaryIO, spreadsheet: str) -> None:
        """The table as `render` gives it, a row at a time."""
        # Excel takes a file without the mark for the computer's old code page and breaks every umlaut.
        text = io.TextIOWrapper(file, encoding="utf-8-sig" if spreadsheet else "utf-8", newline="")
        # Where the comma is the decimal sign, Excel separates by semicolons.
        is_semicolon = spreadsheet == EXCEL_EU and self.delimiter == ","
        writer = csv.writer(
            text, delimiter=";" if is_semicolon else self.delimiter, lineterminator="\r\n"
        )
        names = [column.name for column in table.columns]
        writer.writerow(names)

        def printed(value: Any) -> str:
            return _cell(value, spreadsheet)

        if table.texts:
            writer.writerows(table.texts(names, printed))
        else:
            writer.writerows([printed(row[name]) for name in names] for row in table.rows)
        # The file is the caller's; the wrapper would close it with itself.
        text.detach()

    def written(self, request: Request, table: Table, headers: Mapping[str, str]) -> FileResponse:
        """A table of any length: whole before its first byte goes out, so that what fails is an
        error and no shorter file, and that limits of work hold for the making of it."""
        file = TemporaryFile()  # noqa: SIM115  the answer closes it
        self.write(table, file, _dialect(request))
        file.seek(0)
        media_type = f"{self.media_type}; charset={self.charset}"
        return FileResponse(file, content_type=media_type, headers=headers)


# Spreadsheets paste tabs into cells whatever the language, where commas depend on it.
class TsvRenderer(CsvRenderer):
    """The same with tabs."""

    media_type = "text/tab-separated-values"
    format = "tsv"
    delimiter = "\t"


def _dialect(request: Request) -> str:
    return request.query_params.get("dialect", "")


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
