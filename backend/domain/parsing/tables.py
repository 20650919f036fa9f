"""A table in CSV that a person sends: bounded, strict, every refusal with its line and column.

Commas, semicolons and tabs separate. Decimals have a point; a comma only in a row whose column
`locale` names a language that writes it so. Nothing groups thousands.
"""

import csv
import datetime as dt
import io
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from backend.domain.pricing.quoted import amount_fault

# A table is read whole and previewed in a page; larger ones belong to the API or a price list.
MAX_BYTES = 1_000_000
MAX_ROWS = 5_000
LOCALE = "locale"
# Stated and not taken from a locale library: what a file means must not change with a version of it.
COMMA_LANGUAGES = frozenset((
    "bg", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fr", "gl", "hr", "hu", "is", "it",
    "lt", "lv", "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk",
))  # fmt: skip
POINT_LANGUAGES = frozenset(("en", "ga", "he", "hi", "ja", "ko", "mt", "th", "zh"))
# Regions that write a point although their language writes a comma.
POINT_LOCALES = frozenset({"de-ch", "de-li", "it-ch", "es-mx"})
_LANGUAGE = re.compile(r"([a-z]{2})(?:[-_][a-z]{2})?(?:\.utf-?8)?")
_POINT = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_COMMA = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")
_CURRENCY = re.compile(r"[A-Z]{3}")
FORMULA = re.compile(r"['\s]*[=+\-@＝＋－＠]['\s=+\-@＝＋－＠]*|'\s+")
"""What makes a spreadsheet take a text for a formula."""
# A cell is shown in terminals and pages; characters that turn text round can make 1 look like another
# number.
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that move a terminal's cursor, or turn the text behind them round."""
_SHOWN = 60
_MOST_DIGITS = 40


@dataclass(frozen=True)
class Remark:
    """What is said of a line: `line` counts from 1, `column` is "" for the line as a whole."""

    line: int
    column: str
    detail: str

    def __str__(self) -> str:
        location = f"line {self.line}, {self.column}" if self.column else f"line {self.line}"
        return f"{location}: {self.detail}"


@dataclass
class TableRow:
    """One row. What cannot be read is None or "" and leaves a remark in `refused`."""

    line: int
    cells: Mapping[str, str]
    refused: list[Remark] = field(default_factory=list)
    warned: list[Remark] = field(default_factory=list)

    def refuse(self, column: str, detail: str) -> None:
        self.refused.append(Remark(self.line, column, detail))

    def warn(self, column: str, detail: str) -> None:
        self.warned.append(Remark(self.line, column, detail))

    def has(self, column: str) -> bool:
        return bool(self.cells.get(column))

    def text(self, column: str, *, most: int = 300, is_needed: bool = False) -> str:
        """Text without what would start a formula in a spreadsheet."""
        cell = self.cells.get(column, "").strip()
        # Stripped rather than refused: spreadsheets put an apostrophe there themselves, and exports must
        # stay harmless.
        start = FORMULA.match(cell)
        if start:
            cell = cell[start.end() :]
            self.warn(column, f"{shown(start[0])!r} at its begin would start a formula: stripped")
        if _CONTROL.search(cell):
            self.refuse(column, "a control character is not text")
            return ""
        if len(cell) > most:
            self.refuse(column, f"{len(cell)} characters are too many, {most} the most")
            return ""
        if is_needed and not cell:
            self.refuse(column, "a value is needed")
        return cell

    def word(self, column: str, choices: Collection[str], *, is_needed: bool = False) -> str:
        """One of some words, in lower case."""
        cell = self.cells.get(column, "").lower()
        if cell and cell not in choices:
            self.refuse(column, f"{shown(cell)!r} is not one of {', '.join(choices)}")
            return ""
        if is_needed and not cell:
            self.refuse(column, "a value is needed")
        return cell

    def decimal(self, column: str) -> Decimal | None:
        """The number as written; None where the cell is empty."""
        cell = self.cells.get(column, "")
        if not cell:
            return None
        is_comma = self._has_comma()
        # Decimal reads exponents and underscores, too, which nobody types as a price.
        if len(cell) <= _MOST_DIGITS and (_COMMA if is_comma else _POINT).fullmatch(cell):
            return Decimal(cell.replace(",", "."))
        self.refuse(column, f"{shown(cell)!r} {self._why_no_number(cell, is_comma=is_comma)}")
        return None

    def _why_no_number(self, cell: str, *, is_comma: bool) -> str:
        if not is_comma and "," in cell and _COMMA.fullmatch(cell):
            return f"has a decimal comma, and no column {LOCALE} says so"
        if is_comma and "." in cell and _POINT.fullmatch(cell):
            return f"has a point, though by its {LOCALE} a comma is the decimal mark"
        return "is not a decimal number (nothing groups thousands)"

    def _has_comma(self) -> bool:
        name = self.cells.get(LOCALE, "").lower().replace("_", "-")
        return bool(name) and name not in POINT_LOCALES and name[:2] in COMMA_LANGUAGES

    def amount(self, column: str, *, is_zero_allowed: bool = False) -> Decimal | None:
        """Money that can be kept as stated; None where the cell is empty."""
        value = self.decimal(column)
        if value is None:
            return None
        fault = amount_fault(value, is_zero_allowed=is_zero_allowed)
        if fault:
            self.refuse(column, f"{shown(self.cells[column])}: {fault}")
            return None
        return value

    def size(
        self, column: str, unit: int, *, most: int, is_zero_allowed: bool = False
    ) -> int | None:
        """A quantity as a whole number of smaller units, of which it has `unit` each."""
        value = self.decimal(column)
        if value is None:
            return None
        if not 0 <= value <= most or (value == 0 and not is_zero_allowed):
            least = "0" if is_zero_allowed else "above 0"
            self.refuse(column, f"{shown(self.cells[column])} is not {least} and up to {most}")
            return None
        return int(value * unit)

    def whole(self, column: str, *, low: int, high: int) -> int | None:
        cell = self.cells.get(column, "")
        if not cell:
            return None
        # The length first: int refuses thousands of digits with words of its own.
        is_whole = cell.isascii() and cell.isdigit() and len(cell) <= len(str(high))
        if not is_whole or not low <= int(cell) <= high:
            self.refuse(column, f"{shown(cell)!r} is not a whole number from {low} to {high}")
            return None
        return int(cell)

    def day(self, column: str, *, is_needed: bool = False) -> dt.date | None:
        cell = self.cells.get(column, "")
        if not cell:
            if is_needed:
                self.refuse(column, "a date is needed (YYYY-MM-DD)")
            return None
        try:
            # One form only: 03/04/2026 is two days, depending on who reads it.
            return dt.datetime.strptime(cell, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
        except ValueError:
            self.refuse(column, f"{shown(cell)!r} is not a date (YYYY-MM-DD)")
            return None

    def past_day(self, column: str, today: dt.date, *, is_needed: bool = False) -> dt.date | None:
        """A day that is not after today."""
        day = self.day(column, is_needed=is_needed)
        if day is not None and day > today:
            self.refuse(column, f"{day} is in the future")
            return None
        return day

    def currency(self, column: str, *, is_needed: bool = False) -> str:
        """A three-letter code, in capitals."""
        cell = self.cells.get(column, "").upper()
        if not cell and is_needed:
            # A price taken for dollars that was in euros is wrong by a tenth, and looks right.
            self.refuse(column, "no currency: none is taken for granted")
        elif cell and not _CURRENCY.fullmatch(cell):
            self.refuse(column, f"{shown(cell)!r} is not a three-letter code")
            return ""
        return cell

    def rate(self, column: str) -> Decimal | None:
        """A rate of tax as a ratio; 19% is 0.19."""
        cell = self.cells.get(column, "")
        is_percent = cell.endswith("%")
        if is_percent:
            self.cells = {**self.cells, column: cell.removesuffix("%").strip()}
        value = self.decimal(column)
        if value is None:
            return None
        if is_percent:
            value = value.scaleb(-2)
        # 19 for 19 % is the usual slip; a rate of tax has four digits at most in the database.
        if not 0 <= value < 1 or value != round(value, 4):
            self.refuse(column, f"{shown(cell)!r} is not a rate such as 0.19 or 19%")
            return None
        return value

    def check_locale(self) -> None:
        """Refuse a locale whose decimal mark is not known."""
        name = self.cells.get(LOCALE, "").lower()
        if not name:
            return
        language = _LANGUAGE.fullmatch(name)
        if not language or language[1] not in COMMA_LANGUAGES | POINT_LANGUAGES:
            self.refuse(LOCALE, f"{shown(name)!r} is not known; use one such as en, de or fr-FR")


def shown(text: str) -> str:
    """A foreign text fit to be shown: printable, and not long."""
    return "".join(c if c.isprintable() else "?" for c in text[:_SHOWN])


class RefusedTable(Exception):
    """Raised here and caught by the readers of tables, where nothing of a file can be used."""

    def __init__(self, *remarks: Remark) -> None:
        super().__init__("; ".join(map(str, remarks)))
        self.remarks = remarks


def records(
    raw: bytes | str, *, known: Collection[str], required: Collection[str]
) -> tuple[list[TableRow], list[Remark]]:
    """The rows of a table that has one header line, and remarks on rows of another width.

    Raises RefusedTable for a file that is too large or no UTF-8, holds a NUL character, is no CSV,
    or has an unknown, repeated or missing column.
    """
    text = _decoded(raw)
    # The mark that comes first in the header: later ones may be part of a cell.
    first = text.partition("\n")[0]
    marks = sorted((first.find(mark), mark) for mark in ",;\t" if mark in first)
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=marks[0][1] if marks else ",", strict=True
    )
    lines = _lines(reader)
    line, header = next(lines, (1, []))
    if not header:
        raise RefusedTable(Remark(1, "", "the file is empty"))
    columns = _columns(line, header, known, required)
    rows: list[TableRow] = []
    wrong: list[Remark] = []
    for line, cells in lines:
        if len(rows) + len(wrong) == MAX_ROWS:
            raise RefusedTable(Remark(line, "", f"more than {MAX_ROWS} rows"))
        # A row of another width has a stray separator, so every cell behind that means another column.
        if len(cells) == len(columns):
            rows.append(TableRow(line, dict(zip(columns, cells, strict=True))))
        else:
            wrong.append(Remark(line, "", f"{len(cells)} cells under {len(columns)} columns"))
    for record in rows:
        record.check_locale()
    return rows, wrong


def _decoded(raw: bytes | str) -> str:
    # Half a character in a text is then refused as no UTF-8, with its line.
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    if len(data) > MAX_BYTES:
        raise RefusedTable(Remark(1, "", f"{len(data)} bytes are too many, {MAX_BYTES} the most"))
    try:
        # Excel writes a byte order mark, which would belong to the first column's name.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RefusedTable(Remark(line, "", f"not UTF-8: byte {error.start + 1}")) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise RefusedTable(Remark(line, "", "a NUL character is not text"))
    return text


def _lines(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """(Line on which it begins, cells) of each row; blank lines are none."""
    while True:
        # A quoted cell may span lines: the row is named by its first one.
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise RefusedTable(Remark(max(line, reader.line_num), "", f"no CSV: {error}")) from None
        stripped = [cell.strip(" ") for cell in cells]
        if any(stripped):
            yield line, stripped


def _columns(
    line: int, header: list[str], known: Collection[str], required: Collection[str]
) -> list[str]:
    # Spreadsheets capitalise what is typed into a header.
    columns = [name.strip().lower() for name in header]
    wrong = [Remark(line, shown(name), "unknown column") for name in columns if name not in known]
    wrong += [
        Remark(line, name, "the column occurs twice")
        for name in dict.fromkeys(columns)
        if name in known and columns.count(name) > 1
    ]
    wrong += [
        Remark(line, name, "the column is missing") for name in required if name not in columns
    ]
    if wrong:
        raise RefusedTable(*wrong)
    return columns
