"""A table that a person sends: bounded, every refusal with its line and column.

CSV, XLSX or pasted cells (table_files); headers in four languages (table_headers); figures as people
write them, where they can mean one thing only (table_figures).
"""

import datetime as dt
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from backend.catalog.calc.tables import table_figures
from backend.catalog.calc.tables.table_files import MAX_BYTES, Line, sheet
from backend.catalog.calc.tables.table_headers import (
    LEFT_OUT,
    SIGNS,
    Header,
    header,
    header_at,
    is_total,
    plain,
    score,
)
from backend.catalog.calc.tables.table_remarks import RefusedTable, Remark, shown
from backend.money.money import CURRENCIES
from backend.money.pricing.quoted import amount_fault

__all__ = ["MAX_BYTES", "MAX_ROWS", "RefusedTable", "Remark", "TableRow", "records", "shown"]
MAX_ROWS = 5_000
LOCALE = "locale"
MONEY = ("monthly_net", "monthly_gross", "setup_net", "setup_gross", "amount", "setup")
DOLLARS = frozenset({"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "TWD", "CLP", "COP", "ARS"})
_AMOUNT = re.compile(
    r"(?P<sign>us\$|[$€£]|z\u0142|kč|[a-z]{3}(?= ?[-+0-9]))? ?(?P<figure>[-+0-9][-+0-9.,' ’\u00a0\u202f]*?)"
    r"(?P<dash>,-|\.-|,--)? ?(?P<code>us\$|[$€£]|z\u0142|kč|[a-z]{3})?"
    r"(?: ?(?:/|per|pro|par|por|al) ?(?:mo|month|monat|mois|mes)\.?)?",
    re.IGNORECASE,
)
# What makes a spreadsheet take a text for a formula.
FORMULA = re.compile(r"['\s]*[=+\-@＝＋－＠]['\s=+\-@＝＋－＠]*|'\s+")
# Characters that move a terminal's cursor, or turn the text behind them round.
# A cell is shown in terminals and pages; characters that turn text round can make 1 look like another
# number.
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass
class TableRow:
    """A row. What cannot be read is None or "" and leaves a remark in `refused`."""

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
        """A word of a fixed set, in lower case."""
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
        try:
            return table_figures.number(cell, self.cells.get(LOCALE, ""))
        except ValueError as error:
            self.refuse(column, f"{shown(cell)!r} {error}")
            return None

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
        # An export states GiB to the digits of a float, which may be a hair below the whole byte.
        return int((value * unit).to_integral_value())

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
            return table_figures.day(cell, self.cells.get(LOCALE, ""))
        except ValueError as error:
            self.refuse(column, f"{shown(cell)!r} {error}")
            return None

    def moment(self, column: str) -> dt.datetime | None:
        """A time as exports print it, of UTC where it names no zone; a day is its begin."""
        cell = self.cells.get(column, "")
        if not cell:
            return None
        try:
            time = dt.datetime.fromisoformat(cell)
            return time.astimezone(dt.UTC) if time.tzinfo else time.replace(tzinfo=dt.UTC)
        except (ValueError, OverflowError):
            self.refuse(column, f"{shown(cell)!r} is not a time such as 2026-11-10T08:00:00Z")
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
        cell = self.cells.get(column, "")
        code = SIGNS.get(cell.lower(), cell.upper())
        if not code and is_needed:
            # A price taken for dollars that was in euros is wrong by a tenth, and looks right.
            self.refuse(column, "no currency: none is taken for granted")
        elif code and code not in CURRENCIES:
            self.refuse(column, f"{shown(cell)!r} is not a three-letter code of a currency in use")
            return ""
        return code

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
        name = self.cells.get(LOCALE, "")
        if name and not table_figures.is_known_locale(name):
            self.refuse(LOCALE, f"{shown(name)!r} is not known; use one such as en, de or fr-FR")

    def part_money(self, currencies: Mapping[str, str]) -> None:
        """Part amounts from their currency, which must be that of the line where it has one."""
        cells = dict(self.cells)
        for column in MONEY:
            parted = _AMOUNT.fullmatch(cells.get(column, ""))
            if parted is None:
                continue
            cells[column] = parted["figure"].strip()
            signs = {text.lower() for text in (parted["sign"], parted["code"]) if text}
            codes = {SIGNS.get(sign, sign.upper()) for sign in signs}
            codes |= {currencies[column]} if column in currencies else set()
            self._agree(column, codes, cells)
        self.cells = cells

    def _agree(self, column: str, codes: set[str], cells: dict[str, str]) -> None:
        stated = SIGNS.get(cells.get("currency", "").lower(), cells.get("currency", "").upper())
        codes = codes - ({"$"} if (codes | {stated}) & DOLLARS else set())
        if "$" in codes and not stated:
            self.refuse(column, "dollars of which country? state the currency, such as USD")
        elif len(codes | ({stated} if stated else set())) > 1:
            both = " and ".join(sorted(codes | {stated} - {""}))
            self.refuse(column, f"the line names two currencies: {shown(both)}")
        elif codes and not stated:
            cells["currency"] = codes.pop()


@dataclass(frozen=True)
class Options:
    """A person's statements about a table."""

    defaults: Mapping[str, str] = field(default_factory=dict)
    """By column: the value of cells that are empty, such as locale, currency, provider, quoted_on."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """By header: the column that it means, or - for one that is not read."""


@dataclass
class ReadTable:
    """The rows of a table, remarks on lines that are none, and on the table as a whole."""

    rows: list[TableRow]
    is_export: bool = False
    """True if Rackrate itself wrote the header."""
    wrong: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)


def records(
    raw: bytes | str,
    *,
    known: Collection[str],
    required: Collection[str],
    exported: str = "",
    options: Options | None = None,
) -> ReadTable:
    """The rows of a table that has one header line, and remarks on rows of another width.

    A header that has the column `exported` is of Rackrate's own list, which has calculated figures
    beside the known columns: they are left out. Raises RefusedTable for a file that cannot be read,
    and for an unknown, repeated or missing column.
    """
    options = options or Options()
    mapping = {plain(name): column for name, column in options.columns.items()}
    read = sheet(raw, lambda cells: score(cells, known, mapping))
    lines = read.lines
    if not lines:
        raise RefusedTable(Remark(1, "", "the file is empty"))
    at = header_at(lines, known, mapping)
    body = [(number, _trim(cells, len(lines[at][1]))) for number, cells in lines[at + 1 :]]
    table = ReadTable([], notes=list(read.notes))
    column_names = {name.lower() for name in lines[at][1]}
    if exported and exported in column_names:
        table.is_export, known = True, {*known, exported}
        options = _of_export(body, options)
        mapping = {plain(name): LEFT_OUT for name in column_names - known} | mapping
    names = header(lines[at], body, known, mapping)
    if at:
        detail = f"the header; {at} lines of titles above it are left out"
        table.notes.append(Remark(lines[at][0], "", detail))
    table.notes += [
        Remark(lines[at][0], shown(name), "does not say whether it is net: taken as net")
        for name in names.unclear
    ]
    _collect(table, body, names, options, is_ragged=read.is_ragged)
    _check_required(lines[at][0], table, names, required, options)
    return table


def _of_export(body: list[Line], options: Options) -> Options:
    """With the locale that the figures of an export show: its dialects differ in the decimal mark."""
    if options.defaults.get(LOCALE):
        return options
    shown_locale = table_figures.guess_locale(cell for _, cells in body for cell in cells)
    return Options({**options.defaults, LOCALE: shown_locale}, options.columns)


def _trim(cells: list[str], width: int) -> list[str]:
    """Without the empty cells that a spreadsheet appends."""
    while len(cells) > width and not cells[-1]:
        cells = cells[:-1]
    return cells


def _collect(
    table: ReadTable, body: list[Line], names: Header, options: Options, *, is_ragged: bool
) -> None:
    width = len(names.columns)
    for line, cells in body:
        if is_total(cells):
            table.notes.append(Remark(line, "", "a line of totals is left out"))
            continue
        if len(table.rows) + len(table.wrong) == MAX_ROWS:
            raise RefusedTable(Remark(line, "", f"more than {MAX_ROWS} rows"))
        # A row of another width has a stray separator, so every cell behind that means another column.
        if len(cells) != width and is_ragged:
            table.wrong.append(Remark(line, "", f"{len(cells)} cells under {width} columns"))
            continue
        padded = cells[:width] + [""] * (width - len(cells))
        known_cells = {name: cell for name, cell in zip(names.columns, padded, strict=True) if name}
        stated = {name: value for name, value in options.defaults.items() if value}
        row = TableRow(line, {**known_cells, **{
            name: value for name, value in stated.items() if not known_cells.get(name)
        }})  # fmt: skip
        row.check_locale()
        row.part_money(names.currencies)
        table.rows.append(row)


def _check_required(
    line: int, table: ReadTable, names: Header, required: Collection[str], options: Options
) -> None:
    present = {name for name in names.columns if name}
    present |= {name for name, value in options.defaults.items() if value}
    # Amounts may name their currency themselves.
    present |= {"currency"} if any(row.has("currency") for row in table.rows) else set()
    refused_currency = any(
        "currency" in fault.detail for row in table.rows for fault in row.refused
    )
    present |= {"currency"} if refused_currency else set()
    missing = [
        Remark(line, name, "the column is missing: add it, or state one value for all lines")
        for name in required
        if name not in present
    ]
    if missing:
        raise RefusedTable(*missing)
