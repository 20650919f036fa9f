"""Shapes of a load to begin from, as demands of a document, and outlines to draw them by."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from backend.foundation.documents.values import DAY_S, exact, instant_s
from backend.foundation.errors import InvalidDocument
from backend.foundation.texts import text as _
from backend.scenarios.calc.demand import demand_from
from backend.scenarios.calc.demand_document import (
    COMPOSED,
    DAILY,
    TRACE,
    DemandDocument,
)
from backend.scenarios.calc.document_values import ZERO
from backend.scenarios.calc.steps import Steps

Demand = dict[str, Any]
WORKDAYS = [0, 1, 2, 3, 4]
# Where the document states no start.
MONDAY = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
OUTLINE_POINTS = 168
LOW, HIGH = "3", "20"


@dataclass(frozen=True)
class LoadShape:
    """A demand between two levels, and the fields that matter in it (names within the demand)."""

    key: str
    title: str
    sentence: str
    fields: tuple[str, ...]
    build: Callable[[str, str, dt.datetime], Demand]
    """Its demand from the low level, the high one, and the start of the time."""
    is_like: Callable[[Mapping[str, Any]], bool]
    """True if a demand is of this shape; the first that says so names it."""
    has_windows: bool = False
    days: int = 7
    """How long its outline is."""


def _daily(base: str, *windows: Demand) -> Demand:
    return {"kind": DAILY, "base": base, "windows": list(windows)}


def _window(start: str, end: str, level: str, **more: Any) -> Demand:
    return {"from": start, "to": end, "level": level, **more}


def _event(low: str, high: str, start: dt.datetime) -> Demand:
    at = start + dt.timedelta(hours=18)
    return {
        "kind": COMPOSED,
        "level": low,
        "events": [{"at": at.isoformat(), "duration_s": 3 * 3600, "level": high}],
    }


def _example_trace(low: str, high: str, start: dt.datetime) -> Demand:
    hours = ((0, low), (8, high), (12, low), (14, high), (19, low))
    points = [(start + dt.timedelta(hours=hour), level) for hour, level in hours]
    return {"kind": TRACE, "csv": "\n".join(f"{at.isoformat()},{level}" for at, level in points)}


def _windows(demand: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return demand.get("windows") or ()


def _lasts_all_day(demand: Mapping[str, Any]) -> bool:
    return any(window.get("from") == window.get("to") for window in _windows(demand))


def _is_in_workdays(demand: Mapping[str, Any]) -> bool:
    return any(window.get("weekdays") == WORKDAYS for window in _windows(demand))


_ALL_SHAPES = (
    LoadShape(
        "steady", _("Steady"), _("The same load day and night."), ("base",),
        lambda low, high, start: _daily(high),
        lambda demand: demand.get("kind") == DAILY and not _windows(demand),
    ),
    LoadShape(
        "weekly", _("Busy week, quiet weekend"), _("One level on working days, another on the weekend."),
        ("base",),
        lambda low, high, start: _daily(low, _window("00:00", "00:00", high, weekdays=WORKDAYS)),
        lambda demand: demand.get("kind") == DAILY and _lasts_all_day(demand),
        has_windows=True,
    ),
    LoadShape(
        "office", _("Office hours"), _("High on working days while people work."), ("base",),
        lambda low, high, start: _daily(low, _window("08:00", "18:00", high, weekdays=WORKDAYS)),
        lambda demand: demand.get("kind") == DAILY and _is_in_workdays(demand),
        has_windows=True,
    ),
    LoadShape(
        "evening", _("Daily peak"), _("A peak at the same hours of every day, such as the evening."),
        ("base",),
        lambda low, high, start: _daily(low, _window("18:00", "23:00", high)),
        lambda demand: demand.get("kind") == DAILY,
        has_windows=True,
    ),
    LoadShape(
        "event", _("Event"), _("A steady load, and one moment when everybody comes."),
        ("level", "events"), _event,
        lambda demand: demand.get("kind") == COMPOSED and bool(demand.get("events")),
    ),
    LoadShape(
        "growth", _("Growth"), _("More every month."), ("level", "growth_per_month"),
        lambda low, high, start: {"kind": COMPOSED, "level": low, "growth_per_month": "0.2"},
        lambda demand: demand.get("kind") == COMPOSED,
        days=182,
    ),
    LoadShape(
        "recorded", _("Recorded"), _("Your own measurements, as lines of time and value."), ("csv",),
        _example_trace,
        lambda demand: demand.get("kind") == TRACE,
    ),
)  # fmt: skip
# By key, in the order in which a demand is asked whether it is like them.
SHAPES: Mapping[str, LoadShape] = MappingProxyType({shape.key: shape for shape in _ALL_SHAPES})


def shape_of(demand: Mapping[str, Any]) -> LoadShape | None:
    """The shape that a demand has; None for a kind that is not known."""
    return next((shape for shape in _ALL_SHAPES if shape.is_like(demand)), None)


def reshape(document: Mapping[str, Any], shape: LoadShape) -> dict[str, Any]:
    """The document with a demand of another shape, in its unit and between its two levels."""
    before = document.get("demand") or {}
    stated = [before.get("base"), *(window.get("level") for window in _windows(before))]
    levels = sorted((level for level in stated if exact(level)), key=_amount)
    low, high = (levels[0], levels[-1]) if len(levels) > 1 else (LOW, HIGH)
    kept = {"unit": before.get("unit", "servers")}
    if shape.key != "recorded" and before.get("time_zone"):
        kept["time_zone"] = before["time_zone"]
    demand = shape.build(str(low), str(high), _start(document))
    return {**document, "demand": {**kept, **demand}}


def _amount(level: Any) -> Fraction:
    return exact(level) or ZERO


def _start(document: Mapping[str, Any]) -> dt.datetime:
    second = instant_s((document.get("horizon") or {}).get("start"))
    return MONDAY if second is None else dt.datetime.fromtimestamp(second, dt.UTC)


def outline(document: Mapping[str, Any], days: int) -> list[float]:
    """Levels of its demand at equal distances over some days; empty where that has faults."""
    step_s = days * DAY_S // OUTLINE_POINTS
    steps = Steps(int(_start(document).timestamp()), step_s, OUTLINE_POINTS)
    try:
        demand = DemandDocument.read(document.get("demand"))
        return [float(level) for level in demand_from(demand, steps).values]
    except InvalidDocument:
        return []
