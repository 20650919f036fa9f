"""Offers with price, score and value as the tables beside a chart of both list them."""

from collections.abc import Iterable
from dataclasses import dataclass

from backend.measure.metrics import Metric
from backend.rankings.selectors.rows import RankingRow
from backend.site import charts, figures


@dataclass(frozen=True)
class OfferLine:
    """An offer, its figures as the chart shows them."""

    row: RankingRow
    label: str
    price: str
    score: str
    interval: str
    value: str
    value_interval: str


def offer_lines(
    rows: Iterable[RankingRow], metric: Metric, scale: figures.UnitScale, cost: str
) -> list[OfferLine]:
    """The rows with scores in the unit of `scale`, and value in that unit per `cost`."""
    rows = list(rows)
    values = (row.value_per_cost for row in rows)
    value = figures.value_scale(scale, metric.better, cost, values)
    return [
        OfferLine(
            row=row,
            label=charts.row_label(row),
            price=figures.money(row.price, row.period),
            score=scale.text(row.score),
            interval=figures.ends(scale, row.score_ci95_low, row.score_ci95_high),
            value=value.text(row.value_per_cost),
            value_interval=figures.ends(
                value, row.value_per_cost_ci95_low, row.value_per_cost_ci95_high
            ),
        )
        for row in rows
    ]
