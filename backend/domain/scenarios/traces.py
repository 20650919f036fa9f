"""A recorded demand: points in time whose value holds until the next one.

Recordings come as points of a document or as CSV, which is read line by line. Nothing is mended:
what is out of order, there twice or no number is refused with its location, and where
points are missing the gaps are reported.
"""

import csv
import datetime as dt
import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.domain.documents.values import exact, instant_s
from backend.domain.errors import InvalidValue
from backend.domain.scenarios.steps import Steps

MOST_POINTS = 5_000_000
MOST_UNITS = 10**12
# Start of the year 2200.
LAST_S = 7_258_118_400
# Location, time and value of a point.
Row = tuple[str, object, object]


@dataclass(frozen=True)
class Gap:
    """A time without points: `missing` more would stand in it at the usual distance."""

    from_s: int
    until_s: int
    missing: int


@dataclass(frozen=True)
class DemandTrace:
    """Times (seconds UTC, strictly growing) and values from 0 on."""

    at_s: NDArray[np.int64]
    values: NDArray[np.float64]
    unit: str = ""

    @property
    def interval_s(self) -> int | None:
        """The usual distance of two points, their median; None for a single point."""
        return int(np.median(np.diff(self.at_s))) if self.at_s.size > 1 else None

    def gaps(self) -> list[Gap]:
        """Distances of twice the usual one and more. The value before a gap holds through it."""
        usual = self.interval_s
        if usual is None:
            return []
        apart = np.diff(self.at_s)
        wide = np.flatnonzero(apart >= 2 * usual)
        return [
            Gap(int(self.at_s[n]), int(self.at_s[n + 1]), round(int(apart[n]) / usual) - 1)
            for n in wide.tolist()
        ]

    def at_steps(self, steps: Steps) -> NDArray[np.float64]:
        """The value that holds when each step starts; 0 before the first point."""
        index = np.searchsorted(self.at_s, steps.instants(), side="right") - 1
        return np.where(index < 0, 0.0, self.values[np.maximum(index, 0)])

    def seen(self, steps: Steps) -> "DemandTrace":
        """The fewest points that look the same at every step."""
        values = self.at_steps(steps)
        # No value is below 0, so the first step counts as a change.
        first = np.flatnonzero(np.diff(values, prepend=-1.0))
        return DemandTrace(steps.instants()[first], values[first], self.unit)

    def points(self) -> list[list[Any]]:
        """The points as a document has them."""
        times = (dt.datetime.fromtimestamp(at, dt.UTC).isoformat() for at in self.at_s.tolist())
        return [[at, value] for at, value in zip(times, self.values.tolist(), strict=True)]


# --- from a scenario document -------------------------------------------------------------------


def trace_from(points: Sequence[object] | None, csv_text: str | None) -> DemandTrace:
    """The trace of `points` or else of `csv`; InvalidValue names the point, or the csv."""
    if points is not None:
        return _gathered(_points(points), is_csv=False)
    return csv_trace((csv_text or "").splitlines())


def _points(points: Iterable[object]) -> Iterator[Row]:
    for index, point in enumerate(points):
        at, value = point if isinstance(point, list | tuple) and len(point) == 2 else (None, None)
        yield f"points/{index}", at, value


# --- from CSV ----------------------------------------------------------------------------------


def csv_trace(lines: Iterable[str]) -> DemandTrace:
    """Rows `timestamp,value`: ISO 8601 with zone or seconds since 1970. A first row that holds no
    number is a header, and its second name the unit. InvalidValue names the line."""
    unit = ""
    rows = ((n, row) for n, row in enumerate(csv.reader(_unmarked(lines)), start=1) if row)
    head = list(itertools.islice(rows, 1))
    if head and len(head[0][1]) == 2 and exact(head[0][1][1].strip()) is None:
        name, at = head[0][1][1].strip(), head[0][1][0]
        if _second(at.strip()) is None:
            unit, head = name[:60], []
    points = ((f"line {n}", *_pair(row)) for n, row in itertools.chain(head, rows))
    try:
        return _gathered(points, is_csv=True, unit=unit)
    except csv.Error as error:
        raise InvalidValue("csv", str(error)) from error


def _unmarked(lines: Iterable[str]) -> Iterator[str]:
    """The lines without the mark that some programs begin a file with."""
    given = iter(lines)
    for first in itertools.islice(given, 1):
        yield first.removeprefix("\ufeff")
    yield from given


def _pair(row: list[str]) -> tuple[str, str]:
    return (row[0].strip(), row[1].strip()) if len(row) == 2 else ("", "")


def _gathered(rows: Iterable[Row], *, is_csv: bool, unit: str = "") -> DemandTrace:
    times, values = array("q"), array("d")
    last = -1
    for location, at, value in rows:
        second = _second(at) if is_csv else instant_s(at)
        units = units_of(value)
        if second is None or units is None or second <= last or len(times) == MOST_POINTS:
            raise _refused(location, at, value, is_csv=is_csv)
        last = second
        times.append(second)
        values.append(units)
    if not times:
        raise InvalidValue("csv" if is_csv else "points", "at least one point is needed")
    return DemandTrace(np.array(times, dtype=np.int64), np.array(values), unit)


def _refused(location: str, at: object, value: object, *, is_csv: bool) -> InvalidValue:
    """What is wrong with a point."""
    form = "an ISO 8601 time with zone" + (" or seconds since 1970" if is_csv else "")
    if (_second(at) if is_csv else instant_s(at)) is None:
        detail = f"{str(at)[:40]!r} is not {form}, of whole seconds"
    elif units_of(value) is None:
        detail = f"{str(value)[:40]!r} is not a number from 0 on to {MOST_UNITS:.0e}"
    else:
        detail = f"is not later than the point before, or the point {MOST_POINTS + 1:,}"
    return (
        InvalidValue("csv", f"{location}: {detail}") if is_csv else InvalidValue(location, detail)
    )


def units_of(value: object) -> float | None:
    """A finite number from 0 on; text is read as it stands there."""
    if isinstance(value, str):
        # float() would take 1_000, inf and nan.
        if len(value) > 40 or not value[:1].isdigit() or not value.isascii() or "_" in value:
            return None
        try:
            units = float(value)
        except ValueError:
            return None
        return units if 0 <= units <= MOST_UNITS else None
    number = exact(value)
    return float(number) if number is not None and 0 <= number <= MOST_UNITS else None


def _second(at: object) -> int | None:
    """An ISO time with zone, or whole seconds since 1970, before 2200."""
    if isinstance(at, str) and at.isascii() and at.isdigit():
        # Thirteen digits are milliseconds, which are never taken for seconds.
        return int(at) if len(at) <= 10 and int(at) < LAST_S else None
    return instant_s(at)
