"""The price-performance chart as plain data: points, the line that nothing beats, and limits."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from backend.rankings.selectors.frontier import Frontier
from backend.rankings.selectors.query import Filter
from backend.rankings.selectors.rows import RankingRow
from backend.web.ranking.cells import is_own
from backend.web.shared import charts, figures, words
from backend.web.shared.language import _, lazy

# Points with a name and an interval; a browser draws no more of them fluently.
MOST_POINTS = 500
MOST_DOTS = 1000
# Beyond MOST_POINTS one dot stands for all offers within one cell of this grid.
CELLS_ACROSS, CELLS_DOWN = 160, 100
# Of the length of an axis: enough for the outermost point to be drawn whole.
MARGIN_RATIO = 0.06
LIMITS = {
    ("price", "__lte"): lazy("price at most"),
    ("price", "__gte"): lazy("price at least"),
    ("score", "__gte"): lazy("score at least"),
    ("score", "__lte"): lazy("score at most"),
}


def frontier_chart(
    frontier: Frontier,
    scale: figures.UnitScale,
    cost: str,
    picture: dict[str, str],
    *,
    own: Sequence[RankingRow] = (),
    most: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """What the page's script draws; prices in `cost`, scores in the scale's unit.

    `own` are machines with a price that are drawn whatever the limits, `most` the points and dots
    in place of MOST_POINTS and MOST_DOTS. Both axes are logarithmic,
    so an interval that reaches to zero or below is cut at a floor under everything drawn, and
    marked `isCut`.
    """
    most_points, most_dots = most or (MOST_POINTS, MOST_DOTS)
    line = frontier.line
    # These come first, so that thinning never takes one's own or one of the line.
    first = {row.offer_id: row for row in (*own, *line)}
    within, others_beyond = (
        [row for row in rows if row.offer_id not in first]
        for rows in (frontier.within, frontier.beyond)
    )
    # One's own are always among the points with a name.
    ordered = [*first.values(), *sorted(within, key=lambda row: not is_own(row))]
    marked = ordered[:most_points]
    bounds = _Bounds.of([*ordered, *others_beyond], frontier.limits)
    dots = _thinned([*ordered[most_points:], *others_beyond], marked, bounds, most_dots)
    beyond = {row.offer_id for row in others_beyond}
    return {
        "title": _("{label}: price and score", label=frontier.metric.label),
        "isHigherBetter": frontier.metric.is_higher_better,
        "x": {"label": _("Price, {cost}", cost=cost), "unit": cost, **_axis(bounds.prices)},
        "y": {"label": _("Score, {unit}", unit=scale.unit), "unit": scale.unit}
        | _axis([scale.shown(score) or 0 for score in bounds.scores]),
        "points": [_point(row, scale, bounds) for row in marked],
        "dots": [_dot(row, scale, is_beyond=row.offer_id in beyond) for row in dots],
        "providers": {row.provider: words.provider(row.provider) for row in (*marked, *dots)},
        "line": [
            [charts.rounded(_price(row)), charts.rounded(scale.shown(row.score))] for row in line
        ],
        # Zero lies nowhere on a logarithmic axis.
        "limits": [_limit(one, scale, cost) for one in frontier.limits if one.values[0] > 0],
        "thinned": len(ordered) + len(beyond) - len(marked) - len(dots),
        "summary": _summary(frontier, line, scale, cost),
        "picture": picture,
    }


@dataclass(frozen=True)
class _Bounds:
    """Extremes of what is drawn; all above zero."""

    prices: Sequence[float]
    scores: Sequence[float]
    floor: float

    @classmethod
    def of(cls, rows: Sequence[RankingRow], limits: Iterable[Filter]) -> "_Bounds":
        """Bounds of the rows with their intervals and of the limits above zero."""
        prices = [_price(row) for row in rows]
        scores = [row.score for row in rows if row.score is not None]
        ends = [
            end
            for row in rows
            for end in (row.score_ci95_low, row.score_ci95_high)
            if end is not None
        ]
        for one in limits:
            (prices if one.column == "price" else scores).append(float(one.values[0]))
        positive = [value for value in (*scores, *ends) if value > 0]
        # Below all that is drawn, so that a cut interval is seen to go on.
        floor = min(positive, default=1.0) / 2
        is_cut = any(value <= 0 for value in ends)
        prices = [value for value in prices if value > 0] or [1.0]
        return cls(
            prices=(min(prices), max(prices)),
            scores=(floor if is_cut else min(positive, default=1.0), max(positive, default=1.0)),
            floor=floor,
        )


def _axis(ends: Sequence[float]) -> dict[str, float]:
    """Ends of a logarithmic axis with a margin beside the outermost points."""
    low, high = math.log10(min(ends)), math.log10(max(ends))
    # A single point would else have an axis without any length.
    margin = max((high - low) * MARGIN_RATIO, 0.05)
    return {"min": 10 ** (low - margin), "max": 10 ** (high + margin)}


def _price(row: RankingRow) -> float:
    return float(row.price or 0)


def _point(row: RankingRow, scale: figures.UnitScale, bounds: _Bounds) -> dict[str, Any]:
    low, high = row.score_ci95_low, row.score_ci95_high
    is_cut = low is not None and low <= 0
    return {
        "offer": row.offer_id,
        "label": charts.row_label(row),
        "provider": row.provider,
        "x": charts.rounded(_price(row)),
        "y": charts.rounded(scale.shown(row.score)),
        "low": charts.rounded(scale.shown(bounds.floor if is_cut else low)),
        "high": charts.rounded(scale.shown(high)),
        "isCut": is_cut,
        "isFrontier": bool(row.pareto),
        "isOwn": is_own(row),
    }


def _dot(row: RankingRow, scale: figures.UnitScale, *, is_beyond: bool) -> list[Any]:
    """The same without an interval, as a list: offer, label, provider, x, y, whether beyond."""
    x, y = charts.rounded(_price(row)), charts.rounded(scale.shown(row.score))
    return [row.offer_id, charts.row_label(row), row.provider, x, y, is_beyond]


def _thinned(
    rows: Sequence[RankingRow], marked: Iterable[RankingRow], bounds: _Bounds, most: int
) -> list[RankingRow]:
    """Rows that lie apart from what is drawn before them, in the finest grid that keeps to the
    most."""
    kept: list[RankingRow] = []
    for coarseness in (1, 1.5, 2, 3, 4, 6):
        kept = _one_a_cell(rows, marked, bounds, coarseness)
        if len(kept) <= most:
            return kept
    # Nothing coarser: with fewer cells the shape of the cloud would be lost.
    return kept[:most]


def _one_a_cell(
    rows: Iterable[RankingRow], marked: Iterable[RankingRow], bounds: _Bounds, coarseness: float
) -> list[RankingRow]:
    x_of = _cell_of(bounds.prices, CELLS_ACROSS / coarseness)
    y_of = _cell_of(bounds.scores, CELLS_DOWN / coarseness)
    # A dot under a point with a name would only blur it.
    taken = {(x_of(_price(row)), y_of(row.score or 1.0)) for row in marked}
    kept = []
    for row in rows:
        cell = x_of(_price(row)), y_of(row.score or 1.0)
        if cell not in taken:
            taken.add(cell)
            kept.append(row)
    return kept


def _cell_of(ends: Sequence[float], count: float) -> Callable[[float], int]:
    low, high = math.log(ends[0]), math.log(ends[1])
    # Where all have one price the width is zero, and every row falls into one cell.
    width = (high - low) / count or 1.0
    # The grid is logarithmic like the axes, so that it thins evenly to the eye.
    return lambda value: int((math.log(value) - low) / width)


def _limit(one: Filter, scale: figures.UnitScale, cost: str) -> dict[str, Any]:
    value = one.values[0]
    is_price = one.column == "price"
    shown = float(value) if is_price else scale.shown(value)
    unit = cost if is_price else scale.unit
    return {
        "axis": "x" if is_price else "y",
        "value": shown,
        "label": f"{LIMITS[one.column, one.operator]} {figures.quantity(shown)} {unit}",
    }


def _summary(
    frontier: Frontier, line: Sequence[RankingRow], scale: figures.UnitScale, cost: str
) -> str:
    if not line:
        return _("{label}: nothing to draw.", label=frontier.metric.label)
    first, last = line[0], line[-1]

    def point_words(row: RankingRow) -> str:
        score = figures.figure(scale.shown(row.score))
        return _(
            "{offer} at {price} {cost} with {score}",
            offer=charts.row_label(row),
            price=figures.figure(row.price),
            cost=cost,
            score=score,
        )

    return _(
        "Scatter chart of {count} offers, price in {cost} against {label} in {unit}, both axes"
        " logarithmic. {on_line} of them are on the line that nothing beats, from {first} to {last}"
        " {unit}. The table below has the same figures.",
        count=len(frontier.within),
        cost=cost,
        label=frontier.metric.label,
        unit=scale.unit,
        on_line=len(line),
        first=point_words(first),
        last=point_words(last),
    )
