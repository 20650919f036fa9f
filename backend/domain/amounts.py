"""Columns of exact figures as arrays: floats that tell nearly all apart, exact ones where they cannot.

A float lies within some units of its last position of what it stands for, so two floats farther apart
than `CLOSE` are of different figures, in that order. Closer ones are compared exactly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Numbers of rows, codes and ranks: of 32 bits wherever they are kept, as most of what a list of a
# hundred thousand offers takes is columns of them.
Ints = NDArray[np.signedinteger[Any]]
Flags = NDArray[np.bool_]

# Codes of a column up to which a flag for each is cheaper than an order of the rows.
MOST_COUNTED = 2**20
# Ratio; wider than what rounding adds up to, and than what a mix takes for one value.
CLOSE = 1e-11


@dataclass(frozen=True, eq=False)
class Amounts:
    """One figure a row: `floats` near to it (NaN is unknown), `exact` by row.

    Rows of one key have the same figure; rows of two keys may.
    """

    floats: Floats
    keys: Ints
    exact: Callable[[int], Decimal]
    _known: dict[int, Decimal] = field(default_factory=dict, init=False, repr=False)

    def figure(self, row: int) -> Decimal:
        """The exact figure of a row that has one, worked out once for each key."""
        key = int(self.keys[row])
        if key not in self._known:
            self._known[key] = self.exact(row)
        return self._known[key]

    def at(self, rows: Ints) -> "Amounts":
        """The same figures of some rows, in their order."""
        return Amounts(self.floats[rows], self.keys[rows], lambda row: self.figure(int(rows[row])))

    def ranks(self) -> Ints:
        """Of each row how many lower figures there are; equal ones share it, −1 is unknown."""
        ranks = np.full(self.floats.size, -1, np.int64)
        ordered, lower = self.ascending()
        ranks[ordered] = lower
        return ranks

    def ascending(self) -> tuple[Ints, Ints]:
        """The rows that have a figure, the lowest first, and of each how many lower figures there
        are."""
        known = np.flatnonzero(~np.isnan(self.floats))
        ordered = known[np.argsort(self.floats[known])]
        if not ordered.size:
            return ordered, ordered
        # Within a run neighbours are close; of many runs all rows are of one key.
        for first, end in mixed_runs(self.floats[ordered], self.keys[ordered]):
            run = ordered[first:end].tolist()
            figures = {int(self.keys[row]): self.figure(row) for row in run}
            ordered[first:end] = sorted(run, key=lambda row: figures[int(self.keys[row])])
        return ordered, np.cumsum(self._is_higher(ordered))

    def _is_higher(self, ordered: Ints) -> Ints:
        """Of rows in ascending order 1 where a figure is above that of the row before, else 0."""
        keys, floats = self.keys[ordered], self.floats[ordered]
        is_other = np.zeros(ordered.size, np.int64)
        is_other[1:] = keys[1:] != keys[:-1]
        unclear = np.flatnonzero(is_other[1:].astype(bool) & is_close(floats)) + 1
        for at in unclear.tolist():
            is_other[at] = self.figure(int(ordered[at])) != self.figure(int(ordered[at - 1]))
        return is_other

    def meets(self, compared: Callable[[Decimal], bool], bounds: tuple[Decimal, ...]) -> Flags:
        """Rows whose figure `compared` accepts, which changes its answer only at the `bounds`.

        Unknown ones meet nothing.
        """
        met = np.zeros(self.floats.size, bool)
        limits = sorted(bounds)
        positions = np.searchsorted(np.array([float(one) for one in limits]), self.floats)
        # One figure stands for all between two bounds.
        for position, inside in enumerate(_between(limits)):
            met |= (positions == position) & compared(inside)
        met &= ~np.isnan(self.floats)
        for bound in limits:
            near = abs(self.floats - float(bound)) <= CLOSE * abs(float(bound))
            for row in np.flatnonzero(near).tolist():
                met[row] = compared(self.figure(row))
        return met


def _between(limits: list[Decimal]) -> Iterator[Decimal]:
    """A figure below all of some limits in ascending order, between each two, and above all."""
    yield limits[0] - 1
    for low, high in pairwise(limits):
        yield (low + high) / 2
    yield limits[-1] + 1


def is_close(ascending: Floats) -> Flags:
    """Of each but the first whether it is close to the one before."""
    return np.diff(ascending) <= CLOSE * np.abs(ascending[1:])


def mixed_runs(ascending: Floats, keys: Ints) -> list[tuple[int, int]]:
    """First and end of each run of close neighbours that are of several keys."""
    starts = np.flatnonzero(np.concatenate(([True], ~is_close(ascending))))
    lows, highs = np.minimum.reduceat(keys, starts), np.maximum.reduceat(keys, starts)
    ends = np.append(starts[1:], keys.size)
    mixed = lows != highs
    return list(zip(starts[mixed].tolist(), ends[mixed].tolist(), strict=True))


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
        together = _numbered(together * width + (column.astype(np.int64) - low))
    first = np.empty(int(together.max(initial=-1)) + 1, np.int32)
    first[together[::-1]] = np.arange(together.size)[::-1]
    return together.astype(np.int32), first


def _numbered(codes: Ints) -> Ints:
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
