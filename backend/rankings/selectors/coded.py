"""Columns of few different values: numbers into a list of them."""

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.money.amounts import Flags, Ints

# About what a value takes with its position in a list.
BYTES_OF_VALUE = 150


@dataclass(frozen=True, eq=False)
class Coded:
    """`codes` by row; None in `values` is unknown."""

    codes: NDArray[np.int32]
    values: Sequence[Any]

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes + BYTES_OF_VALUE * len(self.values)

    def value(self, row: int) -> Any:
        return self.values[self.codes[row]]

    def at(self, rows: Ints) -> "Coded":
        """The same column of some rows, in their order."""
        return Coded(self.codes[rows], self.values)

    def concat(self, other: "Coded") -> "Coded":
        """This column and another one below it; values that no row has are left out."""
        positions = {value: code for code, value in enumerate(self.values)}
        theirs = [positions.setdefault(value, len(positions)) for value in other.values]
        codes = np.concatenate((self.codes, np.array(theirs, np.int32)[other.codes]))
        values = list(positions)
        is_met = np.bincount(codes, minlength=len(values)) > 0
        anew = (np.cumsum(is_met) - 1).astype(np.int32)
        return Coded(anew[codes], [values[code] for code in np.flatnonzero(is_met).tolist()])

    def map_codes(self, by_value: Sequence[bool]) -> Flags:
        """Values by row, from one for each code."""
        return np.array(by_value, bool)[self.codes] if self.values else np.zeros(0, bool)

    def meets(self, accepts: Callable[[Any], bool]) -> Flags:
        """Rows whose value is accepted."""
        return self.map_codes([accepts(value) for value in self.values])

    def ranks(self) -> Ints:
        """Number of different lower values for each row; −1 is unknown."""
        known = sorted({value for value in self.values if value is not None})
        position = {value: rank for rank, value in enumerate(known)}
        by_code = [-1 if value is None else position[value] for value in self.values]
        return np.array(by_code, np.int64)[self.codes] if self.values else np.zeros(0, np.int64)


class CodedBuilder:
    """A column that is read value by value; `read` makes the values of what is given, once for all
    rows of which the same is given."""

    def __init__(self, read: Callable[[Any], Hashable] | None = None) -> None:
        self._read = read
        self._codes = array("i")
        self._positions: dict[Hashable, int] = {}
        self._code_of = self._positions if read is None else {}
        """By what is given."""

    def append(self, given: Hashable) -> None:
        code = self._code_of.get(given)
        if code is None:
            value = given if self._read is None else self._read(given)
            # Different texts may say the same.
            code = self._positions.setdefault(value, len(self._positions))
            self._code_of[given] = code
        self._codes.append(code)

    def coded(self) -> Coded:
        return Coded(np.array(self._codes, np.int32), list(self._positions))
