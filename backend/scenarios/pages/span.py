"""The part of the horizon that the chart over time shows closely."""

import datetime as dt
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from backend.scenarios.models import Scenario
from backend.scenarios.selectors.scenarios import scenario_series, series_of_document
from backend.site.language import lazy
from backend.site.plots import MOST_POINTS

DEFAULT_SPAN = "week"
SPANS: Mapping[str, str] = MappingProxyType(
    {"day": lazy("the worst day"), "week": lazy("the worst week"), "all": lazy("the whole time")}
)
DAYS = {"day": 1, "week": 7}
# Points of the whole horizon that are looked at for the sake of a part.
MOST_FETCHED = 120_000


def series_of_worst_span(
    scenario: Scenario, whole: dict[str, Any], index: int, span: str
) -> dict[str, Any]:
    """The series of the day or week in which an option leaves most unserved, or else the demand is
    highest; everything where that is no longer."""
    days = DAYS.get(span)
    times = [dt.datetime.fromisoformat(at) for at in whole["t"]]
    length = times[-1] - times[0] + dt.timedelta(seconds=whole["point_s"])
    if days is None or length <= dt.timedelta(days=days):
        return whole
    first = _first_day(times, whole, index, days)
    # So many that the part alone has as many as a chart shows.
    points = int(MOST_POINTS * (length / dt.timedelta(days=days)))
    close = scenario_series(scenario, most_points=min(points, MOST_FETCHED))
    return _cut(close, first, first + dt.timedelta(days=days))


def _first_day(
    times: list[dt.datetime], whole: Mapping[str, Any], index: int, days: int
) -> dt.datetime:
    """Midnight before the worst moment, so early that the whole span lies within the horizon."""
    missing = whole["options"][index]["unserved"]
    values = missing if any(missing) else whole["demand"]
    worst = times[max(range(len(values)), key=lambda n: values[n])]
    # From midnight, so that the chart begins where people expect a day to begin.
    midnight = worst.replace(hour=0, minute=0, second=0)
    latest = times[-1] + dt.timedelta(seconds=whole["point_s"]) - dt.timedelta(days=days)
    return max(times[0], min(midnight, latest))


def first_week(
    document: Mapping[str, Any], most_points: int, *, workspace_slug: str
) -> dict[str, Any]:
    """Series of its first seven days where the demand is the same every week, else of all."""
    whole = series_of_document(document, most_points=most_points, workspace_slug=workspace_slug)
    times = [dt.datetime.fromisoformat(at) for at in whole["t"]]
    week = dt.timedelta(days=7)
    length = times[-1] - times[0] + dt.timedelta(seconds=whole["point_s"])
    if document["demand"].get("kind") != "daily" or length <= week:
        return whole
    points = min(int(most_points * (length / week)), MOST_FETCHED)
    close = series_of_document(document, most_points=points, workspace_slug=workspace_slug)
    return _cut(close, times[0], times[0] + week)


def _cut(close: dict[str, Any], start: dt.datetime, end: dt.datetime) -> dict[str, Any]:
    """The series from a start to before an end."""
    times = [dt.datetime.fromisoformat(at) for at in close["t"]]
    kept = [n for n, at in enumerate(times) if start <= at < end]
    within = slice(kept[0], kept[-1] + 1)
    options = [
        {
            name: value[within] if isinstance(value, list) else value
            for name, value in option.items()
        }
        for option in close["options"]
    ]
    shorter = {"t": close["t"][within], "demand": close["demand"][within], "options": options}
    return {**close, **shorter}
