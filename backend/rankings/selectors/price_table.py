"""The newest prices of all offers as arrays, and which of them prices an offer under a basis."""

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from backend.catalog.selectors.price_choice import (
    ON_DEMAND,
    SIDE_BY_SIDE,
    PriceBasis,
    PriceChoice,
    best_choice,
    kind_of,
    preference_terms,
)
from backend.catalog.selectors.read_prices import EPOCH, MICROSECOND, ReadPrices
from backend.money.amounts import Flags, Ints, codes_of, equal_groups
from backend.money.pricing.purchase import PurchaseModel
from backend.rankings.selectors.coded import Coded, CodedBuilder
from backend.rankings.selectors.offer_table import OfferTable, key_of, keys_of
from backend.rankings.selectors.quote_column import QuoteColumn

# Under which it is known what is preferred, as of the next state most of it is the same.
MOST_BASES = 4


@dataclass(frozen=True, eq=False)
class PriceTable:
    """Prices in the order of their offers' numbers in a table of offers."""

    offers: Ints
    keys: NDArray[np.bytes_]
    """Keys of the observations."""
    seen_us: Ints
    """When each was observed, microseconds since 1970."""
    quotes: QuoteColumn
    kinds: Coded
    table: OfferTable
    _chosen: dict[PriceBasis, Ints] = field(default_factory=dict, repr=False)
    """Preferred prices under the bases that were asked for last."""

    @classmethod
    def of(cls, prices: ReadPrices, table: OfferTable) -> "PriceTable":
        """Prices of any offers; those that the table does not have are left out."""
        offers, keys = bytearray(), bytearray()
        seen_us = array("q")
        quotes, kinds = CodedBuilder(prices.quote), CodedBuilder(prices.kind)
        for row in prices.rows():
            offers += row.offer
            keys += row.observation
            seen_us.append(row.observed_us)
            quotes.append(row.quote)
            kinds.append(row.kind)
        numbers = table.numbers(offers)
        order = np.argsort(numbers, kind="stable")
        order = order[np.searchsorted(numbers[order], 0) :]
        return cls(
            offers=numbers[order],
            keys=keys_of(keys)[order],
            seen_us=np.array(seen_us, np.int64)[order],
            quotes=QuoteColumn.of(quotes.coded()).at(order),
            kinds=kinds.coded().at(order),
            table=table,
        )

    def patched(self, prices: ReadPrices, offers: Iterable[UUID]) -> "PriceTable":
        """The same with other prices of some offers, which are all that these have."""
        others = PriceTable.of(prices, self.table)
        gone = self.table.numbers(b"".join(offer.bytes for offer in offers))
        kept = np.flatnonzero(~np.isin(self.offers, gone))
        numbers = np.concatenate((self.offers[kept], others.offers))
        order = np.argsort(numbers, kind="stable")
        # Where each row of both is now; the last one stands for none.
        now = np.empty(order.size + 1, np.int32)
        now[order], now[-1] = np.arange(order.size), -1
        mine, theirs = np.full(self.offers.size + 1, -1, np.int32), now[kept.size :]
        mine[kept] = now[: kept.size]
        chosen = {}
        changed = gone[gone >= 0]
        for basis, rows in list(self._chosen.items()):
            chosen[basis] = mine[rows]
            # All prices of an offer that has changed are among the others.
            chosen[basis][changed] = theirs[others.chosen(basis)[changed]]
        return PriceTable(
            offers=numbers[order],
            keys=np.concatenate((self.keys[kept], others.keys))[order],
            seen_us=np.concatenate((self.seen_us[kept], others.seen_us))[order],
            quotes=self.quotes.at(kept).concat(others.quotes).at(order),
            kinds=self.kinds.at(kept).concat(others.kinds).at(order),
            table=self.table,
            _chosen=chosen,
        )

    @property
    def nbytes(self) -> int:
        of_bases = sum(rows.nbytes for rows in list(self._chosen.values()))
        columns = (self.offers, self.keys, self.seen_us, self.quotes, self.kinds)
        return of_bases + sum(column.nbytes for column in columns)

    def choice(self, row: int) -> PriceChoice:
        """The price of a row."""
        return PriceChoice.of(
            key_of(self.table.keys[self.offers[row]]),
            key_of(self.keys[row]),
            EPOCH + int(self.seen_us[row]) * MICROSECOND,
            self.quotes.value(row),
            self.kinds.value(row),
        )

    def chosen(self, basis: PriceBasis) -> Ints:
        """By number of the offer the row of the price that is preferred; −1 without one."""
        if (known := self._chosen.get(basis)) is not None:
            return known
        chosen = self._prefer(basis)
        while len(self._chosen) >= MOST_BASES:
            self._chosen.pop(next(iter(self._chosen), basis), None)
        self._chosen[basis] = chosen
        return chosen

    def _prefer(self, basis: PriceBasis) -> Ints:
        chosen = np.full(len(self.table), -1, np.int32)
        rows = np.flatnonzero(self.kinds.meets(lambda kind: kind.basis in basis.allowed))
        if not rows.size:
            return chosen
        amounts, _ = equal_groups(self.quotes.charges.over("hour", SIDE_BY_SIDE))
        hour = amounts[self.quotes.codes[rows]]
        terms = self._rank(rows, lambda choice: preference_terms(choice, basis))
        order = np.lexsort((self._rank(rows, kind_of), -self.seen_us[rows], hour, terms,
                            self.offers[rows]))  # fmt: skip
        rows = rows[order]
        starts = np.flatnonzero(np.diff(self.offers[rows], prepend=-1))
        chosen[self.offers[rows[starts]]] = rows[starts]
        # Few: what compares the prices of an offer with each other.
        first = np.repeat(starts, np.diff(np.append(starts, rows.size)))
        unclear = self._may_compare(rows, basis) & (first != np.arange(rows.size))
        ends = np.append(starts[1:], rows.size)
        for at in np.unique(np.searchsorted(starts, first[unclear])).tolist():
            of = rows[starts[at] : ends[at]].tolist()
            choices = [self.choice(row) for row in of]
            best = best_choice(choices, basis)
            chosen[self.offers[of[0]]] = next(
                row for row, choice in zip(of, choices, strict=True) if choice is best
            )
        return chosen

    def has_known_tax(self, chosen: Ints) -> bool:
        """True if any of the prices of these rows (−1 is none) is of known tax."""
        known = self.quotes.meets(lambda shape: not shape.is_tax_unknown)
        return bool(known[chosen[chosen >= 0]].any())

    def _rank(self, rows: Ints, key: Callable[[PriceChoice], Any]) -> Ints:
        """Ranks by a key that nothing but kind, currency and kind of charge decides."""
        codes, first = codes_of(self.kinds.codes[rows], self.quotes.shape_codes[rows])
        keys = [key(self.choice(row)) for row in rows[first].tolist()]
        position = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        return np.array([position[key] for key in keys], np.int64)[codes]

    def _may_compare(self, rows: Ints, basis: PriceBasis) -> Flags:
        """Prices that a person stated, and months that may be cheaper than hours."""
        is_by_hand = self.kinds.meets(lambda kind: not kind.is_listed)[rows]
        if basis.period == "hour" or basis.term != ON_DEMAND:
            return is_by_hand
        is_month = self.kinds.meets(lambda kind: kind.purchase_model == PurchaseModel.MONTHLY)
        return is_by_hand | is_month[rows]
