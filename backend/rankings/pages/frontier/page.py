"""The price-performance chart as plain data: points, the line that nothing beats, and limits."""

import math
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from backend.money.amounts import Flags, Floats, Ints
from backend.rankings.pages.ranking.cells import is_own
from backend.rankings.selectors.frontier import Frontier
from backend.rankings.selectors.listing import cells, floats, mark_rows, rows_at, select_rows
from backend.rankings.selectors.query import Filter
from backend.rankings.selectors.rows import RankingRow
from backend.site import charts, figures, words
from backend.site.language import _, lazy

# Points with a name and an interval; a browser draws no more of them fluently.
MOST_POINTS = 500
MOST_DOTS = 1000
# Beyond MOST_POINTS one dot stands for all offers within one cell of this grid.
CELLS_ACROSS, CELLS_DOWN = 160, 100
# Of the length of an axis: enough for the outermost point to be drawn whole.
MARGIN_RATIO = 0.06
# Columns of the label of an offer.
LABELLED_BY = ("offer", "region", "price_observed_on")
INTERVAL = ("score_ci95_low", "score_ci95_high")
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
    """Data of the chart for the page's script; prices in `cost`, scores in the scale's unit.

    `own` are machines with a price that are drawn whatever the limits, `most` the points and dots
    in place of MOST_POINTS and MOST_DOTS. Both axes are logarithmic,
    so an interval that reaches to zero or below is cut at a floor under everything drawn, and
    marked `isCut`.
    """
    most_points, most_dots = most or (MOST_POINTS, MOST_DOTS)
    line = frontier.line
    # These come first, so that thinning never takes one's own or one of the line.
    first = {row.offer_id: row for row in (*own, *line)}
    within, beyond = (
        select_rows(rows, mark_rows(rows, "offer_id", lambda slug: slug not in first))
        for rows in (frontier.within, frontier.beyond)
    )
    # One's own are always among the points with a name.
    within = rows_at(within, np.argsort(~_are_own(within), kind="stable"))
    head = list(first.values())
    named_count = max(most_points - len(head), 0)
    named = (head[:most_points], within[:named_count])
    bounds = _Bounds.of((head, within, beyond), frontier.limits)
    dots = _dots(
        (head[most_points:], within[named_count:], beyond), named, bounds, most_dots, scale
    )
    on_line = {row.offer_id for row in line}
    points = [point for rows in named for point in _points(rows, scale, bounds, on_line)]
    providers = dict.fromkeys([*(point["provider"] for point in points), *(dot[2] for dot in dots)])
    return {
        "title": _("{label}: price and score", label=frontier.metric.label),
        "isHigherBetter": frontier.metric.is_higher_better,
        "x": {"label": _("Price, {cost}", cost=cost), "unit": cost, **_axis(bounds.prices)},
        "y": {"label": _("Score, {unit}", unit=scale.unit), "unit": scale.unit}
        | _axis([scale.shown(score) or 0 for score in bounds.scores]),
        "points": points,
        "dots": dots,
        "providers": {name: words.provider(name) for name in providers},
        "line": [
            [charts.round_for_chart(_price(row)), charts.round_for_chart(scale.shown(row.score))]
            for row in line
        ],
        # Zero lies nowhere on a logarithmic axis.
        "limits": [_limit(limit, scale, cost) for limit in frontier.limits if limit.values[0] > 0],
        "thinned": len(head) + len(within) + len(beyond) - len(points) - len(dots),
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
    def of(cls, parts: Sequence[Sequence[RankingRow]], limits: Sequence[Filter]) -> "_Bounds":
        """Bounds of the rows with their intervals and of the limits above zero."""

        def known(name: str, *limited: str) -> Floats:
            given = [float(limit.values[0]) for limit in limits if limit.column in limited]
            together = np.concatenate([*(floats(rows, name) for rows in parts), given])
            finite: Floats = together[~np.isnan(together)]
            return finite

        prices, scores = known("price", "price"), known("score", "score")
        ends = np.concatenate([known("score_ci95_low"), known("score_ci95_high")])
        positive = _above_zero(np.concatenate([scores, ends]))
        # Below all that is drawn, so that a cut interval is seen to go on.
        floor = positive[0] / 2
        is_cut = bool((ends <= 0).any())
        return cls(
            prices=_above_zero(prices),
            scores=(floor if is_cut else positive[0], positive[1]),
            floor=floor,
        )


def _above_zero(values: Floats) -> tuple[float, float]:
    """The least and the largest of those above zero, of none at all one."""
    positive = values[values > 0]
    return (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)


def _are_own(rows: Sequence[RankingRow]) -> Flags:
    """`is_own` of each row."""
    own = np.flatnonzero(mark_rows(rows, "provider", lambda name: name == "own"))
    are_own = np.zeros(len(rows), bool)
    are_own[own] = [is_own(row) for row in rows_at(rows, own)]
    return are_own


def _axis(ends: Sequence[float]) -> dict[str, float]:
    """Ends of a logarithmic axis with a margin beside the outermost points."""
    low, high = math.log10(min(ends)), math.log10(max(ends))
    # A single point would else have an axis without any length.
    margin = max((high - low) * MARGIN_RATIO, 0.05)
    return {"min": 10 ** (low - margin), "max": 10 ** (high + margin)}


def _price(row: RankingRow) -> float:
    return float(row.price or 0)


def _points(
    rows: Sequence[RankingRow], scale: figures.UnitScale, bounds: _Bounds, on_line: AbstractSet[str]
) -> Iterator[dict[str, Any]]:
    """Points with a name and an interval; of hundreds of offers no rows are made."""
    names = (_texts(rows, name) for name in ("offer_id", "provider", *LABELLED_BY))
    values = (floats(rows, name) for name in ("price", "score", *INTERVAL))
    columns = zip(*names, *(column.tolist() for column in values), _are_own(rows), strict=True)
    for offer, provider, *label, price, score, low, high, own in columns:
        is_cut = low <= 0  # not of an unknown one, which is no number
        yield {
            "offer": offer,
            "label": charts.offer_label(*label),
            "provider": provider,
            "x": charts.round_for_chart(price),
            "y": charts.round_for_chart(scale.shown(score)),
            "low": _end(bounds.floor if is_cut else low, scale),
            "high": _end(high, scale),
            "isCut": is_cut,
            "isFrontier": offer in on_line and not own,
            "isOwn": bool(own),
        }


def _end(value: float, scale: figures.UnitScale) -> float | None:
    """End of an interval; None where it is unknown."""
    return None if math.isnan(value) else charts.round_for_chart(scale.shown(value))


def _texts(rows: Sequence[RankingRow], name: str) -> list[Any]:
    column = cells(rows, name)
    return [column.values[code] for code in column.codes]


def _dots(
    parts: Sequence[Sequence[RankingRow]],
    named: Sequence[Sequence[RankingRow]],
    bounds: _Bounds,
    most: int,
    scale: figures.UnitScale,
) -> list[list[Any]]:
    """Points without an interval, as lists: offer, label, provider, x, y, whether beyond the limits,
    as those of the last part are.

    Of thousands of offers no rows are made: those drawn lie apart from what is drawn before them.
    """
    positions = _Positions.of(parts)
    kept = _thin(positions, _Positions.of(named), bounds, most)
    dots: list[list[Any]] = []
    start = 0
    for rows in parts:
        end = start + len(rows)
        at = kept[(start <= kept) & (kept < end)]
        some = rows_at(rows, at - start)
        columns = (_texts(some, name) for name in ("offer_id", "provider", *LABELLED_BY))
        figures_at = (column[at].tolist() for column in positions)
        for offer, provider, *label, price, score in zip(*columns, *figures_at, strict=True):
            x, y = charts.round_for_chart(price), charts.round_for_chart(scale.shown(score))
            dots.append([offer, charts.offer_label(*label), provider, x, y, rows is parts[-1]])
        start = end
    return dots


class _Positions(NamedTuple):
    """Where offers lie in the picture."""

    prices: Floats
    scores: Floats

    @classmethod
    def of(cls, parts: Sequence[Sequence[RankingRow]]) -> "_Positions":
        """Points of all rows of some lists, one after the other."""
        return cls(
            *(np.concatenate([floats(rows, name) for rows in parts]) for name in ("price", "score"))
        )

    def cells(self, bounds: _Bounds, coarseness: float) -> Ints:
        """Numbers of the cells of a grid, which is logarithmic like the axes, so that it thins
        evenly to the eye."""
        across, down = (
            _cells(np.nan_to_num(values, nan=1.0), ends, count / coarseness)
            for values, ends, count in (
                (self.prices, bounds.prices, CELLS_ACROSS),
                (self.scores, bounds.scores, CELLS_DOWN),
            )
        )
        return across * (2 * CELLS_DOWN) + down


def _cells(values: Floats, ends: Sequence[float], count: float) -> Ints:
    low, high = math.log(ends[0]), math.log(ends[1])
    # Where all have one price the width is zero, and every row falls into one cell.
    width = (high - low) / count or 1.0
    return ((np.log(values) - low) / width).astype(np.int64)


def _thin(candidates: _Positions, points: _Positions, bounds: _Bounds, most: int) -> Ints:
    """Positions of the places that lie apart from the points and from what is drawn before them, in
    the finest grid that keeps to the most."""
    kept = np.zeros(0, np.int64)
    for coarseness in (1, 1.5, 2, 3, 4, 6):
        taken, first = np.unique(candidates.cells(bounds, coarseness), return_index=True)
        # A dot under a point with a name would only blur it.
        kept = np.sort(first[~np.isin(taken, points.cells(bounds, coarseness))])
        if kept.size <= most:
            break
    # Nothing coarser: with fewer cells the shape of the cloud would be lost.
    return kept[:most]


def _limit(condition: Filter, scale: figures.UnitScale, cost: str) -> dict[str, Any]:
    value = condition.values[0]
    is_price = condition.column == "price"
    shown = float(value) if is_price else scale.shown(value)
    unit = cost if is_price else scale.unit
    return {
        "axis": "x" if is_price else "y",
        "value": shown,
        "label": f"{LIMITS[condition.column, condition.operator]} {figures.quantity(shown)} {unit}",
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
        "Scatter chart of {count} offers, price in {cost} against {label} in {unit}, "
        "both axes logarithmic. {on_line} of them have the best score at their price, "
        "from {first} to {last} {unit}. The table below has the same figures.",
        count=len(frontier.within),
        cost=cost,
        label=frontier.metric.label,
        unit=scale.unit,
        on_line=len(line),
        first=point_words(first),
        last=point_words(last),
    )
