"""The rows of a list in order: arrays, of which the rows that are looked at are made."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from heapq import nlargest, nsmallest
from math import isnan
from operator import attrgetter
from typing import Any, overload

import numpy as np

from backend.foundation.units import round_derived
from backend.measure.metrics import Metric
from backend.money.amounts import Figures, Flags, Floats, Ints, as_one
from backend.rankings.calc.ranking import RankingInput, Standings, standings
from backend.rankings.selectors.basis_table import FIGURES, MEASURED, BasisTable
from backend.rankings.selectors.coded import Coded, CodedBuilder
from backend.rankings.selectors.filters import meets
from backend.rankings.selectors.query import DEFAULT_SORT, Filter
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.scores import DISTURBED

STANDING = frozenset({"rank", "rank_low", "rank_high", "tie_group", "pareto"})
IS_DISTURBED = Filter("flags", "=", (DISTURBED,))
TEXTS_AT_ONCE = 2_000
# Of a column, as texts: in the order of value for money equal scores lie far apart.
FIGURES_KEPT = 10_000
# Numbers, how each row stands, and the columns that rank bounds are counted in.
COLUMNS_OF_LIST = 8
LAST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Listing(Sequence[RankingRow]):
    """Offers of a basis by number, in order, and how each stands among them."""

    basis: BasisTable
    numbers: Ints
    standings: Standings
    has_rank_bounds: bool = True
    """True if its rows say between which ranks they lie."""

    @property
    def nbytes(self) -> int:
        return COLUMNS_OF_LIST * self.numbers.nbytes

    def __len__(self) -> int:
        return self.numbers.size

    @overload
    def __getitem__(self, position: int) -> RankingRow: ...
    @overload
    def __getitem__(self, position: slice) -> "Listing": ...
    def __getitem__(self, position: int | slice) -> "RankingRow | Listing":
        if isinstance(position, slice):
            return self.at(np.arange(len(self))[position])
        return self._row(range(len(self))[position])

    def __iter__(self) -> Iterator[RankingRow]:
        return map(self._row, range(len(self)))

    def _row(self, position: int) -> RankingRow:
        row = self.basis.row(int(self.numbers[position]))
        standing = self.standings.standing(position, has_bounds=self.has_rank_bounds)
        return row.listed(standing, self.basis.data_version)

    def at(self, positions: Ints) -> "Listing":
        """The rows at some positions, in their order."""
        return replace(
            self, numbers=self.numbers[positions], standings=self.standings.at(positions)
        )

    def without_rank_bounds(self) -> "Listing":
        """The same rows, which do not say between which ranks they lie."""
        return replace(self, has_rank_bounds=False)

    def concat(self, other: "Listing") -> "Listing":
        """These rows and those of another list of the basis."""
        numbers = np.concatenate((self.numbers, other.numbers))
        return replace(self, numbers=numbers, standings=self.standings.concat(other.standings))

    # --- columns ------------------------------------------------------------------------------

    def column(self, name: str) -> Coded | Figures:
        """A column in the order of the rows."""
        if name in STANDING:
            return self._positions(name)
        return self.basis.column(name).at(self.numbers)

    def _positions(self, name: str) -> Coded:
        codes = getattr(self.standings, name).astype(np.int64)
        if name == "pareto":
            codes = np.where(self.standings.rank == 0, 0, codes + 1)
            return Coded(codes.astype(np.int32), (None, False, True))
        known, at = np.unique(codes, return_inverse=True)
        return Coded(at.astype(np.int32), [value or None for value in known.tolist()])

    def texts(self, names: Sequence[str], text: Callable[[Any], str]) -> Iterator[Sequence[str]]:
        """The cells of each row as texts. Without making the rows: `text` is asked once for equal
        cells of some thousand rows."""
        made = _Texts(text)
        for start in range(0, len(self), TEXTS_AT_ONCE):
            part = self[start : start + TEXTS_AT_ONCE]
            yield from zip(*(made.column(part, name) for name in names), strict=True)

    # --- other lists --------------------------------------------------------------------------

    def kept(self, filters: Sequence[Filter]) -> "Listing":
        """The rows that meet all the filters, each standing as it does."""
        if not filters:
            return self
        mask = np.ones(len(self), bool)
        for condition in filters:
            mask &= meeting(self.column(condition.column), condition)
        return self.at(np.flatnonzero(mask))

    def unknown_count(self, name: str) -> int:
        """Rows that have no figure in a column."""
        return int(np.isnan(self.basis.floats(name)[self.numbers]).sum())

    def sort_by(self, sort: Sequence[tuple[str, bool]], *, is_ranked: bool = True) -> "Listing":
        """Disturbed rows last where the list is ranked, then as asked; the default order of a
        ranked list is its own. Unknown last in both directions, equal rows by slug."""
        if is_ranked and tuple(sort) == DEFAULT_SORT:
            return self
        keys = [_sort_key(self.column(name), is_descending) for name, is_descending in sort]
        if is_ranked:
            keys.insert(0, meeting(self.column("flags"), IS_DISTURBED).astype(np.int64))
        return self.at(np.lexsort((self.numbers, *reversed(keys))))


class _Texts:
    """Cells as texts, of which those are kept that later rows may have as well."""

    def __init__(self, text: Callable[[Any], str]) -> None:
        self._text = text
        self._columns: dict[str, dict[Any, str]] = {}

    def column(self, rows: Listing, name: str) -> Sequence[str]:
        column = rows.column(name)
        if isinstance(column, Figures):
            return self._figures(name, column)
        codes = column.codes.tolist()
        # Where rows of a list stand is numbered by its part, all else by the basis.
        if name in STANDING or len(column.values) > TEXTS_AT_ONCE:
            cells = {code: self._text(column.values[code]) for code in set(codes)}
        else:
            if name not in self._columns:
                self._columns[name] = dict(enumerate(map(self._text, column.values)))
            cells = self._columns[name]
        return [cells[code] for code in codes]

    def _figures(self, name: str, column: Figures) -> Sequence[str]:
        cells, values = self._columns.setdefault(name, {}), column.floats.tolist()
        if len(cells) > FIGURES_KEPT:
            cells.clear()
        unknown = self._text(None)
        # Scores are shown as measured, derived figures at 12 digits.
        cell = float if name in MEASURED else round_derived
        for value in values:
            if value not in cells:
                cells[value] = unknown if isnan(value) else self._text(cell(value))
        return [unknown if isnan(value) else cells[value] for value in values]


@dataclass(frozen=True)
class RankedLists:
    """Offers ranked among each other: those with a score, in order, and the rest."""

    scored: Listing
    unscored: Listing

    @property
    def nbytes(self) -> int:
        return self.scored.nbytes + self.unscored.nbytes

    @property
    def holds(self) -> Sequence[BasisTable]:
        return (self.scored.basis,)


def rank_lists(basis: BasisTable, numbers: Ints, metric: Metric) -> RankedLists:
    """The offers of these numbers of a basis, ranked among each other."""
    low, high, value, price, score = (
        basis.floats(name)[numbers] for name in (*BOUNDS, "value_per_cost", "price", "score")
    )
    made = standings(
        RankingInput(
            value=value,
            low=low,
            high=high,
            price=price,
            score=score,
            is_unfit=basis.is_unfit[numbers],
            is_derived=basis.scores.is_derived[numbers],
            source_figure=basis.scores.source_figures[numbers],
            name=numbers,
        ),
        metric,
    )
    has_score = ~np.isnan(score[made.order])
    everyone = Listing(basis, numbers[made.order].astype(np.int32), made)
    return RankedLists(
        everyone.at(np.flatnonzero(has_score)), everyone.at(np.flatnonzero(~has_score))
    )


BOUNDS = ("value_per_cost_ci95_low", "value_per_cost_ci95_high")


def meeting(column: Coded | Figures, condition: Filter) -> Flags:
    """Which rows of a column meet a filter."""
    if isinstance(column, Coded):
        return column.meets(lambda cell: meets(cell, condition))
    # Whatever is none of the values, the unknown with it.
    if condition.operator == "!":
        return ~meeting(column, replace(condition, operator="="))
    return column.meets(_exactly(condition), condition.values)


def _exactly(condition: Filter) -> Callable[[Decimal], bool]:
    return lambda amount: meets(amount, condition)


def _sort_key(column: Coded | Figures, is_descending: bool) -> Ints:
    ranks = column.ranks()
    return np.where(ranks < 0, LAST, -ranks if is_descending else ranks)


# --- what pages ask of rows -------------------------------------------------------------------


def join_lists(rows: Sequence[RankingRow], others: Sequence[RankingRow]) -> Sequence[RankingRow]:
    """Two lists of one basis as one."""
    if isinstance(rows, Listing) and isinstance(others, Listing):
        return rows.concat(others)
    return [*rows, *others]


def by_rank(rows: Sequence[RankingRow]) -> Sequence[RankingRow]:
    """The rows that take a rank, the best value first."""
    if not isinstance(rows, Listing):
        return sorted((row for row in rows if row.rank), key=lambda row: row.rank or 0)
    ranks = rows.standings.rank
    ranked = np.flatnonzero(ranks)
    return rows.at(ranked[np.argsort(ranks[ranked], kind="stable")])


def without_rank_bounds(rows: Sequence[RankingRow]) -> Sequence[RankingRow]:
    """The same rows for whoever shows nowhere between which ranks they lie."""
    return rows.without_rank_bounds() if isinstance(rows, Listing) else rows


def row_of_offer(rows: Sequence[RankingRow], slug: str) -> RankingRow | None:
    """The row of an offer; None where the list has none."""
    if not isinstance(rows, Listing):
        return next((row for row in rows if row.offer_id == slug), None)
    number = rows.basis.offers.number(slug)
    positions = [] if number is None else np.flatnonzero(rows.numbers == number).tolist()
    return rows[positions[0]] if positions else None


def value_counts(rows: Sequence[RankingRow], name: str) -> Counter[Any]:
    """How many rows have each value of a column, in the order of the first of each."""
    column = rows.column(name) if isinstance(rows, Listing) else None
    if not isinstance(column, Coded):
        return Counter(map(attrgetter(name), rows))
    counts = np.bincount(column.codes, minlength=len(column.values))
    first = np.empty(counts.size, np.int64)
    first[column.codes[::-1]] = np.arange(column.codes.size)[::-1]
    met = np.flatnonzero(counts)
    # Several codes may stand for one value.
    counted: Counter[Any] = Counter()
    for code in met[np.argsort(first[met])].tolist():
        counted[column.values[code]] += int(counts[code])
    return counted


def best_of(
    rows: Sequence[RankingRow], name: str, count: int, *, is_high: bool
) -> Sequence[RankingRow]:
    """So many rows with the best figures of a column, the best first: the highest, or the lowest.

    Of equal figures the last identifier is first among the highest, the first among the lowest.
    Without rank bounds.
    """
    if not isinstance(rows, Listing):
        having = (row for row in rows if getattr(row, name) is not None)
        best = nlargest if is_high else nsmallest
        return best(count, having, key=lambda row: (getattr(row, name), row.offer_id))
    ranks = Figures(rows.basis.floats(name)[rows.numbers]).ranks()
    known = np.flatnonzero(ranks >= 0)
    ascending = known[np.argsort(as_one(ranks[known], rows.numbers[known]))]
    return rows.at((ascending[::-1] if is_high else ascending)[:count]).without_rank_bounds()


def floats(rows: Sequence[RankingRow], name: str) -> Floats:
    """A column of figures; NaN is unknown."""
    if isinstance(rows, Listing):
        return rows.basis.floats(name)[rows.numbers]
    values = (getattr(row, name) for row in rows)
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


def has_any(rows: Sequence[RankingRow], name: str) -> bool:
    """True if any row has something in a column."""
    if name in FIGURES:
        return not np.isnan(floats(rows, name)).all()
    return any(value_counts(rows, name))


def select_rows(rows: Sequence[RankingRow], kept: Flags) -> Sequence[RankingRow]:
    """The rows of a list that are marked."""
    return rows_at(rows, np.flatnonzero(kept))


def rows_at(rows: Sequence[RankingRow], positions: Ints) -> Sequence[RankingRow]:
    """The rows at some positions of a list, in their order."""
    if isinstance(rows, Listing):
        return rows.at(positions)
    return [rows[at] for at in positions.tolist()]


def mark_rows(rows: Sequence[RankingRow], name: str, accepts: Callable[[Any], bool]) -> Flags:
    """Which rows have a cell that is accepted; of a column that is no figure."""
    return cells(rows, name).meets(accepts)


def cells(rows: Sequence[RankingRow], name: str) -> Coded:
    """A column that is no figure, in the order of the rows."""
    column = rows.column(name) if isinstance(rows, Listing) else None
    if isinstance(column, Coded):
        return column
    built = CodedBuilder()
    for row in rows:
        built.append(getattr(row, name))
    return built.coded()


def with_words(rows: Sequence[RankingRow], searched: str) -> Sequence[RankingRow]:
    """The rows whose offer holds each of the words, in any order and case."""
    if not isinstance(rows, Listing):
        raise TypeError("only the rows of a ranking know their texts")
    return select_rows(rows, rows.basis.offers.with_words(searched)[rows.numbers])
