"""Comparison of offers in pairs: ranks, tie groups and the ranks that are plausible.

An offer's value per cost has a relative standard deviation on the logarithm, σ = ln(high/low)/3.92 of
its 95 % interval. A is surely above B when ln(A/B) > 1.96 · √(σA² + σB²). Offers that share one source
figure share its error and differ by price alone, so that any higher value is surely above.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from backend.domain.stats import Z_95

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Figures are compared at 12 significant digits: rounding adds up to less than this ratio.
SAME_RATIO = 1e-12
# Longer lists are compared with σ rounded up to two significant digits.
MAX_EXACT_ROWS = 2_000
NO_FIGURE = -1
"""Number of the source figure of a row that shares it with no other."""


def log_sigmas(lows: Floats, highs: Floats) -> Floats:
    """Standard deviations on the logarithm from the ends of 95 % intervals."""
    return np.log(np.asarray(highs, float) / np.asarray(lows, float)) / (2 * Z_95)


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
    margin = np.where(is_same_figure, 0.0, Z_95 * np.hypot(sigma, other_sigma))
    surely: Flags = lead > np.maximum(margin, SAME_RATIO)
    return surely


def merge_equal(values: Floats) -> Floats:
    """The values, each replaced by the highest one that it equals at 12 significant digits."""
    distinct, codes = np.unique(np.asarray(values, float), return_inverse=True)
    close = np.flatnonzero(distinct[:-1] >= distinct[1:] * (1 - SAME_RATIO))
    # From the highest down, so that small differences do not add up along a chain.
    for row in close[::-1].tolist():
        if distinct[row] >= distinct[row + 1] * (1 - SAME_RATIO):
            distinct[row] = distinct[row + 1]
    merged: Floats = distinct[codes]
    return merged


def tie_groups(values: Floats, sigmas: Floats, source_figures: Ints) -> Ints:
    """Group numbers from 1 for rows in ranking order, best first.

    A row joins the group until the first one that the group's first is surely above.
    """
    groups = np.zeros(values.size, np.int32)
    first = number = 0
    while first < values.size:
        end, number = _end_of_group(values, sigmas, source_figures, first), number + 1
        groups[first:end] = number
        first = end
    return groups


def _end_of_group(values: Floats, sigmas: Floats, source_figures: Ints, first: int) -> int:
    """The first row that the row `first` is surely above; the number of rows without one."""
    start, size = first + 1, 64
    # In ever longer parts: most groups are short.
    while start < values.size:
        rest = slice(start, start + size)
        surely = is_surely_above(
            values[first],
            values[rest],
            sigmas[first],
            sigmas[rest],
            is_same_figure=_is_shared(source_figures[rest], source_figures[first]),
        )
        if surely.any():
            return start + int(np.argmax(surely))
        start, size = start + size, 2 * size
    return int(values.size)


def _is_shared(source_figures: Ints, source_figure: int) -> Flags:
    shared: Flags = (source_figures == source_figure) & (source_figures != NO_FIGURE)
    return shared


class RankBounds:
    """The ranks that are plausible for the rows of a list, calculated for the rows asked for.

    rank_low = 1 + rows surely above, rank_high = all rows − rows surely below.
    """

    def __init__(self, values: Floats, sigmas: Floats, source_figures: Ints) -> None:
        """`values` have equal ones merged (merge_equal); all above zero, in any order."""
        self._logs = np.log(values)
        self._sigmas = round_up(sigmas) if values.size > MAX_EXACT_ROWS else sigmas
        order = np.argsort(self._logs, kind="stable")
        self._ascending = self._logs[order]
        self._classes = self._logs_by_sigma()
        self._figures = source_figures
        # Sorted pairs of figure and position in the ascending order, each pair one number.
        position = np.empty(order.size, np.int64)
        position[order] = np.arange(order.size)
        is_shared = source_figures != NO_FIGURE
        self._pairs = np.sort(self._pair(source_figures[is_shared], position[is_shared]))

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Lowest and highest plausible rank of some rows."""
        logs, sigmas = self._logs[rows], self._sigmas[rows]
        above, below = np.zeros((2, rows.size), np.int64)
        for sigma, ascending in self._classes:
            margin = np.maximum(Z_95 * np.hypot(sigmas, sigma), SAME_RATIO)
            above += ascending.size - np.searchsorted(ascending, logs + margin, side="right")
            below += np.searchsorted(ascending, logs - margin, side="left")
        shared = np.flatnonzero(self._figures[rows] != NO_FIGURE)
        if shared.size:
            more_above, more_below = self._price_alone(rows[shared])
            above[shared] += more_above
            below[shared] += more_below
        return 1 + above, self._logs.size - below

    def _price_alone(self, rows: Ints) -> tuple[Ints, Ints]:
        """Further rows above and below that share the row's figure: those within its margin."""
        logs, figures = self._logs[rows], self._figures[rows]
        # All rows of one figure have its σ.
        margin = np.maximum(Z_95 * math.sqrt(2) * self._sigmas[rows], SAME_RATIO)

        def count_below(bound: Floats, side: Literal["left", "right"]) -> Ints:
            positions = np.searchsorted(self._ascending, bound, side=side)
            counted: Ints = np.searchsorted(self._pairs, self._pair(figures, positions))
            return counted

        above = count_below(logs + margin, "right") - count_below(logs + SAME_RATIO, "right")
        below = count_below(logs - SAME_RATIO, "left") - count_below(logs - margin, "left")
        return above, below

    def _pair(self, figures: Ints, positions: Ints) -> Ints:
        # A position may be one past the last.
        pairs: Ints = figures.astype(np.int64) * (self._logs.size + 1) + positions
        return pairs

    def _logs_by_sigma(self) -> list[tuple[float, Floats]]:
        """Each σ with the logarithms of its rows, ascending."""
        order = np.lexsort((self._logs, self._sigmas))
        sigmas, starts = np.unique(self._sigmas[order], return_index=True)
        parts = np.split(self._logs[order], starts)[1:]
        return list(zip(sigmas.tolist(), parts, strict=True))


def round_up(sigmas: Floats) -> Floats:
    """σ rounded up to two significant digits."""
    step = 10.0 ** (np.floor(np.log10(np.where(sigmas > 0, sigmas, 1.0))) - 1)
    # Less a little, as the float of 0.29 may lie above 29 steps of 0.01.
    rounded: Floats = np.ceil(sigmas / step - 1e-9) * step
    return rounded
