"""The prices of an offer over time, on one axis per hour."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal

from backend.catalog.selectors.price_history import PriceSeries
from backend.core import clock
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot

MOST_SERIES = 6


def price_plot(series: Sequence[PriceSeries]) -> Plot | None:
    """Steps of each kind of price per hour of a 730-hour month; None where nothing ever changed.

    Kinds in one currency are drawn, at most six of them, on-demand prices first; a purchase has no
    price of an hour.
    """
    hourly = [series_line for series_line in series if _hours(series_line)]
    # A price that never changed needs no chart: the list of prices states it.
    if not any(len(series_line.points) > 1 for series_line in hourly):
        return None
    first = next(
        (series_line for series_line in hourly if series_line.kind.purchase_model == "on_demand"),
        hourly[0],
    )
    currency = first.kind.currency
    # Rates of today would bend the lines of earlier years.
    hourly = [series_line for series_line in hourly if series_line.kind.currency == currency]
    shown = sorted(hourly, key=lambda series_line: series_line is not first)[:MOST_SERIES]
    # Every moment at which any of them changed: steps need no others. And now, so that the lines
    # reach the edge.
    days = sorted({day for series_line in shown for day, _ in _hours(series_line)} | {clock.now()})
    marks = [
        Mark(series_line.kind.label, _steps(series_line, days), is_stepped=True)
        for series_line in shown
    ]
    return Plot(
        id="plot-prices",
        title=_("Price over time"),
        x_label="",
        x_kind="time",
        # Milliseconds, as JavaScript counts.
        x=[day.timestamp() * 1000 for day in days],
        x_text=[f"{day:%Y-%m-%d %H:%M}" for day in days],
        y=Axis(_("{currency} per hour", currency=currency)),
        marks=marks,
        summary=_(
            "Lines of {shown} kinds of price in {currency} an hour from {first} to {last}.",
            shown=len(shown),
            currency=currency,
            first=f"{days[0]:%Y-%m-%d}",
            last=f"{days[-1]:%Y-%m-%d}",
        ),
        note=_("{number} further kinds of price are in the list.", number=len(series) - len(shown))
        if len(series) > len(shown)
        else "",
    )


def _hours(series: PriceSeries) -> list[tuple[dt.datetime, float]]:
    """(since, price of an hour) of each point that has one."""
    prices = ((point.since, point.per_hour()) for point in series.points)
    return [(since, float(price)) for since, price in prices if price is not None]


def _steps(series: PriceSeries, days: Sequence[dt.datetime]) -> list[float | None]:
    """The price in force at each moment; None before the first and where there was a gap."""
    values: list[float | None] = []
    for day in days:
        current = [
            point
            for point in series.points
            if point.since <= day and (point.until is None or day < point.until)
        ]
        price = current[-1].per_hour() if current else None
        values.append(None if price is None else float(price))
    return values


def change_words(ratio: object) -> str:
    """A ratio as a change: `−44%`; empty for none."""
    if ratio is None:
        return ""
    return figures.percent_change(Decimal(str(ratio)) - 1)
