"""Offers that a part of the storage page leads to: what is calculated there, as one can buy it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.http import HttpRequest
from django.urls import reverse

from backend.rankings.pages.ranking.views import ranking_request
from backend.rankings.selectors.ranking import Ranking, ranking
from backend.rankings.selectors.rows import RankingRow
from backend.site import charts, figures, state
from backend.site.language import _

ROWS_SHOWN = 3
BYTES_OF_GB = 10**9


@dataclass(frozen=True)
class MarketLine:
    """An offer with its price and the figure that the part is about, each as shown."""

    row: RankingRow
    label: str
    figure: str
    price: str


@dataclass(frozen=True)
class Market:
    """A few offers, and the ranking that has them all."""

    title: str
    head: str
    unit: str
    """Unit of the figures under `head`."""
    cost: str
    lines: tuple[MarketLine, ...]
    url: str


def with_disk(request: HttpRequest, usable_bytes: int) -> Market:
    """The cheapest offers whose own disks have at least that much space."""
    least = usable_bytes // BYTES_OF_GB
    listed, params = _list_offers(request, {"disk_gb__gte": [str(least)], "sort": ["price"]})
    # A score is beside the point here: what counts is the space and its price.
    priced = [(row.price, row) for row in (*listed.rows, *listed.unscored) if row.price is not None]
    cheapest = [row for _, row in sorted(priced, key=lambda pair: (pair[0], pair[1].offer_id))]
    title = _(
        "Offers with {size} of disk or more, cheapest first",
        size=figures.size(usable_bytes),
    )
    return _market(title, (_("Disk"), "TB"), cheapest, params, _terabytes)


def best_by(request: HttpRequest, metric: str) -> Market:
    """The offers that give the most of the metric for their price."""
    listed, params = _list_offers(request, {"metric": [metric]})
    ranked = [row for row in listed.rows if row.rank is not None]
    scale = figures.scale(listed.metric.unit, [row.score for row in ranked if row.score])
    title = _("{label}: offers with the most for their price", label=listed.metric.label)
    return _market(
        title, (_("Score"), scale.unit), ranked, params, lambda row: scale.text(row.score)
    )


def _list_offers(
    request: HttpRequest, given: Mapping[str, list[str]]
) -> tuple[Ranking, state.Params]:
    requested = ranking_request(request, dict(given))
    return ranking(
        requested.query, workspace_slug=requested.workspace_slug, stamp=requested.stamp
    ), requested.sound


def _terabytes(row: RankingRow) -> str:
    return f"{Decimal(str(row.disk_gb)) / 1000:,.1f}"


def _market(
    title: str,
    head: tuple[str, str],
    rows: Iterable[RankingRow],
    params: state.Params,
    shown: Callable[[RankingRow], str],
) -> Market:
    lines = tuple(
        MarketLine(row, charts.row_label(row), shown(row), figures.money(row.price, row.period))
        for row in list(rows)[:ROWS_SHOWN]
    )
    return Market(title, *head, state.cost(params), lines, reverse("offers") + state.query(params))
