"""Columns of figures as arrays, compared at 12 significant digits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.foundation.units import round_derived

Floats = NDArray[np.float64]
# Numbers of rows, codes and ranks: of 32 bits wherever they are kept, as most of what a list of a
# hundred thousand offers takes is columns of them.
Ints = NDArray[np.signedinteger[Any]]
Flags = NDArray[np.bool_]

# Codes of a column up to which a flag for each is cheaper than an order of the rows.
MOST_COUNTED = 2**20
# Figures closer than this ratio are equal: they print alike, and rounding adds up to far less.
SAME_RATIO = 1e-12
# Wider than the twelve digits that are printed.
CLOSE = 1e-11


@dataclass(frozen=True, eq=False)
class Figures:
    """A figure a row; NaN is unknown."""

    floats: Floats

    def at(self, rows: Ints) -> "Figures":
        """The same figures of some rows, in their order."""
        return Figures(self.floats[rows])

    def ranks(self) -> Ints:
        """The number of different lower figures of each row; equal ones share it, −1 is unknown."""
        ranks = np.full(self.floats.size, -1, np.int64)
        known = np.flatnonzero(~np.isnan(self.floats))
        ranks[known] = equal_groups(self.floats[known])[0]
        return ranks

    def meets(self, accepts: Callable[[Decimal], bool], bounds: tuple[Decimal, ...]) -> Flags:
        """Rows whose printed figure is accepted; `accepts` changes its answer only at the `bounds`.

        Unknown ones meet nothing.
        """
        met = np.zeros(self.floats.size, bool)
        limits = sorted(bounds)
        positions = np.searchsorted(np.array([float(limit) for limit in limits]), self.floats)
        # One figure stands for all between two bounds.
        for position, inside in enumerate(_between(limits)):
            met |= (positions == position) & accepts(inside)
        met &= ~np.isnan(self.floats)
        for bound in limits:
            near = np.flatnonzero(abs(self.floats - float(bound)) <= CLOSE * abs(float(bound)))
            figures, codes = np.unique(self.floats[near], return_inverse=True)
            accepted = [accepts(round_derived(figure)) for figure in figures.tolist()]
            met[near] = np.array(accepted, bool)[codes]
        return met


def _between(limits: list[Decimal]) -> Iterator[Decimal]:
    """A figure below all of some limits in ascending order, between each two, and above all."""
    yield limits[0] - 1
    for low, high in pairwise(limits):
        yield (low + high) / 2
    yield limits[-1] + 1


def equal_groups(values: Floats) -> tuple[Ints, Floats]:
    """The group of each value among equal ones, numbered from 0 for the lowest, and by group its
    highest value."""
    distinct, codes = np.unique(values, return_inverse=True)
    highest = distinct.copy()
    close = np.flatnonzero(distinct[:-1] >= distinct[1:] * (1 - SAME_RATIO))
    # From the top, so that small differences do not add up along a chain.
    for row in close[::-1].tolist():
        if distinct[row] >= highest[row + 1] * (1 - SAME_RATIO):
            highest[row] = highest[row + 1]
    starts = np.diff(highest, prepend=-np.inf) > 0
    return (np.cumsum(starts) - 1)[codes], highest[starts]


def as_one(first: Ints, second: Ints) -> Ints:
    """A whole number for each pair, different ones for different pairs and in their order; no `second`
    is below 0."""
    # To sort one column takes a fifth of the time of two.
    return first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second


def codes_of(*columns: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Numbers from 0 for the different combinations of codes, in their order, and the first row of
    each."""
    together: Ints = np.zeros(columns[0].size, np.int64)
    for column in columns:
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        # Numbered anew after each column, so that the product of all widths fits.
        together = _number_codes(together * width + (column.astype(np.int64) - low))
    first = np.empty(int(together.max(initial=-1)) + 1, np.int32)
    first[together[::-1]] = np.arange(together.size)[::-1]
    return together.astype(np.int32), first


def _number_codes(codes: Ints) -> Ints:
    """Numbers from 0 for the different codes from 0, in their order."""
    width = int(codes.max(initial=0)) + 1
    if width > MOST_COUNTED:
        numbers: Ints = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        return numbers
    # Counted instead of sorted, which takes a tenth of the time.
    is_used = np.zeros(width, bool)
    is_used[codes] = True
    counted: Ints = (np.cumsum(is_used, dtype=np.int64) - 1)[codes]
    return counted
