"""Comparison of offers in pairs: tie groups and the ranks that are plausible.

An offer's value per cost has a standard deviation on the logarithm, σ = ln(high/low)/3.92 of its 95 %
interval. A is surely above B when ln(A/B) > 1.96 · √(σA² + σB²). Offers that share one source figure
share its error and differ by price alone: any higher value is surely above.
"""

from threading import Lock
from typing import Literal

import numpy as np

from backend.measure.stats import Z_95
from backend.money.amounts import SAME_RATIO, Flags, Floats, Ints, equal_groups

# Longer lists are compared with σ rounded up to two significant digits.
MAX_EXACT_ROWS = 2_000
# Number of the source figure of a row that shares it with no other.
NO_FIGURE = -1
# Value per cost with the ends of its 95 % interval, all above zero.
Interval = tuple[float, float, float]


def log_sigmas(lows: Floats, highs: Floats) -> Floats:
    """Standard deviations on the logarithm from the ends of 95 % intervals."""
    sigmas: Floats = np.log(np.asarray(highs, float) / np.asarray(lows, float)) / (2 * Z_95)
    return sigmas


def are_apart(first: Interval, second: Interval, *, is_same_figure: bool = False) -> bool:
    """True where one of two offers is surely above the other."""
    better, worse = sorted((first, second), reverse=True)
    sigmas = log_sigmas(*np.array([better[1:], worse[1:]], float).T)
    return bool(
        is_surely_above(better[0], worse[0], *sigmas.tolist(), is_same_figure=is_same_figure)
    )


def is_surely_above(
    value: float | Floats,
    other_value: float | Floats,
    sigma: float | Floats,
    other_sigma: float | Floats,
    *,
    is_same_figure: bool | Flags = False,
) -> Flags:
    """True where the first value is higher beyond the errors of both."""
    lead = np.log(np.asarray(value, float) / other_value)
    surely: Flags = lead > np.where(is_same_figure, SAME_RATIO, _margin(sigma, other_sigma))
    return surely


def _margin(sigma: float | Floats, other_sigma: float | Floats) -> Floats:
    """The logarithm of the ratio beyond which one value is surely above another."""
    margin: Floats = np.maximum(Z_95 * np.hypot(sigma, other_sigma), SAME_RATIO)
    return margin


def merge_equal(values: Floats) -> Floats:
    """The values, each replaced by the highest one that it equals at 12 significant digits."""
    groups, highest = equal_groups(values)
    return highest[groups]


class PairwiseRanks:
    """Rank bounds and tie groups of a list in ranking order, calculated for the rows asked for.

    rank_low = 1 + rows surely above, rank_high = all rows − rows surely below. A tie group goes on
    until the first row that the group's first is surely above.
    """

    def __init__(self, values: Floats, sigmas: Floats, source_figures: Ints) -> None:
        """Values are above zero; rows of one source figure have one σ."""
        self._logs = np.log(values)
        self._sigmas = round_up(sigmas) if values.size > MAX_EXACT_ROWS else sigmas
        self._figures = source_figures
        order = np.argsort(self._logs, kind="stable")
        self._ascending = self._logs[order]
        self._classes = self._logs_by_sigma()
        position = np.empty(order.size, np.int64)
        position[order] = np.arange(order.size)
        is_shared = source_figures != NO_FIGURE
        # Sorted pairs of figure and position in the ascending order, each pair one number.
        self._pairs = np.sort(self._pair(source_figures[is_shared], position[is_shared]))
        # Zero is not yet calculated.
        self._low, self._high, self._groups = np.zeros((3, values.size), np.int32)
        self._group_end = 0
        self._lock = Lock()

    def _logs_by_sigma(self) -> list[tuple[float, Floats]]:
        """Each σ with the logarithms of its rows, ascending."""
        order = np.lexsort((self._logs, self._sigmas))
        sigmas, starts = np.unique(self._sigmas[order], return_index=True)
        parts = np.split(self._logs[order], starts)[1:]
        return list(zip(sigmas.tolist(), parts, strict=True))

    # --- rank bounds ---------------------------------------------------------------------------

    def rank_bounds(self, rows: Ints) -> tuple[Ints, Ints]:
        """Lowest and highest plausible rank of some rows."""
        missing = np.unique(rows[self._low[rows] == 0])
        if missing.size:
            low, high = self._count_bounds(missing)
            # In this order: another thread reads the rows whose lowest rank is there.
            self._high[missing] = high
            self._low[missing] = low
        return self._low[rows], self._high[rows]

    def row_bounds(self, row: int, shown: Ints) -> tuple[int, int]:
        """The same of one row; where it is the first of the `shown` ones (−1 is no row), of all."""
        if not self._low[row]:
            self.rank_bounds(shown[shown >= 0])
        return int(self._low[row]), int(self._high[row])

    def _count_bounds(self, rows: Ints) -> tuple[Ints, Ints]:
        logs, sigmas = self._logs[rows], self._sigmas[rows]
        above, below = np.zeros((2, rows.size), np.int64)
        for sigma, ascending in self._classes:
            margin = _margin(sigmas, sigma)
            above += ascending.size - np.searchsorted(ascending, logs + margin, side="right")
            below += np.searchsorted(ascending, logs - margin, side="left")
        shared = np.flatnonzero(self._figures[rows] != NO_FIGURE)
        more_above, more_below = self._count_within_margin(rows[shared])
        above[shared] += more_above
        below[shared] += more_below
        return 1 + above, self._logs.size - below

    def _count_within_margin(self, rows: Ints) -> tuple[Ints, Ints]:
        """Rows above and below that share the row's figure and lie within its margin."""
        logs, figures, sigmas = self._logs[rows], self._figures[rows], self._sigmas[rows]
        margin = _margin(sigmas, sigmas)

        def count_below(bound: Floats, side: Literal["left", "right"]) -> Ints:
            positions = np.searchsorted(self._ascending, bound, side=side)
            counts: Ints = np.searchsorted(self._pairs, self._pair(figures, positions))
            return counts

        above = count_below(logs + margin, "right") - count_below(logs + SAME_RATIO, "right")
        below = count_below(logs - SAME_RATIO, "left") - count_below(logs - margin, "left")
        return above, below

    def _pair(self, figures: Ints, positions: Ints) -> Ints:
        # A position may be one past the last.
        pairs: Ints = figures.astype(np.int64) * (self._logs.size + 1) + positions
        return pairs

    # --- tie groups ----------------------------------------------------------------------------

    def tie_groups(self, rows: Ints) -> Ints:
        """Numbers of the tie groups of some rows, from 1."""
        self._number_groups_through(int(rows.max(initial=-1)))
        return self._groups[rows]

    def row_tie_group(self, row: int) -> int:
        """Number of the tie group of a row, from 1."""
        self._number_groups_through(row)
        return int(self._groups[row])

    def _number_groups_through(self, last: int) -> None:
        if last >= self._group_end:
            with self._lock:
                self._extend_groups(last)

    def _extend_groups(self, last: int) -> None:
        """Number the groups up to a row's: most readers see the first ones only."""
        while self._group_end <= last:
            first = self._group_end
            end = self._end_of_group(first)
            self._groups[first:end] = self._groups[first - 1] + 1 if first else 1
            self._group_end = end

    def _end_of_group(self, first: int) -> int:
        """The first row that the row `first` is surely above; the number of rows without one."""
        log, sigma, figure = self._logs[first], self._sigmas[first], self._figures[first]
        start, size = first + 1, 64
        # In ever longer parts: most groups are short.
        while start < self._logs.size:
            rest = slice(start, start + size)
            margin = _margin(sigma, self._sigmas[rest])
            if figure != NO_FIGURE:
                margin[self._figures[rest] == figure] = SAME_RATIO
            surely = log - self._logs[rest] > margin
            end = int(surely.argmax())
            if surely[end]:
                return start + end
            start, size = start + size, 2 * size
        return int(self._logs.size)


def round_up(sigmas: Floats) -> Floats:
    """σ rounded up to two significant digits."""
    step = 10.0 ** (np.floor(np.log10(np.where(sigmas > 0, sigmas, 1.0))) - 1)
    # Less a little, as the float of 0.29 may lie above 29 steps of 0.01.
    rounded: Floats = np.ceil(sigmas / step - 1e-9) * step
    return rounded
