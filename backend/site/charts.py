"""Data of the charts, as plain JSON: the same figures as on the page, never more."""

import datetime as dt
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from backend.benchmarks.models import Sample
from backend.core import clock
from backend.foundation.figures import Number
from backend.measure.metrics import Metric
from backend.measure.stats import DISTURBED, UNFIT
from backend.rankings.selectors.listing import best_of, floats, mark_rows, select_rows
from backend.rankings.selectors.offer_detail import OfferDetail
from backend.rankings.selectors.ranking import Ranking
from backend.rankings.selectors.rows import RankingRow
from backend.site import figures, words
from backend.site.language import _

MOST_BARS = 20
# A price of that many years ago or more carries its year in the chart.
OLD_YEARS = 2
MOST_BARS_SENT = 32  # so that hiding a provider in the legend shows the next ones
# Of a figure in a chart: more than a bar shows, and light to send.
SIGNIFICANT_DIGITS = 7


def row_label(row: RankingRow) -> str:
    """Name of an offer in a chart: its type, its region, and the year of an old price."""
    return offer_label(row.offer, row.region, row.price_observed_on)


def offer_label(offer: str, region: str | None, price_observed_on: dt.date | None) -> str:
    """The same of its parts."""
    this_year = clock.now().year
    price_year = price_observed_on.year if price_observed_on else this_year
    year = f", {price_year}" if this_year - price_year >= OLD_YEARS else ""
    return f"{offer}{f' · {region}' if region else ''}{year}"


def bar(
    offer: str,
    label: str,
    provider: str,
    scale: figures.UnitScale,
    interval: Sequence[Number | None],
) -> dict[str, Any]:
    """A bar of the page's script; `interval` is value, low and high end in the metric's unit."""
    value, low, high = (round_for_chart(scale.shown(bound)) for bound in interval)
    return {
        "offer": offer,
        "label": label,
        "provider": provider,
        "providerName": words.provider(provider),
        "value": value,
        "low": low,
        "high": high,
    }


def round_for_chart(value: float | None) -> float | None:
    """With the digits that a chart can show."""
    return None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def distinct_labels(bars: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A chart's categories must differ; the second of a name gets its offer id."""
    seen: set[str] = set()
    for bar in bars:
        if bar["label"] in seen:
            bar["label"] = f"{bar['label']} ({bar['offer']})"
        seen.add(bar["label"])
    return bars


def _summary(title: str, unit: str, bars: Sequence[dict[str, Any]], count: int) -> str:
    if not bars:
        return _("{title}: nothing to show.", title=title)
    best, last = bars[0], bars[min(len(bars), MOST_BARS) - 1]
    return _(
        "Horizontal bar chart, {title}. The best {shown} of {count} offers. First is {best} with"
        " {best_value} {unit}, last shown {last} with {last_value} {unit}. The same figures are in the"
        " table below the chart.",
        title=title,
        shown=min(len(bars), MOST_BARS),
        count=count,
        best=best["label"],
        best_value=figures.figure(best["value"]),
        unit=unit,
        last=last["label"],
        last_value=figures.figure(last["value"]),
    )


def _mode(
    rows: Sequence[RankingRow],
    column: str,
    title: str,
    scale: figures.UnitScale,
    *,
    is_best_high: bool,
) -> dict[str, Any]:
    interval = attrgetter(column, f"{column}_ci95_low", f"{column}_ci95_high")
    values = floats(rows, column)
    known = values[~np.isnan(values)]
    best = best_of(rows, column, MOST_BARS_SENT, is_high=is_best_high)
    bars = distinct_labels(
        [bar(row.offer_id, row_label(row), row.provider, scale, interval(row)) for row in best]
    )
    # Of all known rows and not of the bars, which are the best ones.
    middle = scale.shown(float(np.median(known))) if known.size else None
    return {
        "title": title,
        "unit": scale.unit,
        "bars": bars,
        # Of two offers the median is no more than the point between them.
        "median": middle if known.size > 2 else None,
        "medianLabel": _("median of {count}", count=figures.quantity(known.size)),
        "summary": _summary(title, scale.unit, bars, known.size),
    }


def ranking_chart(
    ranking: Ranking, scale: figures.UnitScale, cost: str, picture: dict[str, str]
) -> dict[str, Any]:
    """Both faces of the ranking chart, by value per cost and by score; bars best first."""
    metric = ranking.metric
    # What takes no rank must not stand first in the chart of the ranks.
    is_fit = mark_rows(ranking.rows, "flags", lambda flags: UNFIT.isdisjoint(flags.split()))
    rows = select_rows(ranking.rows, is_fit)
    value = figures.value_scale(scale, metric.better, cost)
    modes = {
        "value": _mode(
            rows,
            "value_per_cost",
            _("{label}: value per cost", label=metric.label),
            value,
            is_best_high=True,
        ),
        "score": _mode(
            rows,
            "score",
            _("{label}: score", label=metric.label),
            scale,
            is_best_high=metric.is_higher_better,
        ),
    }
    default = "value" if modes["value"]["bars"] else "score"
    return {"modes": modes, "default": default, "picture": picture}


def strip(
    metric: Metric,
    samples: Sequence[Sample],
    provider: str,
    *,
    id: str,  # noqa: A002  (the canvas's own word)
    figures_of: tuple[float, float | None, float | None],
    label: Callable[[Sample], str],
    below: str,
) -> dict[str, Any]:
    """A strip of dots as Chart.js takes them, a row for each run, newest on top.

    `figures_of` are median and interval in the metric's unit; `below` ends the summary.
    """
    scale = figures.scale(metric.unit, (sample.value for sample in samples))
    rows = {run: index for index, run in enumerate(dict.fromkeys(s.run_id for s in samples))}
    middle, low, high = map(scale.shown, figures_of)
    runs = _(" in {rows} runs", rows=len(rows)) if len(rows) > 1 else ""
    return {
        "id": id,
        "label": metric.label,
        "unit": scale.unit,
        "provider": provider,
        "median": middle,
        "low": low,
        "high": high,
        "rows": len(rows),
        "points": [
            {
                "x": scale.shown(sample.value),
                "y": rows[sample.run_id],
                "label": label(sample),
                "isDisturbed": DISTURBED in sample.flags,
            }
            for sample in samples
        ],
        "summary": _(
            "{label}: {samples} repeats{runs}, median {middle} {unit}. {below}",
            label=metric.label,
            samples=len(samples),
            runs=runs,
            middle=figures.figure(middle),
            unit=scale.unit,
            below=below,
        ),
    }


def strips(detail: OfferDetail) -> list[dict[str, Any]]:
    """A strip for each metric measured here."""
    measured: dict[tuple[str, str], list[Sample]] = {}
    for sample in detail.samples:
        if sample.source == "measured":
            measured.setdefault((sample.metric, sample.variant), []).append(sample)
    return [
        strip(
            score.metric,
            samples,
            detail.offer.provider.slug,
            id=f"strip-{score.metric.key}",
            figures_of=(score.summary.value, score.summary.ci95_low, score.summary.ci95_high),
            label=lambda s: _(
                "run of {measured_at}, repeat {n}",
                measured_at=f"{s.measured_at:%Y-%m-%d %H:%M}",
                n=s.repeat + 1,
            ),
            below="All repeats are listed in the samples below.",
        )
        for score in detail.summaries
        # A single dot says nothing of how repeats scatter.
        if len(samples := measured.get((score.metric.key, score.variant), [])) > 1
    ]
