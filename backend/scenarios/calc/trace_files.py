"""Recorded demand from files: CSV, and the JSON that CloudWatch and Prometheus export.

CloudWatch lists the newest point first or in no order at all, so the points of JSON are put in order;
what is there twice or no number is refused with its location.
"""

import datetime as dt
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from backend.foundation.documents.values import exact
from backend.foundation.errors import InvalidValue
from backend.scenarios.calc.trace_csv import csv_trace
from backend.scenarios.calc.traces import LAST_S, DemandTrace, units_of

COMPLETE, PARTIAL = "Complete", "PartialData"
MOST_MESSAGES = 10
STATISTICS = ("Average", "Sum", "Maximum", "Minimum", "SampleCount")


def import_trace(lines: Iterable[str], *, series: str = "", statistic: str = "") -> DemandTrace:
    """The trace of a file: CSV, or the JSON of CloudWatch or Prometheus.

    CSV is read line by line. `series` chooses one of several series, by label or
    name, `statistic` one of several of CloudWatch. InvalidValue names the location of a fault.
    """
    given = iter(lines)
    # Looked at and put back, as what is read may be of any size and come only once.
    head = list(itertools.islice(itertools.dropwhile(lambda line: not line.strip(), given), 1))
    if head and head[0].lstrip("\ufeff \t")[:1] in {"{", "["}:
        return _json_trace("".join([*head, *given]), series, statistic)
    return csv_trace(itertools.chain(head, given), series)


def _json_trace(text: str, series: str, statistic: str) -> DemandTrace:
    try:
        document = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InvalidValue("", f"this is no JSON: {str(error)[:100]}") from error
    if isinstance(document, dict) and "MetricDataResults" in document:
        return _metric_data(document, series)
    if isinstance(document, dict) and "Datapoints" in document:
        return _statistics(document["Datapoints"], statistic)
    if isinstance(document, dict) and {"data", "error"} & document.keys():
        return _prometheus(document, series)
    detail = "neither MetricDataResults or Datapoints of CloudWatch nor data of Prometheus"
    raise InvalidValue("", detail)


def _metric_data(document: Mapping[str, Any], series: str) -> DemandTrace:
    """get-metric-data: times and values side by side, the newest first as a rule."""
    results = _objects(document["MetricDataResults"])
    labels = [str(result.get("Label", result.get("Id", ""))) for result in results]
    ids = [str(result.get("Id", "")) for result in results]
    if series not in labels and ids.count(series) == 1:
        series = labels[ids.index(series)]
    index = _which(labels, series, "/MetricDataResults")
    item = results[index]
    status = str(item.get("StatusCode", COMPLETE))
    if status not in (COMPLETE, PARTIAL):
        said = "; ".join(_messages(item, document)) or "no reason is given"
        detail = f"CloudWatch says {status[:40]} for {labels[index][:60]}: fetch it again ({said})"
        raise InvalidValue(f"/MetricDataResults/{index}", detail)
    times, values = item.get("Timestamps"), item.get("Values")
    name = f"/MetricDataResults/{index}"
    if not isinstance(times, list) or not isinstance(values, list) or len(times) != len(values):
        raise InvalidValue(name, "as many Timestamps as Values are needed")
    rows = [(f"{name}/Values/{n}", at, value) for n, (at, value) in _number_rows(times, values)]
    trace = _sort_rows(rows, labels[index])
    return replace(trace, remarks=tuple(_reservations(document, results, index)))


def _reservations(
    document: Mapping[str, Any], results: list[dict[str, Any]], index: int
) -> Iterator[str]:
    """CloudWatch's remarks on the completeness of its own answer."""
    if str(results[index].get("StatusCode", COMPLETE)) == PARTIAL:
        yield "CloudWatch says PartialData: points are missing; fetch a shorter time, or again"
    if document.get("NextToken"):
        yield "CloudWatch has more pages (NextToken): fetch all of them, without --max-items"
    yield from _messages(results[index], document)
    for n, result in enumerate(results):
        status = str(result.get("StatusCode", COMPLETE))
        if n != index and status != COMPLETE:
            name = f"{result.get('Id', '')} {result.get('Label', '')}".strip()
            yield f"another series, {name[:80]}, is {status[:40]}"


def _messages(*holders: Mapping[str, Any]) -> Iterator[str]:
    for holder in holders:
        for message in _objects(holder.get("Messages"))[:MOST_MESSAGES]:
            yield f"CloudWatch says {message.get('Code', '')}: {str(message.get('Value', ''))[:200]}"


def _number_rows(times: list[Any], values: list[Any]) -> Iterator[tuple[int, tuple[Any, Any]]]:
    return enumerate(zip(times, values, strict=True))


def _statistics(points: object, statistic: str) -> DemandTrace:
    """get-metric-statistics: points in any order, each with the statistics that were asked for."""
    datapoints = [
        # Percentiles have a place of their own.
        {**point, **_mapping(point.get("ExtendedStatistics"))}
        for point in _objects(points)
    ]
    first = datapoints[0] if datapoints else {}
    percentiles = _mapping(first.get("ExtendedStatistics"))
    known = [name for name in (*STATISTICS, *percentiles) if name in first]
    if not statistic and len(known) == 1:
        statistic = known[0]
    if statistic not in known:
        raise InvalidValue("/Datapoints", f"choose one statistic of {', '.join(known) or 'none'}")
    rows = [
        (f"/Datapoints/{n}/{statistic}", point.get("Timestamp"), point.get(statistic))
        for n, point in enumerate(datapoints)
    ]
    return _sort_rows(rows, str(datapoints[0].get("Unit", "")))


def _prometheus(document: Mapping[str, Any], series: str) -> DemandTrace:
    """query_range: pairs of seconds (perhaps with a fraction) and a number as text."""
    data = document.get("data")
    if document.get("status") != "success" or not isinstance(data, dict):
        raise InvalidValue("/status", f"{str(document.get('error', 'no success'))[:100]}")
    if data.get("resultType") != "matrix":
        raise InvalidValue("/data/resultType", "matrix is needed: the answer of query_range")
    results = _objects(data.get("result"))
    names = [_series_name(result.get("metric")) for result in results]
    index = _which(names, series, "/data/result")
    field = f"/data/result/{index}/values"
    values = results[index].get("values")
    rows = [
        (f"{field}/{n}", *(pair if isinstance(pair, list) and len(pair) == 2 else (None, None)))
        for n, pair in enumerate(values if isinstance(values, list) else [])
    ]
    trace = _sort_rows(rows, names[index])
    reservations = [
        f"Prometheus says: {str(said)[:200]}"
        for kind in ("warnings", "infos")
        for said in (document.get(kind) or [])[:MOST_MESSAGES]
    ]
    if document.get("isPartial"):
        reservations.append("the source says that its answer is partial: fetch it again")
    return replace(trace, remarks=tuple(reservations))


def _series_name(metric: object) -> str:
    if not isinstance(metric, dict):
        return ""
    labels = sorted((k, v) for k, v in metric.items() if k != "__name__")
    text = ",".join(f'{name}="{value}"' for name, value in labels)
    return f"{metric.get('__name__', '')}{{{text}}}" if text else str(metric.get("__name__", ""))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _which(names: list[str], series: str, pointer: str) -> int:
    """The series that is meant: the only one, or the one of a name."""
    if not series and len(names) == 1:
        return 0
    if names.count(series) != 1:
        shown = ", ".join(name[:60] for name in names[:10]) or "none"
        raise InvalidValue(pointer, f"choose one of its {len(names)} series: {shown}")
    return names.index(series)


def _sort_rows(rows: list[tuple[str, Any, Any]], unit: str) -> DemandTrace:
    """The rows by time. A time within a second is seen from the next whole one on."""
    timed: list[tuple[Fraction, str, object]] = []
    for pointer, at, value in rows:
        moment = _moment(at)
        if moment is None:
            raise InvalidValue(pointer, f"{str(at)[:40]!r} is not a time")
        timed.append((moment, pointer, value))
    timed.sort(key=lambda row: row[0])
    for earlier, later in itertools.pairwise(timed):
        if earlier[0] == later[0]:
            raise InvalidValue(later[1], "two points have the same time")
    if not timed:
        raise InvalidValue("", "at least one point is needed")
    times, values = [], []
    for moment, pointer, value in timed:
        units = units_of(value)
        if units is None:
            raise InvalidValue(pointer, f"{str(value)[:40]!r} is not a number from 0 on")
        times.append(math.ceil(moment))
        values.append(units)
    # Of several within one second the last is what the next whole second shows.
    at_s = np.array(times, dtype=np.int64)
    is_last = np.append(np.diff(at_s) > 0, True)
    return DemandTrace(at_s[is_last], np.array(values)[is_last], unit[:60])


def _moment(at: object) -> Fraction | None:
    """Seconds since 1970 of an ISO time with zone, or of a number."""
    if isinstance(at, str):
        try:
            moment = dt.datetime.fromisoformat(at)
        except ValueError:
            return None
        return None if moment.tzinfo is None else Fraction(moment.timestamp())
    seconds = exact(at)
    return seconds if seconds is not None and 0 <= seconds < LAST_S else None
