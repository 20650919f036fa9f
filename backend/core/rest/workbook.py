"""A table as an XLSX workbook that holds every digit and takes no text for a formula."""

import datetime as dt
import io
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from backend.core import clock
from backend.core.rest.table import Column, ColumnType, Table, text_cell

OPTIONS = {
    # Each row is written to a temporary file as it comes: of 6,000 offers the cells take 70 MB.
    "constant_memory": True,
    # What looks like a formula, an address or a number in somebody's text has to stay text.
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}
# What a cell can hold; a longer text would be left out without a word.
MOST_CHARACTERS = 32_767
# Excel's limit for such a message; the library leaves out a validation with a longer one.
MOST_PROMPT = 255
AMOUNT, COUNT = "#,##0.00########", "#,##0"
# Units of amounts begin so.
MONEY = ("currency", "USD")
# In characters; names and addresses may be longer than a screen is wide.
LEAST_WIDTH, MOST_WIDTH = 12, 40
# The rows behind them are like these, and to look at every cell takes a third of the whole file's time.
ROWS_OF_WIDTH = 500
# Texts whose form in XML is kept.
TEXTS_KEPT = 4_096
# Before it, the calendars of spreadsheets differ.
FIRST_DAY = dt.date(1900, 3, 1)
NOTES = {
    "numbers": (
        "Every cell holds all digits that JSON and CSV print. A spreadsheet shows and computes"
        " with the first 15 of them."
    ),
    "unknown": "An empty cell is an unknown value, never zero.",
    "times": "UTC",
    "licence": (
        "Rackrate is free software (Apache-2.0). Figures are from whom the columns source and"
        " result_url name, prices from their providers."
    ),
}


class ExactSheet(Worksheet):  # type: ignore[misc]
    """Writes numbers with all their digits, where the library stops at the sixteenth."""

    # Rows and columns are numbers here; to look for "A1" in each takes a tenth of the whole time.
    write_boolean = Worksheet._write_boolean
    write_datetime = Worksheet._write_datetime
    write_number = Worksheet._write_number
    write_string = Worksheet._write_string
    # Most texts of a table are in many rows.
    _escape_control_characters = staticmethod(
        lru_cache(TEXTS_KEPT)(Worksheet._escape_control_characters)
    )

    def _xml_number_element(self, number: Any, attributes: Any = ()) -> None:
        markup = ""
        for name, value in attributes:
            markup += f' {name}="{value}"'
        self.fh.write(f"<c{markup}><v>{text_cell(number)}</v></c>")


def workbook(table: Table) -> bytes:
    """The file. The same table gives the same bytes on the same day."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, OPTIONS) as book:
        # Not the moment: the ETag of a workbook is its hash, and would change with every request.
        today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        book.set_properties({"title": table.name, "author": "Rackrate", "created": today})
        _data_sheet(book, table)
        _about_sheet(book, table)
    return buffer.getvalue()


def _data_sheet(book: Any, table: Table) -> None:
    formats: dict[str | None, Any] = {
        "header": book.add_format({"bold": True}),
        "day": book.add_format({"num_format": "yyyy-mm-dd"}),
        "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        None: None,
        **{shown: book.add_format({"num_format": shown}) for shown in (AMOUNT, COUNT)},
    }
    # Names of sheets have at most 31 characters.
    sheet = book.add_worksheet(table.name[:31], worksheet_class=ExactSheet)
    sheet.freeze_panes(1, 1)
    for index, column in enumerate(table.columns):
        sheet.write_string(0, index, column.name, formats["header"])
        prompt = {"validate": "any", "input_message": _meaning(column)}
        sheet.data_validation(0, index, 0, index, prompt)
    columns = [
        (column.name, {**formats, "number": formats[_number_format(column)]})
        for column in table.columns
    ]
    widths = [max(len(name) + 2, LEAST_WIDTH) for name, _ in columns]
    last = 0
    for last, row in enumerate(table.rows, start=1):
        for index, (name, formats_of_column) in enumerate(columns):
            if (value := row[name]) is None:
                continue
            _write(sheet, last, index, value, formats_of_column)
            if last <= ROWS_OF_WIDTH and widths[index] < MOST_WIDTH:
                widths[index] = max(widths[index], len(text_cell(value)) + 1)
    for index, width in enumerate(widths):
        sheet.set_column(index, index, min(width, MOST_WIDTH))
    sheet.autofilter(0, 0, last, len(table.columns) - 1)
    # A name lets formulas and pivot tables refer to the rows, however many there are.
    area = xlsxwriter.utility.xl_range_abs(0, 0, last, len(table.columns) - 1)
    book.define_name(f"rackrate_{table.name.replace('-', '_')}", f"='{sheet.name}'!{area}")


def _number_format(column: Column) -> str | None:
    """How figures of a column are shown; the cell holds all digits whatever it shows.

    Measured figures and ratios have no fixed scale, so a spreadsheet chooses their digits by itself.
    """
    if column.kind == ColumnType.DECIMAL and column.unit.startswith(MONEY):
        return AMOUNT
    return COUNT if column.kind == ColumnType.INTEGER and column.unit else None


def _write(
    sheet: Any, row: int, column: int, value: Any, formats: Mapping[str | None, Any]
) -> None:
    if type(value) is str:  # most cells
        sheet.write_string(row, column, _fitting(value))
    # Before numbers: to Python a bool is one.
    elif isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float, Decimal)):
        sheet.write_number(row, column, value, formats["number"])
    # Excel counts a 29 February 1900 that never was, so earlier days would be off by one.
    elif isinstance(value, dt.date) and _day(value) < FIRST_DAY:
        sheet.write_string(row, column, text_cell(value))
    elif isinstance(value, dt.datetime):
        moment = value.astimezone(dt.UTC).replace(tzinfo=None)
        sheet.write_datetime(row, column, moment, formats["time"])
    elif isinstance(value, dt.date):
        sheet.write_datetime(row, column, value, formats["day"])
    else:
        sheet.write_string(
            row, column, _fitting(" ".join(value) if isinstance(value, list) else str(value))
        )


def _day(value: dt.date) -> dt.date:
    return value.date() if isinstance(value, dt.datetime) else value


def _fitting(text: str) -> str:
    """The text, or as much of it as a cell can hold with a word about the rest."""
    if len(text) <= MOST_CHARACTERS:
        return text
    remark = f"… (cut; JSON and CSV have all {len(text)} characters)"
    return text[: MOST_CHARACTERS - len(remark)] + remark


def _about_sheet(book: Any, table: Table) -> None:
    sheet = book.add_worksheet("About")
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 2, 60)
    for row, cells in enumerate(_about_rows(table)):
        for index, cell in enumerate(cells):
            sheet.write_string(row, index, _fitting(cell))


def _about_rows(table: Table) -> Iterator[tuple[str, ...]]:
    yield from table.about.items()
    yield "exported", clock.now().astimezone(dt.UTC).date().isoformat()
    yield from NOTES.items()
    yield ()
    yield "column", "meaning", "unit"
    for column in table.columns:
        yield column.name, column.description, column.unit


def _meaning(column: Column) -> str:
    prompt = f"{column.description} ({column.unit})" if column.unit else column.description
    return prompt[:MOST_PROMPT]
