"""One ranking of offers by value per cost under one metric.

The order is total: rows with a value first, best first; then rows without a price; then unfit rows
(disturbed, or measured from a cache); then rows without a score. Within those without a price and
the unfit the better score comes first, and equal rows follow their offer id. Unfit rows are shown
and never compared: they hold no rank, value, tie group or point on the Pareto front, and they keep
nobody off it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from threading import Lock
from typing import Any

import numpy as np

from backend.domain.amounts import Amounts, Flags, Floats, Ints, as_one, is_close
from backend.domain.cmips import cup
from backend.domain.draws import (
    DrawnRows,
    Spreads,
    drawn_blocks,
    drawn_rows,
    rank_bounds,
    spreads,
    tie_groups,
)
from backend.domain.errors import InvalidValue
from backend.domain.metrics import Metric
from backend.domain.mix import MIX, SAME_MIX_RATIO
from backend.domain.stats import Summary
from backend.domain.units import EXACT, exact_decimal

CUP_METRIC = "cmips_score"
# Values closer than this are one value: it is wider than the rounding of the 34-digit context,
# so that offers equal in one currency stay equal in another.
SAME_VALUE_RATIO = Decimal("1e-30")
# Rank bounds of more rows at once are worked out for the whole list.
ROWS_ALONE = 120
# A list of up to so many has them worked out for all of it at once: the draws take longer than the
# rest.
SHORT_ROWS = 600
# Pages of a list whose rank bounds are worked out alone, before those of the whole list are.
PARTS_ALONE = 3


@dataclass(frozen=True, slots=True)
class Worth:
    """What an offer comes to by itself, whoever else is listed."""

    value_per_cost: Decimal
    low: Decimal
    high: Decimal
    cup: Decimal | None


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


def worth(
    score: Summary, price: Decimal | None, price_per_hour: Decimal | None, metric: Metric
) -> Worth | None:
    """Value, bounds and CUP; None without a price. CUP needs the price of an hour in the same
    currency, whatever the period.

    Raises InvalidValue for a score or price that is not above zero.
    """
    for field, amount in (
        ("score", score.value),
        ("price", price),
        ("price_per_hour", price_per_hour),
    ):
        # A price of zero would be worth infinitely much, and rank first.
        if amount is not None and not amount > 0:
            raise InvalidValue(field, f"{amount} is not above zero")
    if price is None:
        return None
    # The ends change places where a lower score is better.
    ends = [value_per_cost(s, price, metric) for s in (score.ci95_low, score.ci95_high)]
    return Worth(
        value_per_cost(score.value, price, metric),
        min(ends),
        max(ends),
        _cup(score.value, price_per_hour, metric),
    )


def _cup(score: float, price_per_hour: Decimal | None, metric: Metric) -> Decimal | None:
    # CUP is defined by the articles for CMIPS and an hour only.
    if metric.key != CUP_METRIC or price_per_hour is None:
        return None
    return cup(price_per_hour, score)


@dataclass(frozen=True, eq=False)
class Contest:
    """What is read of the offers of a list to rank them, a row each.

    `value` is unknown without a score or price, and for an unfit score; `low` and `high` are the
    ends of its interval. `price` is for the period and basis of the ranking. `name` is the place of
    the offer's id among all in their order, which no two rows share.
    """

    value: Amounts
    low: Floats
    high: Floats
    price: Amounts
    score: Floats
    is_unfit: Flags
    name: Ints


class RankBounds:
    """Between which ranks the rows of a contest lie, worked out of those that are asked for: the
    draws take longer than all else of a ranking together, and most lists show a page or none.

    Rows are in an order that does not change with their values: what is drawn of a row is then the
    same from one state of the data to the next, and few changes leave most ranks as they are.
    """

    def __init__(self, spread: Spreads, rank: Ints, earlier: "RankBounds | None" = None) -> None:
        self._spread, self._rank = spread, rank
        # With a last one, which stands for rows that are not compared.
        self._low, self._high = np.zeros((2, rank.size + 1), np.int32)
        self._is_known = np.zeros(rank.size + 1, bool)
        self._is_known[-1] = True
        self._is_asked = np.zeros(rank.size + 1, bool)
        self._part_count = 0
        self._part: DrawnRows | None = None
        """Rows that were worked out alone, the last ones of them."""
        self._lock = Lock()
        self._asked_before = np.zeros(0, np.intp)
        if earlier is not None and earlier._rank.size == rank.size:
            self._take_over(earlier)

    def _take_over(self, earlier: "RankBounds") -> None:
        self._asked_before = earlier._asked()
        if earlier._part is not None:
            self._part = earlier._part.after(earlier._spread, self._spread)
        if self._part is not None:
            self._know(self._part.rows, *self._part.bounds(self._rank))

    def _asked(self) -> Ints:
        """The rows that readers asked for; of the state before where nobody did."""
        asked = np.flatnonzero(self._is_asked[:-1])
        return asked if asked.size else self._asked_before

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Lowest and highest rank of rows by their position, 0 where that is −1."""
        self._work_out(rows)
        # Afterwards: what is marked may be read without the lock.
        self._is_asked[rows] = True
        return self._low[rows], self._high[rows]

    def renew(self) -> None:
        """Work out the rows that were asked for of the earlier state."""
        self._work_out(self._asked_before)

    def _work_out(self, rows: Ints) -> None:
        # Several may ask at once: one of them works it out.
        with self._lock:
            unknown = np.unique(rows[~self._is_known[rows]])
            if unknown.size:
                self._draw(unknown)

    def at(self, row: int, shown: Ints) -> tuple[int, int]:
        """Those of a row; where it is asked for first, all that are shown with it are worked out."""
        if not self._is_asked[row]:
            self.of(shown)
        return int(self._low[row]), int(self._high[row])

    def _draw(self, rows: Ints) -> None:
        self._part_count += 1
        # Whoever turns over pages is spared further draws.
        if (
            rows.size > ROWS_ALONE
            or self._part_count > PARTS_ALONE
            or self._rank.size <= SHORT_ROWS
        ):
            self._part = None
            self._know(
                np.arange(self._rank.size), *rank_bounds(drawn_blocks(self._spread), self._rank)
            )
        else:
            part = drawn_rows(self._spread, rows)
            self._know(rows, *part.bounds(self._rank))
            if self._part is not None and self._part.rows.size + rows.size <= ROWS_ALONE:
                part = self._part.beside(part)
            self._part = part

    def _know(self, rows: Ints, low: Ints, high: Ints) -> None:
        self._low[rows], self._high[rows], self._is_known[rows] = low, high, True


@dataclass(frozen=True, eq=False)
class Standings:
    """Rows of a contest in order, and in that order how each stands; 0 where it is not compared."""

    order: Ints
    rank: Ints
    tie_group: Ints
    pareto: Flags
    bounded: Ints
    """Where each row is among those that have bounds; −1 where it has none."""
    bounds: RankBounds

    @property
    def rank_low(self) -> Ints:
        return self.bounds.of(self.bounded)[0]

    @property
    def rank_high(self) -> Ints:
        return self.bounds.of(self.bounded)[1]

    def standing(self, position: int, *, has_bounds: bool = True) -> Standing:
        """How the row at a position of the order stands; on request without its rank bounds."""
        if not self.rank[position]:
            return NOT_COMPARED
        low, high = None, None
        if has_bounds:
            low, high = self.bounds.at(int(self.bounded[position]), self.bounded)
        return Standing(
            rank=int(self.rank[position]),
            rank_low=low,
            rank_high=high,
            tie_group=int(self.tie_group[position]),
            pareto=bool(self.pareto[position]),
        )

    def at(self, positions: Ints) -> "Standings":
        """Those of some positions, in their order."""
        return self._of(lambda name: getattr(self, name)[positions])

    def followed_by(self, other: "Standings") -> "Standings":
        """These rows and others of the same contest."""
        return self._of(lambda name: np.concatenate((getattr(self, name), getattr(other, name))))

    def _of(self, column: Callable[[str], Any]) -> "Standings":
        names = (field.name for field in fields(self) if field.name != "bounds")
        return Standings(bounds=self.bounds, **{name: column(name) for name in names})


def standings(of: Contest, metric: Metric, earlier: Standings | None = None) -> Standings:
    """The order described above, and how each row stands in it.

    `rank` is a competition rank (1, 2, 2, 4) by exact value; rank bounds and tie groups come from
    the intervals of the scores (domain.draws). `earlier` are those of nearly the same contest.
    """
    compared = np.flatnonzero(~np.isnan(of.value.floats))
    rank = _ranks(of.value.at(compared), metric)
    order = np.argsort(as_one(rank, of.name[compared]))
    compared, rank = compared[order], rank[order]
    spread = spreads(of.value.floats[compared], of.low[compared], of.high[compared])
    # Equal values have equal floats, whatever prices and scores they come from: those of the first.
    spread = spread._replace(centre=spread.centre[rank - 1])
    others = _by_score(of, np.flatnonzero(np.isnan(of.value.floats)), metric)
    none = np.zeros(others.size, np.int32)
    by_name = _order(of.name[compared])
    position = np.empty(rank.size, np.int32)
    position[by_name] = np.arange(rank.size, dtype=np.int32)
    return Standings(
        order=np.concatenate((compared, others)).astype(np.int32),
        rank=np.concatenate((rank, none)),
        tie_group=np.concatenate((tie_groups(spread), none)),
        pareto=np.concatenate(
            (_pareto(of.price.at(compared), of.score[compared], metric), none.astype(bool))
        ),
        bounded=np.concatenate((position, none - 1)),
        bounds=RankBounds(
            spread.at(by_name),
            rank[by_name],
            None if earlier is None else earlier.bounds,
        ),
    )


def _order(numbers: Ints) -> Ints:
    """The order of different whole numbers from 0: counted, which takes a fifth of the time."""
    rows = np.full(int(numbers.max(initial=-1)) + 1, -1, np.int32)
    rows[numbers] = np.arange(numbers.size)
    return rows[rows >= 0]


def _ranks(values: Amounts, metric: Metric) -> Ints:
    """The competition rank of each value, 1 for the best."""
    same = SAME_MIX_RATIO if metric is MIX else SAME_VALUE_RATIO
    order, lower = (column[::-1] for column in values.ascending())
    starts = np.flatnonzero(np.diff(lower, prepend=-1))
    rank, leader = starts + 1, np.arange(starts.size)
    best = order[starts]
    close = np.flatnonzero(is_close(values.floats[best][::-1])[::-1]) + 1
    for group in close.tolist():
        first = int(leader[group - 1])
        # Compared with the first of a group, so that equal by a hair does not add up along a chain.
        most = values.figure(int(best[first]))
        if most - values.figure(int(best[group])) <= most * same:
            leader[group], rank[group] = first, rank[first]
    ranks = np.empty(order.size, np.int32)
    ranks[order] = np.repeat(rank, np.diff(np.append(starts, order.size)))
    return ranks


def _by_score(of: Contest, rows: Ints, metric: Metric) -> Ints:
    """Those without a price, the unfit, and those without a score."""
    score = of.score[rows]
    has_none = np.isnan(score)
    better = np.where(has_none, 0.0, -score if metric.is_higher_better else score)
    last = np.where(has_none, 2, of.is_unfit[rows].astype(np.int64))
    ordered: Ints = rows[np.lexsort((of.name[rows], better, last))]
    return ordered


def _pareto(price: Amounts, score: Floats, metric: Metric) -> Flags:
    """Which rows are on the front of price and score: nothing costs no more and scores no worse."""
    # Ranks of exact decimals and floats as they are stored: rounding would put offers on a front
    # that they are not on.
    order, cost = price.ascending()
    worse = -score if metric.is_higher_better else score
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
