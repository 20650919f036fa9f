"""A recorded demand: points in time whose value holds until the next one.

Nothing is mended: a point that is out of order, there twice or no number is refused with its
location, and where points are missing the gaps are reported.
"""

import datetime as dt
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.foundation.documents.values import exact, instant_s
from backend.foundation.errors import InvalidValue
from backend.scenarios.calc.steps import Steps

MOST_POINTS = 5_000_000
MOST_UNITS = 10**12
# Start of the year 2200.
LAST_S = 7_258_118_400
# Location, time and value of a point as stated, and its second since 1970.
Row = tuple[str, object, object, int | None]


@dataclass(frozen=True)
class Gap:
    """A time without points: `missing` more would stand in it at the usual distance."""

    from_s: int
    until_s: int
    missing: int


@dataclass(frozen=True, eq=False)
class DemandTrace:
    """Times (seconds UTC, strictly growing) and values from 0 on."""

    at_s: NDArray[np.int64]
    values: NDArray[np.float64]
    unit: str = ""
    remarks: tuple[str, ...] = ()
    """Doubts of the source, and what was missing in it."""

    # Of dataclasses only those without arrays can be compared field by field.
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DemandTrace)
            and np.array_equal(self.at_s, other.at_s)
            and np.array_equal(self.values, other.values)
            and (self.unit, self.remarks) == (other.unit, other.remarks)
        )

    __hash__ = None  # type: ignore[assignment]

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
        return DemandTrace(steps.instants()[first], values[first], self.unit, self.remarks)

    def points(self) -> list[list[Any]]:
        """The points as a document has them."""
        times = (dt.datetime.fromtimestamp(at, dt.UTC).isoformat() for at in self.at_s.tolist())
        return [[at, value] for at, value in zip(times, self.values.tolist(), strict=True)]


# --- from a scenario document -------------------------------------------------------------------


def trace_from_points(points: Sequence[object]) -> DemandTrace:
    """The trace of a document's points; InvalidValue names the point."""

    def fault(location: str, at: object, value: object) -> InvalidValue:
        if instant_s(at) is None:
            detail = f"{str(at)[:40]!r} is not an ISO 8601 time with zone, of whole seconds"
        elif units_of(value) is None:
            detail = f"{str(value)[:40]!r} is not a number from 0 on to {MOST_UNITS:.0e}"
        else:
            detail = not_later()
        return InvalidValue(location, detail)

    return gather(_points(points), fault)


def not_later() -> str:
    """Fault of a point that is none of the others."""
    return f"is not later than the point before, or the point {MOST_POINTS + 1:,}"


def _points(points: Sequence[object]) -> Iterator[Row]:
    for index, point in enumerate(points):
        at, value = point if isinstance(point, list | tuple) and len(point) == 2 else (None, None)
        yield f"points/{index}", at, value, instant_s(at)


def gather(
    rows: Iterable[Row], fault: Callable[[str, object, object], InvalidValue]
) -> DemandTrace:
    """The rows as a trace; `fault` words what is wrong with one."""
    times, values = array("q"), array("d")
    last = -1
    for location, at, value, second in rows:
        units = units_of(value)
        if second is None or units is None or second <= last or len(times) == MOST_POINTS:
            raise fault(location, at, value)
        last = second
        times.append(second)
        values.append(units)
    if not times:
        raise fault("", None, None)
    return DemandTrace(np.array(times, dtype=np.int64), np.array(values))


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
