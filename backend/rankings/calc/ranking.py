"""A ranking of offers by value per cost under one metric.

The order is total: rows with a value first, best first; then rows without a price; then unfit rows
(disturbed, or measured from a cache); then rows without a score. A measured offer stands by its value,
a derived one by the lower end of its value's interval. Within those without a price and the unfit the
better score comes first, and equal rows follow their offer id. Unfit rows are shown and never compared:
they hold no rank, value, tie group or point on the Pareto front, and they keep nobody off it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

import numpy as np

from backend.foundation.units import EXACT, exact_decimal
from backend.measure.metrics import Metric
from backend.measure.pairwise import PairwiseRanks, log_sigmas
from backend.money.amounts import Figures, Flags, Floats, Ints, equal_groups

CUP_METRIC = "cmips_score"
# Rows whose rank bounds are calculated together with those of a row.
BLOCK_ROWS = 64


@dataclass(frozen=True)
class Standing:
    """How a candidate stands among the others, named as the columns; None where not compared."""

    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    tie_group: int | None = None
    pareto: bool | None = None


NOT_COMPARED = Standing()


def value_per_cost(score: float, price: Decimal, metric: Metric) -> Decimal:
    """score / price, or 1 / (score × price) where lower is better; 34 digits, higher is better."""
    exact = exact_decimal(score)
    if metric.is_higher_better:
        return EXACT.divide(exact, price)
    # Not score × price: of two values the higher has to be the better everywhere.
    return EXACT.divide(Decimal(1), EXACT.multiply(exact, price))


def break_even_price(score: float, best: Decimal, metric: Metric) -> Decimal:
    """The price at which a score is worth as much per cost as the `best`; 34 digits."""
    # The price stands where the value per cost stood: value = score / price, price = score / value.
    return value_per_cost(score, best, metric)


def values_per_cost(scores: Floats, prices: Floats, metric: Metric) -> Floats:
    """The same of many offers, in floats."""
    return scores / prices if metric.is_higher_better else 1.0 / (scores * prices)


@dataclass(frozen=True, eq=False)
class RankingInput:
    """The offers of a list as arrays, a row each.

    `value` is unknown without a score or price, and for an unfit score; `low` and `high` are the
    ends of its interval. `price` is for the period and basis of the ranking. `source_figure` numbers
    the figures that offers share (measure.pairwise). `name` is the place of the offer's id among all
    in their order, which no two rows share.
    """

    value: Floats
    low: Floats
    high: Floats
    price: Floats
    score: Floats
    is_unfit: Flags
    is_derived: Flags
    source_figure: Ints
    name: Ints

    @property
    def order_value(self) -> Floats:
        """The value by which an offer takes its place."""
        return np.where(self.is_derived, self.low, self.value)


@dataclass(frozen=True, eq=False)
class Standings:
    """Rows of a list in order, and in that order how each stands; 0 where it is not compared."""

    order: Ints
    rank: Ints
    pareto: Flags
    compared: Ints
    """The row's number among those that are compared; −1 where it is not."""
    pairwise: PairwiseRanks

    @property
    def tie_group(self) -> Ints:
        groups = np.zeros(self.compared.size, np.int32)
        rows = np.flatnonzero(self.compared >= 0)
        groups[rows] = self.pairwise.tie_groups(self.compared[rows])
        return groups

    @property
    def rank_low(self) -> Ints:
        return self._rank_bounds()[0]

    @property
    def rank_high(self) -> Ints:
        return self._rank_bounds()[1]

    def _rank_bounds(self) -> tuple[Ints, Ints]:
        low, high = np.zeros((2, self.compared.size), np.int32)
        rows = np.flatnonzero(self.compared >= 0)
        low[rows], high[rows] = self.pairwise.rank_bounds(self.compared[rows])
        # An interval may be longer at one side than its σ: a rank always lies within its bounds.
        return np.minimum(low, self.rank), np.maximum(high, self.rank)

    def standing(self, position: int, *, has_bounds: bool = True) -> Standing:
        """How the row at a position of the order stands; on request without its rank bounds."""
        if not self.rank[position]:
            return NOT_COMPARED
        row, rank = int(self.compared[position]), int(self.rank[position])
        low, high = None, None
        if has_bounds:
            # A page shows rows that follow each other: one calculation serves several.
            first = position - position % BLOCK_ROWS
            block = self.compared[first : first + BLOCK_ROWS]
            low, high = self.pairwise.row_bounds(row, block)
            low, high = min(low, rank), max(high, rank)
        return Standing(
            rank=rank,
            rank_low=low,
            rank_high=high,
            tie_group=self.pairwise.row_tie_group(row),
            pareto=bool(self.pareto[position]),
        )

    def at(self, positions: Ints) -> "Standings":
        """Rows at some positions, in their order."""
        return self._map(lambda name: getattr(self, name)[positions])

    def concat(self, other: "Standings") -> "Standings":
        """These rows and others of the same list."""
        return self._map(lambda name: np.concatenate((getattr(self, name), getattr(other, name))))

    def _map(self, column: Callable[[str], Any]) -> "Standings":
        names = (field.name for field in fields(self) if field.name != "pairwise")
        return Standings(pairwise=self.pairwise, **{name: column(name) for name in names})


def standings(given: RankingInput, metric: Metric) -> Standings:
    """The order described above, and how each row stands in it.

    `rank` is a competition rank (1, 2, 2, 4); rank bounds and tie groups come from measure.pairwise.
    """
    compared = np.flatnonzero(~np.isnan(given.value))
    groups, _ = equal_groups(given.order_value[compared])
    order = np.lexsort((given.name[compared], -groups))
    compared, groups = compared[order], groups[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    rank = np.repeat(starts + 1, np.diff(np.append(starts, groups.size))).astype(np.int32)
    others = _by_score(given, np.flatnonzero(np.isnan(given.value)), metric)
    none = np.zeros(others.size, np.int32)
    return Standings(
        order=np.concatenate((compared, others)).astype(np.int32),
        rank=np.concatenate((rank, none)),
        pareto=np.concatenate((_pareto(given, compared, metric), none.astype(bool))),
        compared=np.concatenate((np.arange(rank.size, dtype=np.int32), none - 1)),
        pairwise=PairwiseRanks(
            given.value[compared],
            log_sigmas(given.low[compared], given.high[compared]),
            given.source_figure[compared],
        ),
    )


def _by_score(given: RankingInput, rows: Ints, metric: Metric) -> Ints:
    """Indexes of rows without a price, the unfit, and those without a score."""
    score = given.score[rows]
    has_none = np.isnan(score)
    better = np.where(has_none, 0.0, -score if metric.is_higher_better else score)
    last = np.where(has_none, 2, given.is_unfit[rows].astype(np.int64))
    ordered: Ints = rows[np.lexsort((given.name[rows], better, last))]
    return ordered


def _pareto(given: RankingInput, rows: Ints, metric: Metric) -> Flags:
    """Which rows are on the front of price and score: nothing costs no more and scores no worse."""
    score = given.score[rows]
    worse = -score if metric.is_higher_better else score
    cost = Figures(given.price[rows]).ranks()
    order = np.argsort(cost, kind="stable")
    cost = cost[order]
    starts = np.flatnonzero(np.diff(cost, prepend=-1))
    if not starts.size:
        return np.zeros(0, bool)
    # Of one price the best score, where no lower price has as good a one.
    best = np.minimum.reduceat(worse[order], starts)
    cheaper = np.concatenate(([np.inf], np.minimum.accumulate(best)[:-1]))
    sizes = np.diff(np.append(starts, order.size))
    front = np.empty(order.size, bool)
    front[order] = (worse[order] == np.repeat(best, sizes)) & np.repeat(best < cheaper, sizes)
    return front
