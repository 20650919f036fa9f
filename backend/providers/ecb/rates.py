"""Exchange rates as the European Central Bank publishes them: units of a currency for one euro.

XML of a day, of ninety days or of all since 1999, and the CSV of all. Nothing is taken for granted:
a rate is as written or left out with the reason.
"""

import csv
import datetime as dt
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from xml.parsers import expat

from backend.foundation.errors import InvalidValue
from backend.money.price_lists.answers import shown

SOURCE = "European Central Bank euro foreign exchange reference rates"
# Characters. All rates since 1999 are some eight million as XML; a zip archive may unpack to anything.
LARGEST_TEXT = 64 * 2**20
# What is stored of a rate. None is rounded to fit: a rounded rate would be no longer the bank's.
DECIMALS, WHOLE_DIGITS = 10, 10
RATE = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?", re.ASCII)
CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
NAMESPACE = "http://www.ecb.int/vocabulary/2002-08-01/eurofxref"
CUBE = f"{NAMESPACE} Cube"
MISSING = {"", "N/A"}
FILE = "rates"
# Spreadsheets write it in front of a CSV that they save.
MARK = "\ufeff"
ZIP_MAGIC = b"PK\x03\x04"
MIB = 2**20


class WhyNot(StrEnum):
    """Why a cell is no rate."""

    MISSING = "missing"
    NOT_A_NUMBER = "not_a_number"
    ZERO = "zero"
    TOO_PRECISE = "too_precise"
    TOO_LARGE = "too_large"
    DUPLICATE = "duplicate"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class ParsedRate:
    """Units of `currency` for one euro on `date`."""

    date: dt.date
    currency: str
    units_per_eur: Decimal


@dataclass(frozen=True, slots=True)
class SkippedRate:
    """A cell that is no rate, and why."""

    date: dt.date
    currency: str
    reason: WhyNot
    detail: str = ""


Result = ParsedRate | SkippedRate
# Day, currency, and what is written there.
Cell = tuple[dt.date, str, str]


def parse(text: str) -> list[Result]:
    """The rates of a text in either form, one a day and currency.

    Raises InvalidValue, naming the line, for a text that is not of this form.
    """
    if len(text) > LARGEST_TEXT:
        raise InvalidValue(FILE, f"longer than {LARGEST_TEXT} characters")
    plain = text.removeprefix(MARK).lstrip()
    return list(_settle(_of_xml(plain) if plain.startswith("<") else _of_csv(plain)))


# --- both forms ---------------------------------------------------------------------------------------


def _settle(cells: Iterable[Cell]) -> Iterator[Result]:
    """At most one rate a day and currency: cells that agree are one, of those that differ none is
    right."""
    by_cell: dict[tuple[dt.date, str], list[Result]] = {}
    for day, currency, written in cells:
        by_cell.setdefault((day, currency), []).append(_read(day, currency, written))
    for (day, currency), readings in by_cell.items():
        rates = {reading.units_per_eur for reading in readings if isinstance(reading, ParsedRate)}
        # Neither is taken: a wrong rate moves every price in that currency.
        if len(rates) > 1:
            rates_text = ", ".join(sorted(map(str, rates)))
            yield SkippedRate(day, currency, WhyNot.AMBIGUOUS, shown(rates_text))
            continue
        # A reading that is no rate does not count against one that is.
        yield next(
            (reading for reading in readings if isinstance(reading, ParsedRate)), readings[0]
        )
        for _ in readings[1:]:
            yield SkippedRate(day, currency, WhyNot.DUPLICATE)


def _read(day: dt.date, currency: str, written: str) -> Result:
    if written in MISSING:
        return SkippedRate(day, currency, WhyNot.MISSING)
    if not RATE.fullmatch(written):
        return SkippedRate(day, currency, WhyNot.NOT_A_NUMBER, shown(written))
    whole, _, fraction = written.partition(".")
    if len(fraction.rstrip("0")) > DECIMALS:
        return SkippedRate(day, currency, WhyNot.TOO_PRECISE, shown(written))
    if len(whole.lstrip("0")) > WHOLE_DIGITS:
        return SkippedRate(day, currency, WhyNot.TOO_LARGE, shown(written))
    rate = Decimal(written)
    return ParsedRate(day, currency, rate) if rate else SkippedRate(day, currency, WhyNot.ZERO)


def _day(written: str, line: int) -> dt.date:
    try:
        if DAY.fullmatch(written):
            return dt.date.fromisoformat(written)
    except ValueError:
        pass
    raise InvalidValue(f"{FILE} line {line}", f"{shown(written)!r} is not a day such as 2026-10-30")


def _currency(written: str, line: int) -> str:
    if not CURRENCY.fullmatch(written):
        raise InvalidValue(f"{FILE} line {line}", f"{shown(written)!r} is not a three-letter code")
    return written


# --- XML ----------------------------------------------------------------------------------------------


class _Document:
    """Cells of <Cube time="…"><Cube currency="…" rate="…"/></Cube>, as expat walks over them."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.days = 0
        self._day: dt.date | None = None
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        # Without a document type there are no entities, so none that grow or name files.
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, text: str) -> None:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise InvalidValue(
                f"{FILE} line {error.lineno}", f"not XML: {expat.ErrorString(error.code)}"
            ) from error

    def _doctype(self, *_: object) -> None:
        raise InvalidValue(f"{FILE} line {self._line}", "a document type is not read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name != CUBE:
            return
        if "time" in attributes:
            self._day = _day(attributes["time"], self._line)
            self.days += 1
        elif "currency" in attributes:
            if self._day is None:
                raise InvalidValue(f"{FILE} line {self._line}", "a rate stands before any day")
            currency = _currency(attributes["currency"], self._line)
            self.cells.append((self._day, currency, attributes.get("rate", "").strip()))

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber


def _of_xml(text: str) -> list[Cell]:
    document = _Document()
    document.read(text)
    # XML of another kind would else be read as no rates at all, without a word.
    if not document.days:
        raise InvalidValue(FILE, "holds no day of the ECB's reference rates")
    return document.cells


# --- CSV ----------------------------------------------------------------------------------------------


def _of_csv(text: str) -> Iterator[Cell]:
    """Date,USD,JPY,… and a row a day; the ECB ends each line with a comma."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        if header[:1] != ["Date"]:
            raise InvalidValue(f"{FILE} line 1", "no header that begins with Date")
        currencies = [_currency(name, 1) for name in header[1 : _width(header)]]
        for row in rows:
            if not row:
                continue
            line = rows.line_num
            if len(row) != len(header):
                detail = f"{len(row)} of {len(header)} columns"
                raise InvalidValue(f"{FILE} line {line}", detail)
            day = _day(row[0].strip(), line)
            for currency, written in zip(currencies, row[1:], strict=False):
                yield day, currency, written.strip()
    except csv.Error as error:
        raise InvalidValue(f"{FILE} line {rows.line_num}", str(error)) from error


def _width(header: list[str]) -> int:
    # The ECB ends each line with a comma.
    return len(header) - 1 if header[-1] == "" else len(header)


# --- files -------------------------------------------------------------------------------------------


def text_of(content: bytes) -> str:
    """The text of a file of rates, which may be the one file in a zip archive.

    Raises InvalidValue for another archive, one that grows beyond the limit, and no UTF-8.
    """
    if content.startswith(ZIP_MAGIC):
        content = _unpack(content)
    if len(content) > LARGEST_TEXT:
        raise InvalidValue(FILE, f"longer than {LARGEST_TEXT // MIB} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidValue(FILE, "not UTF-8") from error


def _unpack(content: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if len(names) != 1:
                raise InvalidValue(FILE, f"an archive of {len(names)} files instead of one")
            # What its directory says of the size is not relied on.
            with archive.open(names[0]) as file:
                # One more than allowed, so that the length of what is read says whether there is more.
                return file.read(LARGEST_TEXT + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise InvalidValue(FILE, f"not an archive that can be read: {error}") from error
