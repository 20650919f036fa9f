"""A recorded demand: points in time whose value holds until the next one."""

import csv
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.domain.scenarios.reading import Node, exact, instant_s

MOST_POINTS = 5_000_000


@dataclass(frozen=True)
class Trace:
    """Times (seconds UTC, strictly growing) and values from 0 on."""

    at_s: NDArray[np.int64]
    values: NDArray[np.float64]


def trace_from(node: Node) -> Trace | None:
    """The trace of `points` or of `csv`; None where it has a fault, which the node keeps."""
    if node.has("points") == node.has("csv"):
        node.fault("points", "exactly one of points and csv is needed")
        return None
    if node.has("points"):
        return _checked(node, "points", _points(node, node.list("points", 1, MOST_POINTS)))
    text = node.values["csv"]
    if not isinstance(text, str):
        node.fault("csv", "text is needed")
        return None
    return _checked(node, "csv", _lines(text))


def _points(node: Node, points: Iterable[object]) -> Iterator[tuple[str, object, object]]:
    for place, point in enumerate(points):
        at, value = point if isinstance(point, list | tuple) and len(point) == 2 else (None, None)
        yield f"/{place}", at, value


def _lines(text: str) -> Iterator[tuple[str, object, object]]:
    """Rows `timestamp,value`; a first row that holds no number is a header."""
    for place, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if not row or (place == 1 and len(row) == 2 and exact(row[1].strip()) is None):
            continue
        at, value = row if len(row) == 2 else ("", "")
        yield f" line {place}", at.strip(), value.strip()


def _checked(node: Node, name: str, rows: Iterator[tuple[str, object, object]]) -> Trace | None:
    times: list[int] = []
    values: list[float] = []
    for place, at, value in rows:
        second = _second(at, is_epoch_known=name == "csv")
        units = exact(value)
        wrong = ""
        if second is None:
            wrong = f"{str(at)[:40]!r} is not an ISO 8601 time with zone, of whole seconds"
        elif units is None or units < 0 or not math.isfinite(float(units)):
            wrong = f"{str(value)[:40]!r} is not a number from 0 on"
        elif times and second <= times[-1]:
            wrong = "is not later than the point before"
        if wrong or second is None or units is None:
            node.fault(name + place, wrong)
            return None
        times.append(second)
        values.append(float(units))
    if not times:
        node.fault(name, "at least one point is needed")
        return None
    return Trace(np.array(times, dtype=np.int64), np.array(values))


def _second(at: object, *, is_epoch_known: bool) -> int | None:
    found = instant_s(at)
    if found is not None or not is_epoch_known:
        return found
    epoch = exact(at)
    return int(epoch) if epoch is not None and epoch.denominator == 1 else None
