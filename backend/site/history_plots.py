"""How a metric went over the runs of a host or of an offer, with the band of its past."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from backend.benchmarks.models import Host
from backend.benchmarks.selectors.history import Point, history
from backend.catalog.models import Offer
from backend.measure.metrics import METRICS
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot, Values

PARAMETER = "history"
# Beside the tone of what left its band that is as many as there are colours.
MOST_HOSTS = 5
OUTSIDE_TONE = 1


@dataclass(frozen=True)
class MetricChoice:
    """A metric whose history can be shown."""

    key: str
    label: str
    is_current: bool


def history_plots(
    request: HttpRequest,
    variants: Mapping[str, str],
    *,
    offer: Offer | None = None,
    host: Host | None = None,
) -> dict[str, Any]:
    """Context of the history part: the chart of the metric in `?history=`, and the choices.

    `variants` says which variant of each metric is shown.
    """
    asked = request.GET.get(PARAMETER, "")
    # A metric that this host never had: the first one is shown instead of an error.
    key = asked if asked in variants else next(iter(variants), "")
    if not key:
        return {"history": None, "histories": []}
    points = history(metric=key, variant=variants[key], offer=offer, host=host)
    return {
        "history": history_plot(key, variants[key], points),
        "histories": [
            MetricChoice(variant, METRICS[variant].label, variant == key) for variant in variants
        ],
    }


def history_plot(key: str, variant: str, points: Sequence[Point]) -> Plot | None:
    """A line a host, its expected band behind it, and a mark where a run left the band."""
    # A single run has no course.
    if len(points) < 2:
        return None
    metric = METRICS[key]
    scale = figures.scale(metric.unit, (point.median for point in points))
    hosts = list(dict.fromkeys(point.host for point in points))[:MOST_HOSTS]
    shown = [point for point in points if point.host in hosts]
    outside = [point for point in shown if _is_outside(point)]
    # The tone of what left its band is kept free.
    tones = [tone for tone in range(MOST_HOSTS + 1) if tone != OUTSIDE_TONE]
    marks = [_line(n, shown, scale, tone) for n, tone in zip(hosts, tones, strict=False)]
    if outside:
        values = [scale.shown(p.median) if _is_outside(p) else None for p in shown]
        marks.append(Mark(_("left its band"), values, kind="dots", tone=OUTSIDE_TONE))
    last = shown[-1]
    return Plot(
        id="plot-history",
        title=_("{label} over time", label=metric.label),
        x_label="finished",
        x_kind="time",
        x=[point.at.timestamp() * 1000 for point in shown],
        x_text=[f"{point.at:%Y-%m-%d %H:%M}" for point in shown],
        urls=[reverse("run", args=[point.run_id]) for point in shown],
        # Drifts of a few percent cannot be seen on an axis that begins at zero.
        y=Axis(scale.unit, is_from_zero=False),
        marks=marks,
        range_words=(_("expected from"), "to"),
        extra={
            _("lowest repeat"): [figures.figure(scale.shown(p.low)) for p in shown],
            _("highest repeat"): [figures.figure(scale.shown(p.high)) for p in shown],
            _("repeats"): [str(p.n) for p in shown],
        },
        summary=_(
            "Line of {label}, variant {variant}, over {count} runs from {first} to {last}; last"
            " {median} {unit}. {outside} left the band of the runs before.",
            label=metric.label,
            variant=variant,
            count=len(shown),
            first=f"{shown[0].at:%Y-%m-%d}",
            last=f"{last.at:%Y-%m-%d}",
            median=figures.figure(scale.shown(last.median)),
            unit=scale.unit,
            outside=len(outside),
        ),
        note=_(
            "Medians of the runs. The band is where the comparable runs before led to "
            "expect the next one: their median and three times their spread, at least 5%."
        ),
    )


def _is_outside(point: Point) -> bool:
    return point.band is not None and not point.band.low <= point.median <= point.band.high


def _line(host: str, points: Sequence[Point], scale: figures.UnitScale, tone: int) -> Mark:
    own = [point if point.host == host else None for point in points]
    lows: Values = [scale.shown(p.band.low) if p and p.band else None for p in own]
    highs: Values = [scale.shown(p.band.high) if p and p.band else None for p in own]
    is_banded = any(low is not None for low in lows)
    return Mark(
        host,
        [scale.shown(p.median) if p else None for p in own],
        lows=lows if is_banded else None,
        highs=highs if is_banded else None,
        tone=tone,
    )
