"""Prices of a table as arrays: ten thousands of different amounts, of few shapes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.catalog.selectors.price_choice import Quote
from backend.money.amounts import Flags, Ints
from backend.money.pricing.effective import Charge
from backend.money.pricing.price_columns import ChargeColumns
from backend.rankings.selectors.coded import Coded, CodedBuilder
from backend.rankings.selectors.texts import Texts


class QuoteShape(NamedTuple):
    """All of a quote but how much its amounts are."""

    unit: str
    term: str
    sustained_use: str
    has_setup: bool
    currency: str
    is_tax_unknown: bool


@dataclass(frozen=True, eq=False)
class QuoteColumn:
    """`codes` by row; the other fields by code, amounts as they were quoted."""

    codes: NDArray[np.int32]
    amounts: Texts
    setups: Texts
    """Without a letter where there is none, as `caps` are."""
    caps: Texts
    shapes: Coded
    charges: ChargeColumns
    """The same amounts, near to the exact ones."""

    @classmethod
    def of(cls, quotes: Coded) -> "QuoteColumn":
        """A column of Quotes."""
        charges = [quote.charge for quote in quotes.values]
        shapes = CodedBuilder(_shape)
        for quote in quotes.values:
            shapes.append(quote)
        return cls(
            quotes.codes,
            _texts(charge.amount for charge in charges),
            _texts(charge.setup_amount for charge in charges),
            _texts(charge.monthly_cap for charge in charges),
            shapes.coded(),
            ChargeColumns.of(charges),
        )

    @property
    def nbytes(self) -> int:
        texts = self.amounts, self.setups, self.caps
        columns = (self.codes, *texts, self.shapes, self.charges)
        return sum(column.nbytes for column in columns)

    def value(self, row: int) -> Quote:
        """The price of a row, exactly."""
        code = int(self.codes[row])
        shape: QuoteShape = self.shapes.value(code)
        charge = Charge(
            Decimal(self.amounts[code]),
            shape.unit,
            shape.term,
            _amount(self.setups[code]),
            _amount(self.caps[code]),
            shape.sustained_use,
        )
        return Quote(charge, shape.currency, shape.is_tax_unknown)

    @property
    def shape_codes(self) -> Ints:
        """The shape of each row, by number."""
        codes: Ints = self.shapes.codes[self.codes]
        return codes

    def meets(self, accepts: Callable[[QuoteShape], bool]) -> Flags:
        """Rows whose shape is accepted."""
        flags: Flags = self.shapes.meets(accepts)[self.codes]
        return flags

    def at(self, rows: Ints) -> "QuoteColumn":
        """The same column of some rows, in their order."""
        return replace(self, codes=self.codes[rows])

    def concat(self, other: "QuoteColumn") -> "QuoteColumn":
        """This column and another one below it; quotes that no row has are left out."""
        size = self.amounts.utf8.size
        may_be = np.flatnonzero(np.isin(self.charges.amount, other.charges.amount)).tolist()
        known = {self._key(code): code for code in may_be}
        theirs = [known.get(other._key(code), size + code) for code in range(len(other.amounts))]
        both = QuoteColumn(
            np.concatenate((self.codes, np.array(theirs, np.int32)[other.codes])),
            self.amounts.concat(other.amounts),
            self.setups.concat(other.setups),
            self.caps.concat(other.caps),
            self.shapes.concat(other.shapes),
            self.charges.concat(other.charges),
        )
        return both._without_unused()

    def _key(self, code: int) -> tuple[Any, ...]:
        texts = (column[code] for column in (self.amounts, self.setups, self.caps))
        return (*texts, self.shapes.value(code))

    def _without_unused(self) -> "QuoteColumn":
        is_met = np.zeros(len(self.amounts), bool)
        is_met[self.codes] = True
        met = np.flatnonzero(is_met)
        anew = (np.cumsum(is_met) - 1).astype(np.int32)
        return QuoteColumn(
            anew[self.codes],
            self.amounts.at(met),
            self.setups.at(met),
            self.caps.at(met),
            self.shapes.at(met),
            self.charges.at(met),
        )


def _texts(amounts: Iterable[Decimal | None]) -> Texts:
    return Texts.of(["" if amount is None else str(amount) for amount in amounts])


def _amount(text: str) -> Decimal | None:
    return Decimal(text) if text else None


def _shape(quote: Quote) -> QuoteShape:
    of = quote.charge
    has_setup = bool(of.setup_amount)
    return QuoteShape(
        of.unit, of.term, of.sustained_use, has_setup, quote.currency, quote.is_tax_unknown
    )
