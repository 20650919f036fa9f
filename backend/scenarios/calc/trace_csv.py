"""A recorded demand from CSV: `time,value` lines, and the tables that Grafana exports.

A table has one column a series (a header names them) or one row a point of a series (columns Series,
Time and Value). Lines are read one after another. Times are ISO 8601 with a zone, or seconds,
milliseconds and so on since 1970. An empty cell is a gap, which is remarked on; anything else
that is no plain number is refused with its line and the way out.
"""

import csv
import datetime as dt
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from backend.foundation.documents.values import exact, instant_s
from backend.foundation.errors import InvalidValue
from backend.scenarios.calc.traces import (
    LAST_S,
    MOST_UNITS,
    DemandTrace,
    Row,
    gather,
    not_later,
    units_of,
)

TIME_NAMES = frozenset({"time", "timestamp", "date", "datetime", "epoch"})
SERIES_NAMES = frozenset({"series", "metric"})
# Digits of a time since 1970 by its unit: those of seconds last until 2286.
DIGITS = ((10, 1), (14, 10**3), (17, 10**6), (20, 10**9))
MOST_NAMED = 10
MOST_MISSING = 5
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?|\d{1,3}(\.\d{3})+,\d+")
_DECIMAL_COMMA = re.compile(r"\d+,\d+")
_WITH_UNIT = re.compile(r"[0-9.,]+\s*[^\s0-9.,].*")

_SEPARATOR = re.compile(r'"?sep=([,;\t])"?\s*')
_SECONDS = re.compile(r"\d{9,10}\.\d{1,9}", re.ASCII)
_SAR = re.compile(r"Linux \S+ \(.+\)")

Line = tuple[int, list[str]]


def csv_trace(lines: Iterable[str], series: str = "") -> DemandTrace:
    """The trace of a CSV; InvalidValue names the line. `series` chooses one of several."""
    table = _Table(lines, series)
    try:
        trace = gather(table.rows(), table.fault)
    except csv.Error as error:
        raise InvalidValue("csv", str(error)) from error
    return replace(trace, unit=table.unit, remarks=tuple(table.remarks()))


class _Table:
    """The lines of a file with what its first one says of the columns."""

    def __init__(self, lines: Iterable[str], series: str) -> None:
        self.unit = ""
        self._series = series
        self._missing: list[str] = []
        self._missing_count = 0
        self._lines = _Lines(lines)

    def rows(self) -> Iterator[Row]:
        """Points in the order of the file."""
        first = next(self._lines, None)
        if first is None:
            return
        number, cells = first
        head = [cell.strip() for cell in cells]
        if _second(head[0]) is not None or not self._is_header(head):
            yield from self._pairs(itertools.chain([first], self._lines), 0, 1, len(head), number)
            return
        names = [name.casefold() for name in head]
        time = next((n for n, name in enumerate(names) if name in TIME_NAMES), 0)
        if len(head) == 3 and SERIES_NAMES.intersection(names) and "value" in names:
            kind = next(n for n, name in enumerate(names) if name in SERIES_NAMES)
            yield from self._by_series(time, kind, names.index("value"))
            return
        values = [n for n in range(len(head)) if n != time]
        column = self._choose_column([head[n] for n in values], values)
        self.unit = head[column][:60]
        yield from self._pairs(self._lines, time, column, len(head), number + 1)

    def _is_header(self, head: list[str]) -> bool:
        return len(head) > 1 and all(exact(cell) is None for cell in head)

    def _choose_column(self, names: list[str], columns: list[int]) -> int:
        if len(names) == 1 and self._series in ("", names[0]):
            return columns[0]
        if names.count(self._series) != 1:
            raise _unchosen(names)
        return columns[names.index(self._series)]

    def _pairs(
        self, lines: Iterator[Line], time: int, column: int, width: int, first: int
    ) -> Iterator[Row]:
        for number, cells in lines:
            if len(cells) != width or width < 2 or (width > 2 and not self.unit):
                detail = (
                    f"line {number}: {len(cells)} columns; a time and a value are needed, or a first "
                    "line that names the columns"
                )
                raise InvalidValue("csv", detail)
            at, value = cells[time].strip(), cells[column].strip()
            if value in ("", "null") and _second(at) is not None:
                self._miss(number, at)
                continue
            yield self._row(number, at, value)

    def _by_series(self, time: int, kind: int, column: int) -> Iterator[Row]:
        seen: dict[str, None] = {}
        for number, cells in self._lines:
            if len(cells) != 3:
                raise InvalidValue("csv", f"line {number}: {len(cells)} columns instead of 3")
            name = cells[kind].strip()
            seen.setdefault(name)
            if not self._series and len(seen) > 1:
                rest = (row[kind].strip() for _, row in self._lines if len(row) == 3)
                raise _unchosen(list(dict.fromkeys([*seen, *rest])))
            if self._series and name != self._series:
                continue
            self.unit = name[:60]
            at, value = cells[time].strip(), cells[column].strip()
            if value in ("", "null") and _second(at) is not None:
                self._miss(number, at)
            else:
                yield self._row(number, at, value)
        if self._series and self._series not in seen:
            raise _unchosen(list(seen))

    def _row(self, number: int, at: str, value: str) -> Row:
        # In a file whose columns are divided by semicolons a comma may be that of decimals.
        is_comma = self._lines.delimiter == ";" and _DECIMAL_COMMA.fullmatch(value)
        if is_comma and not _THOUSANDS.fullmatch(value):
            value = value.replace(",", ".")
        return f"line {number}", at, value, _second(at)

    def _miss(self, number: int, at: str) -> None:
        self._missing_count += 1
        if len(self._missing) < MOST_MISSING:
            when = dt.datetime.fromtimestamp(_second(at) or 0, dt.UTC).isoformat()
            self._missing.append(f"no value at {when} (line {number}); the value before holds")

    def remarks(self) -> Iterator[str]:
        """The gaps of the series in words."""
        name = self.unit or "the series"
        yield from (f"{name}: {missing}" for missing in self._missing)
        if self._missing_count > len(self._missing):
            yield f"{name}: and {self._missing_count - len(self._missing)} more values are missing"

    def fault(self, location: str, at: object, value: object) -> InvalidValue:
        if not location:
            return InvalidValue("csv", "at least one point is needed")
        faults = [fault for fault in (_time_fault(str(at)), _value_fault(str(value))) if fault]
        return InvalidValue("csv", f"{location}: {'; '.join(faults) or not_later()}")


class _Lines(Iterator[Line]):
    """Numbered rows of a file, without its byte order mark and its empty lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        given, first = iter(lines), 1
        head = next(given, "").removeprefix("\ufeff")
        # How Grafana tells a spreadsheet what separates the cells.
        if _SEPARATOR.fullmatch(head):
            head, first = next(given, ""), 2
        if _SAR.match(head):
            detail = "this is sar's report for people: give the output of `sadf -dU -- -u`"
            raise InvalidValue("csv", f"line {first}: {detail}, and choose one of its columns")
        self.delimiter = next((mark for mark in ";\t" if mark in head), ",")
        rows = csv.reader(itertools.chain([head], given), delimiter=self.delimiter)
        self._rows = ((n, row) for n, row in enumerate(rows, start=first) if row)

    def __next__(self) -> Line:
        return next(self._rows)


def _unchosen(names: list[str]) -> InvalidValue:
    shown = ", ".join(name[:60] for name in names[:MOST_NAMED]) or "none"
    return InvalidValue("csv", f"choose one of its {len(names)} series: {shown}")


def _time_fault(at: str) -> str:
    if _second(at) is not None:
        return ""
    shown = repr(at[:40])
    try:
        has_no_zone = dt.datetime.fromisoformat(at).tzinfo is None
    except ValueError:
        has_no_zone = False
    if has_no_zone and not at.isdigit():
        return f"{shown} has no time zone: export times in UTC, or with an offset such as +00:00"
    form = "an ISO 8601 time with zone or seconds or milliseconds since 1970"
    return f"{shown} is not {form}, of whole seconds"


def _value_fault(value: str) -> str:
    if units_of(value) is not None:
        return ""
    shown = repr(value[:40])
    if _THOUSANDS.fullmatch(value):
        return f"{shown} has a thousands separator: export plain numbers such as 1721.5"
    if _WITH_UNIT.fullmatch(value) and " " in value:
        return f"{shown} is rounded and has a unit: export raw values (Grafana: formatted data off)"
    return f"{shown} is not a number from 0 on to {MOST_UNITS:.0e}"


def _second(at: str) -> int | None:
    """Seconds since 1970 of a time; parts of one are seen from the next whole second on."""
    if at.isascii() and at.isdigit():
        unit = next((unit for digits, unit in DIGITS if len(at) <= digits), 0)
        second = -(-int(at) // unit) if unit else LAST_S
        return second if second < LAST_S else None
    if _SECONDS.fullmatch(at):
        return math.ceil(Fraction(at))
    return instant_s(at.removesuffix(" UTC") + "+00:00" if at.endswith(" UTC") else at)
