"""Offers of one list against each other: how far their ranks may lie, and which differ.

A value with its 95 % interval is a log-normal on each side of the value, so that value and bounds
are its 50, 2.5 and 97.5 percentiles.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.domain.amounts import Floats, Ints
from backend.domain.stats import CONFIDENCE, Z_95

SEED = 20_130_921  # the day the first table of this kind was published; any fixed number serves
RANK_DRAWS = 500
FEWEST_DRAWS = 50
MOST_DRAWN = 5_000_000  # plausible values of a list in all; above it, each offer has fewer
# Plausible values of one stream: of any few rows they are drawn again in some milliseconds.
STREAM = 200_000
BLOCK = 300_000  # plausible values at a time: they then fit the processor's cache
AT_ONCE = 10_000  # offers whose draws are sorted at a time
FAR = 6.0  # normal deviates beyond which lies one of five hundred million
COUNTED_ROWS = 8  # up to so many, counting what is larger than each is quicker than an order of all
# Rows with another spread than before, each of which may need a stream anew.
FEW_CHANGED = 20
GROUP_BLOCK = 64  # rows looked at first for the end of a tie group
GRID = np.linspace(-8.0, 8.0, 321)  # normal deviates; beyond lie 1e-15


class Spreads(NamedTuple):
    """Values on the logarithm, with the standard deviations below and above each."""

    centre: Floats
    down: Floats
    up: Floats

    def at(self, rows: Ints) -> "Spreads":
        """Those of some rows, in their order."""
        return Spreads(*(column[rows] for column in self))


def spreads(
    values: Sequence[float] | Floats,
    lows: Sequence[float] | Floats,
    highs: Sequence[float] | Floats,
) -> Spreads:
    """Of values above zero with the ends of their intervals, low ≤ value ≤ high."""
    centre, low, high = (np.log(np.asarray(column, np.float64)) for column in (values, lows, highs))
    return Spreads(centre, (centre - low) / Z_95, (high - centre) / Z_95)


def common_draws(of: Spreads, *, seed: int = SEED, n_draws: int | None = None) -> Floats:
    """The blocks of `drawn_blocks` as one array (n_draws, rows)."""
    return np.concatenate(list(drawn_blocks(of, seed=seed, n_draws=n_draws)))


def drawn_blocks(of: Spreads, *, seed: int = SEED, n_draws: int | None = None) -> Iterator[Floats]:
    """Plausible logarithms of each row: arrays (draws, rows) one after the other, from seeded
    streams, so that the draws of a large list never stand in memory together.

    Rows of one draw belong together, so differences between rows are paired. By default 500 draws;
    of more than 10,000 rows so many that there are five million values, at least 50. What is drawn
    of a row depends on its position, its spread, and how many rows there are.
    """
    n_draws = draw_count(of.centre.size) if n_draws is None else n_draws
    for normal in _normal_blocks(of.centre.size, n_draws, seed):
        yield _plausible(normal, of)


def _normal_blocks(n_rows: int, n_draws: int, seed: int) -> Iterator[Floats]:
    """The deviates of `drawn_blocks`."""
    at_once = max(1, BLOCK // max(n_rows, 1))
    streams = [(rows, _stream(rows, seed)) for rows in _streamed(n_rows, n_draws)]
    for first in range(0, n_draws, at_once):
        normal = np.empty((min(at_once, n_draws - first), n_rows))
        for rows, stream in streams:
            normal[:, rows] = stream.standard_normal((normal.shape[0], rows.stop - rows.start))
        yield normal


def _normal_of(rows: Ints, n_rows: int) -> Floats:
    """The deviates that `drawn_blocks` draws of some rows by default, as one array (draws, rows)."""
    n_draws = draw_count(n_rows)
    normal = np.empty((n_draws, rows.size))
    for some in _streamed(n_rows, n_draws):
        at = np.flatnonzero((rows >= some.start) & (rows < some.stop))
        if at.size:
            drawn = _stream(some, SEED).standard_normal((n_draws, some.stop - some.start))
            normal[:, at] = drawn[:, rows[at] - some.start]
    return normal


def draw_count(n_rows: int) -> int:
    """How often each row of a list is drawn."""
    return max(FEWEST_DRAWS, min(RANK_DRAWS, MOST_DRAWN // max(n_rows, 1)))


def _streamed(n_rows: int, n_draws: int) -> list[slice]:
    """The rows that share a stream."""
    width = max(1, STREAM // n_draws)
    return [slice(first, min(first + width, n_rows)) for first in range(0, n_rows, width)]


def _stream(rows: slice, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, rows.start] if rows.start else seed)


def _plausible(normal: Floats, of: Spreads) -> Floats:
    """Normal deviates (draws, rows) as logarithms, in place."""
    normal *= np.where(normal < 0, of.down, of.up)
    normal += of.centre
    return normal


class DrawnRows(NamedTuple):
    """Some rows of a list in each of its draws."""

    rows: Ints
    values: Floats
    """(draws, rows)"""
    ranks: NDArray[np.int32]
    """The competition rank of each among all rows of the list; (draws, rows)."""

    def bounds(self, ranks: Ints) -> tuple[Ints, Ints]:
        """As `rank_bounds`, of these rows; `ranks` by value are those of the list."""
        low, high = _quantiles(self.ranks.T.copy())
        return np.minimum(ranks[self.rows], low), np.maximum(ranks[self.rows], high)

    def after(self, before: Spreads, now: Spreads) -> "DrawnRows | None":
        """The rows whose spread is as it was, after few others have got another one; None where it
        is so many that all are drawn as quickly."""
        changed = np.flatnonzero(reduce(or_, map(np.not_equal, before, now)))
        if changed.size > FEW_CHANGED:
            return None
        same = np.flatnonzero(~np.isin(self.rows, changed))
        values, ranks = self.values[:, same], self.ranks[:, same]
        normal = _normal_of(changed, now.centre.size)
        was, become = (_plausible(normal.copy(), of.at(changed)) for of in (before, now))
        for n in range(changed.size):
            ranks += become[:, n, None] > values
            ranks -= was[:, n, None] > values
        return DrawnRows(self.rows[same], values, ranks)

    def beside(self, other: "DrawnRows") -> "DrawnRows":
        """These rows and others of the same draws."""
        return DrawnRows(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.values, other.values), axis=1),
            np.concatenate((self.ranks, other.ranks), axis=1),
        )


def drawn_rows(of: Spreads, rows: Ints) -> DrawnRows:
    """Some rows of a list in each of its draws by default; quick for up to a hundred."""
    n_rows = of.centre.size
    rivals, above_count = _rivals(of, rows)
    parts = []
    for normal in _normal_blocks(n_rows, draw_count(n_rows), SEED):
        values = _plausible(normal[:, rows], of.at(rows))
        if abs(normal.min()) <= FAR and normal.max() <= FAR:
            drawn = _plausible(normal[:, rivals], of.at(rivals))
            parts.append((values, _ranks_of(values, drawn) + above_count))
        else:
            parts.append((values, _ranks_of(values, _plausible(normal, of))))
    values, ranks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return DrawnRows(rows, values, ranks)


def _rivals(of: Spreads, rows: Ints) -> tuple[Ints, int]:
    """The rows that may be drawn on either side of one of `rows` without a deviate beyond FAR, and
    how many lie above all of them."""
    lowest, highest = (_plausible(np.full(of.centre.size, far), of) for far in (-FAR, FAR))
    bottom, top = lowest[rows].min(initial=np.inf), highest[rows].max(initial=-np.inf)
    rivals = np.flatnonzero((highest >= bottom) & (lowest <= top))
    return rivals, int(np.count_nonzero(lowest > top))


def rank_bounds(draws: Iterable[Floats], ranks: Ints) -> tuple[Ints, Ints]:
    """Lowest and highest plausible rank of each row, given its rank by value (1 = largest).

    (min(rank, ⌊p5⌋), max(rank, ⌈p95⌉)) of its competition rank over the draws.
    """
    if not ranks.size:
        return ranks, ranks
    blocks = [_competition_ranks(block) for block in draws]
    low, high = np.empty((2, ranks.size), np.int32)
    # Some offers at a time: the draws of all of them are held once, in narrow integers.
    for first in range(0, ranks.size, AT_ONCE):
        some = slice(first, first + AT_ONCE)
        # A row for each offer, so that its draws are sorted where they lie.
        drawn = np.concatenate([block[:, some] for block in blocks]).T.copy()
        low[some], high[some] = _quantiles(drawn)
    return np.minimum(ranks, low), np.maximum(ranks, high)


def _quantiles(drawn: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """⌊p5⌋ and ⌈p95⌉ of the ranks in each row, which are sorted in place."""
    drawn.sort(axis=1)
    last = drawn.shape[1] - 1
    # Interpolated in whole hundredths: a float may fall short of a whole number that it means.
    (low, low_part), (high, high_part) = (divmod(p * last, 100) for p in (5, 95))
    # As wide integers: a hundred times the rank of a long list is beyond the narrow ones.
    ends = drawn[:, [low, min(low + 1, last), high, min(high + 1, last)]].T.astype(np.int64)
    p5 = ends[0] * (100 - low_part) + ends[1] * low_part
    p95 = ends[2] * (100 - high_part) + ends[3] * high_part
    return p5 // 100, -(-p95 // 100)


def _competition_ranks(draws: Floats) -> NDArray[np.int32]:
    """Rank of each column within its row, 1 for the largest; equal values share the first."""
    ranks = np.empty(draws.shape, np.int32)
    numbers = np.arange(1, draws.shape[1] + 1, dtype=np.int32)
    for draw, rank in zip(-draws, ranks, strict=True):
        order = np.argsort(draw)
        ascending = draw[order]
        is_equal = ascending[1:] == ascending[:-1]
        first = numbers
        # Hardly ever: only figures without any spread are drawn equal.
        if is_equal.any():
            first = numbers.copy()
            first[1:][is_equal] = 0
            first = np.maximum.accumulate(first)
        rank[order] = first
    return ranks


def _ranks_of(values: Floats, draws: Floats) -> NDArray[np.int32]:
    """The same of values that each draw is asked for (draws, values): one more than lie above."""
    if values.shape[1] <= COUNTED_ROWS:
        above = [
            [np.count_nonzero(draw > value) for value in of_draw]
            for draw, of_draw in zip(draws, values, strict=True)
        ]
    else:
        above = [
            ascending.size - np.searchsorted(ascending, of_draw, side="right")
            for ascending, of_draw in zip(np.sort(draws, axis=1), values, strict=True)
        ]
    return np.array(above, np.int32) + 1


# --- telling apart -----------------------------------------------------------------------------


def tie_groups(of: Spreads) -> Ints:
    """Group numbers from 1 for rows in ranking order, best first.

    Walking down, a row joins the group until the first one that is clear of the group's first
    (`is_clear`), among as many offers as there are rows.
    """
    n_rows = of.centre.size
    groups = np.zeros(n_rows, np.int32)
    first = number = 0
    while first < n_rows:
        end, number = _end_of_group(of, first), number + 1
        groups[first:end] = number
        first = end
    return groups


def _end_of_group(of: Spreads, first: int) -> int:
    """The first row that is clear of the row `first`; the number of rows where none is."""
    n_rows = of.centre.size
    start, size = first, GROUP_BLOCK
    # In ever longer parts: most groups are short, and the last ones need not be looked at for each.
    while start < n_rows:
        rest = slice(start, start + size)
        clear = is_clear(of.centre[first] - of.centre[rest], of.down[first], of.up[rest], n_rows)
        if clear.any():
            return start + int(np.argmax(clear))
        start, size = start + size, 2 * size
    return n_rows


def are_apart(
    one: tuple[float, float, float], other: tuple[float, float, float], count: int
) -> bool:
    """Whether two offers of a list of `count`, as (value, low, high), are clear of each other."""
    better, worse = sorted((one, other), reverse=True)
    of = spreads(*zip(better, worse, strict=True))
    return bool(is_clear(of.centre[0] - of.centre[1], of.down[0], of.up[1], count))


def is_clear(difference: Floats, down: Floats, up: Floats, count: int) -> NDArray[np.bool_]:
    """Whether the better of two offers is better whatever their errors, in a list of `count`.

    Their paired difference on the logarithm lies around `difference` with the standard deviations
    `down` of the better and `up` of the worse, those that could close the gap. It is clear of zero
    beyond as many of its deviations as the best of `count` equal offers exceeds the last in 95 of
    100 lists (Tukey's honest significant difference): the better one was chosen for its luck too.
    """
    return difference > tukey_quantile(count) / math.sqrt(2) * np.hypot(down, up)


@lru_cache(maxsize=1024)
def tukey_quantile(count: int) -> float:
    """The 95 % quantile of the range of `count` ≥ 2 standard normal numbers.

    P(range ≤ q) = n ∫ φ(z) · (Φ(z) − Φ(z − q))ⁿ⁻¹ dz; less than two numbers count as two.
    """
    n = max(count, 2)
    density = np.exp(-(GRID**2) / 2) / math.sqrt(2 * math.pi) * (GRID[1] - GRID[0])
    below = _normal_below(GRID)
    low, high = 0.0, 16.0
    for _ in range(40):
        middle = (low + high) / 2
        inside = float(n * density @ (below - _normal_below(GRID - middle)) ** (n - 1))
        low, high = (middle, high) if inside < CONFIDENCE else (low, middle)
    return (low + high) / 2


def _normal_below(z: Floats) -> Floats:
    return np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in z.tolist()])
