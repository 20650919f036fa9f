"""Every visible offer under one basis, as arrays; exact rows of it are made when they are shown.

A column is of one of two forms: what few different rows decide is worked out of one of each and
counted by number (Coded), and figures are floats that tell nearly all rows apart (Amounts). Both are
made from the rows themselves wherever it matters, so that `rows` alone says what a cell holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import numpy as np
from django.utils.functional import cached_property

from backend.catalog.selectors.price_choice import PriceChoice
from backend.domain.amounts import Amounts, Flags, Floats, Ints, as_one, codes_of
from backend.domain.errors import UnknownRate
from backend.domain.pricing.extras import Extra
from backend.domain.pricing.price_columns import spans
from backend.domain.ranking import CUP_METRIC
from backend.domain.units import exact_decimal
from backend.rankings.selectors.coded import Coded
from backend.rankings.selectors.kept_rows import KeptRows
from backend.rankings.selectors.offer_table import OfferTable, key_of
from backend.rankings.selectors.price_table import PriceTable
from backend.rankings.selectors.prices import NOTHING, Context, extras_of, month_of_extras
from backend.rankings.selectors.rows import RankingRow, money_cells, ranking_row
from backend.rankings.selectors.score_table import ScoreTable

# Rows that are kept once they were made: all of a small catalog, a part of a larger one, whose rows
# would take more memory than everything else.
MOST_ROWS_KEPT, FEWEST_ROWS_KEPT = 8_192, 1_000
# Columns of four bytes that a basis comes to hold, figures being two each: figures, their keys, and
# codes of cells.
COLUMNS_OF_BASIS = 36
SCORES = {"score": "value", "score_ci95_low": "low", "score_ci95_high": "high"}
WORTH = ("cup", "value_per_cost", "value_per_cost_ci95_low", "value_per_cost_ci95_high")
MONEY = frozenset({"price", "price_usd_hour", *WORTH})
FIGURES = MONEY | frozenset(SCORES)


@dataclass(frozen=True, eq=False)
class ExactRows:
    """A row for each offer of `offers`; `chosen` is its row of `prices`, −1 without one.

    Figures refer to it and not to the table that holds them, which would keep each other alive with
    all their arrays long after both are needed.
    """

    offers: OfferTable
    prices: PriceTable
    scores: ScoreTable
    shared: Context
    chosen: Ints
    lacking: Mapping[UUID, tuple[str, ...]]
    """Of a mix the metrics that an offer lacks."""
    kept: KeptRows
    _known: WeakValueDictionary[int, RankingRow] = field(
        default_factory=WeakValueDictionary, init=False, repr=False
    )
    """Of those that are kept the ones that were asked for, whose facts need not be looked at again."""

    def row(self, number: int) -> RankingRow:
        """The row of an offer by its number, not compared with any other."""
        if (known := self._known.get(number)) is not None:
            return known
        facts = self._facts(number)
        row = self.kept.row(number, facts) or self._made(number)
        self.kept.keep(number, facts, row)
        self._known[number] = row
        return row

    def _facts(self, number: int) -> tuple[Any, ...]:
        return self.prices.facts(int(self.chosen[number])), self.scores.facts(number)

    def _made(self, number: int) -> RankingRow:
        lacking = self.lacking.get(key_of(self.offers.keys[number]), ()) if self.lacking else ()
        choice, score = self._choice(number), self.scores.score(number)
        return ranking_row(self.offers.offer(number), choice, score, self.shared, lacking)

    def money(self, number: int) -> Mapping[str, Any]:
        """The exact amounts of that row, by column of MONEY."""
        # Where all rows are kept, whoever asks again, as a spreadsheet that is refreshed, has them.
        is_kept = len(self.offers) <= MOST_ROWS_KEPT
        if row := self.row(number) if is_kept else self._known.get(number):
            return {name: getattr(row, name) for name in MONEY}
        choice, score = self._choice(number), self.scores.score(number)
        extras: Sequence[Extra] = ()
        # An offer takes as long to make as all its amounts.
        if choice is not None and self.shared.query.extra_amounts != NOTHING:
            extras = extras_of(self.offers.offer(number), choice, self.shared)
        return money_cells(choice, extras, score, self.shared)

    def _choice(self, number: int) -> PriceChoice | None:
        chosen = int(self.chosen[number])
        return None if chosen < 0 else self.prices.choice(chosen)


@dataclass(frozen=True, eq=False)
class BasisTable:
    """The columns of those rows in a state of the data; the other fields are those of ExactRows."""

    offers: OfferTable
    prices: PriceTable
    scores: ScoreTable
    shared: Context
    chosen: Ints
    data_version: int
    lacking: Mapping[UUID, tuple[str, ...]]
    kept: KeptRows
    _figures: dict[str, Amounts] = field(default_factory=dict, init=False, repr=False)
    _columns: dict[str, Coded] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        # An amount that cannot be right is refused whatever else is listed: its row says so.
        has_score = ~np.isnan(self.scores.value)
        wrong = has_score & ~(self.scores.value > 0)
        for name in ("price", "per_hour"):
            wrong |= has_score & (self._money[name] <= 0)
        for row in np.flatnonzero(wrong)[:1].tolist():
            self.row(row)

    @property
    def nbytes(self) -> int:
        return COLUMNS_OF_BASIS * self.chosen.nbytes

    @property
    def holds(self) -> tuple[Any, ...]:
        return self.offers, self.prices, self.scores, self.kept

    @cached_property
    def _exact(self) -> ExactRows:
        of = self.offers, self.prices, self.scores, self.shared, self.chosen
        return ExactRows(*of, self.lacking, self.kept)

    def row(self, number: int) -> RankingRow:
        """The row of an offer by its number, not compared with any other."""
        return self._exact.row(number)

    def money(self, number: int) -> Mapping[str, Any]:
        """The exact amounts of that row, by column of MONEY."""
        return self._exact.money(number)

    # --- columns ------------------------------------------------------------------------------

    def column(self, name: str) -> Coded | Amounts:
        """A column, or another attribute of rows, but for how they stand in a list."""
        if name in FIGURES:
            return self.figures(name)
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def _column(self, name: str) -> Coded:
        if name == "offer_id":
            return Coded(np.arange(len(self.offers), dtype=np.int32), self.offers.slugs)
        if name == "data_version":
            return Coded(np.zeros(len(self.offers), np.int32), [self.data_version])
        if name in self.offers.cells:
            return self.offers.cells[name]
        if name == "measured_at":
            return self.scores.measured_at
        if name == "result_url":
            return self.scores.results
        if name == "hardware":
            fields = (self.offers.fields["cpu_model"], self.scores.cpu_models)
            codes, first = codes_of(*(one.codes for one in fields))
        else:
            codes, first = self._shapes
        rows = map(self.row, first.tolist())
        return Coded(codes, [getattr(row, name) for row in rows])

    @cached_property
    def _shapes(self) -> tuple[Ints, Ints]:
        """What decides all cells but those of the offer alone, the figures, and the score's source:
        numbers of what differs in it, and the first offer of each."""
        of = self.offers.fields
        has_disk = of["disk_bytes"].mapped([bool(value) for value in of["disk_bytes"].values])
        return codes_of(
            *(of[name].codes for name in ("vcpu_kind", "provider", "discontinued_on")),
            has_disk.astype(np.int64),
            self._of_price(self.prices.kinds.codes),
            self._of_price(self.prices.quotes.shape_codes),
            self.scores.kinds.codes,
            self._extras_codes,
            self._lacking_codes,
        )

    def _of_price(self, codes: Any) -> Ints:
        """Codes of the chosen prices by offer; −1 without one."""
        return np.append(codes, -1)[self.chosen].astype(np.int64)

    @cached_property
    def _lacking_codes(self) -> Ints:
        if not self.lacking:
            return np.zeros(len(self.offers), np.int32)
        seen: dict[tuple[str, ...], int] = {}
        names = (self.lacking.get(key_of(key), ()) for key in self.offers.keys)
        return np.array([seen.setdefault(one, len(seen)) for one in names], np.int32)

    @property
    def is_tax_unknown(self) -> Flags:
        """Whether an offer has a price whose tax is not known."""
        of = np.append(self.prices.quotes.meets(lambda shape: shape.is_tax_unknown), [False])
        unknown: Flags = of[self.chosen]
        return unknown

    @cached_property
    def is_unfit(self) -> Flags:
        """Whether an offer's score is shown and never compared."""
        return self.scores.kinds.meets(lambda kind: kind is not None and kind.is_unfit)

    # --- figures ------------------------------------------------------------------------------

    def floats(self, name: str) -> Floats:
        """A column of FIGURES, near to the exact one; NaN is unknown."""
        is_score = name in SCORES
        floats: Floats = getattr(self.scores, SCORES[name]) if is_score else self._money[name]
        return floats

    def figures(self, name: str) -> Amounts:
        """A column of FIGURES."""
        if name not in self._figures:
            self._figures[name] = self._made(name)
        return self._figures[name]

    def _made(self, name: str) -> Amounts:
        floats = self.floats(name)
        if name in SCORES:
            _, codes = np.unique(floats, return_inverse=True)
            return Amounts(
                floats, codes.astype(np.int32), lambda row: exact_decimal(float(floats[row]))
            )
        keys = self._worth_keys if name in WORTH else self._price_keys
        exact = self._exact
        return Amounts(floats, keys, lambda row: exact.money(row)[name])

    @cached_property
    def _price_keys(self) -> Ints:
        return as_one(self._of_price(self.prices.quotes.codes), self._extras_codes)

    @cached_property
    def amount_keys(self) -> Ints:
        """Numbers that rows share of which all figures of MONEY are the same."""
        known = (~np.isnan(self._money[name]) for name in MONEY)
        return codes_of(self._worth_keys, *(flags.astype(np.int64) for flags in known))[0]

    @cached_property
    def _worth_keys(self) -> Ints:
        return as_one(self._price_keys, self.scores.figure_keys)

    @cached_property
    def _money(self) -> dict[str, Floats]:
        """Prices and what follows from them and the scores, by column; NaN is unknown."""
        query = self.shared.query
        price = self._price(query.currency, query.period)
        per_hour = np.where(self._is_purchase, np.nan, self._price(query.currency, "hour"))
        dollars = per_hour
        if query.currency != "USD":
            dollars = np.where(self._is_purchase, np.nan, self._price("USD", "hour"))
        compared = np.where(self.is_unfit, np.nan, price)
        if not self.shared.is_tax_ranked:
            compared[self.is_tax_unknown] = np.nan
        is_high = query.ranked_metric.is_higher_better
        value, low, high = (
            one / compared if is_high else 1.0 / (one * compared)
            for one in (self.scores.value, self.scores.low, self.scores.high)
        )
        cup = np.full(len(self.offers), np.nan)
        if query.ranked_metric.key == CUP_METRIC:
            cup = np.where(np.isnan(value), np.nan, per_hour / self.scores.value)
        worth = (cup, value, np.minimum(low, high), np.maximum(low, high))
        return {"price": price, "per_hour": per_hour, "price_usd_hour": dollars,
                **dict(zip(WORTH, worth, strict=True))}  # fmt: skip

    @cached_property
    def _is_purchase(self) -> Flags:
        of = np.append(self.prices.quotes.charges.is_purchase[self.prices.quotes.codes], [False])
        purchase: Flags = of[self.chosen]
        return purchase

    def _price(self, currency: str, period: str) -> Floats:
        """The price of each offer with its extras and the reader's tax, near to the exact one."""
        query = self.shared.query
        quotes = self.prices.quotes
        machine = quotes.charges.over(
            period,
            query.hours_per_month,
            hours_run=query.hours_run,
            setup_months=query.setup_months,
            is_sustained=query.price_basis.is_sustained,
        )
        machine = machine * self._rates(currency)
        factor = float(1 + (query.tax_rate or Decimal(0)))
        if factor != 1:
            is_unknown = quotes.shapes.meets(lambda shape: shape.is_tax_unknown)
            machine = machine * np.where(is_unknown, 1.0, factor)
        price: Floats = np.append(machine[quotes.codes], [np.nan])[self.chosen]
        hours = spans(float(query.hours_per_month))
        added = self._extras_months(currency)[self._extras_codes]
        with np.errstate(invalid="ignore"):
            return price + added * factor * hours[period] / hours["month"]

    def _rates(self, currency: str) -> Floats:
        """Units of the currency for one of each quote's; NaN where that is not known."""
        shapes = self.prices.quotes.shapes
        by_shape = [self._rate(shape.currency, currency) for shape in shapes.values]
        return np.array(by_shape, np.float64)[shapes.codes]

    def _rate(self, base: str, currency: str) -> float:
        try:
            return float(self.shared.rates.rate(base, currency)[0])
        except UnknownRate:
            return np.nan

    @cached_property
    def _extras(self) -> tuple[Ints, Ints]:
        """Numbers of what decides the extras of an offer, and the first offer of each."""
        if self.shared.query.extra_amounts == NOTHING:
            return np.zeros(len(self.offers), np.int32), np.zeros(0, np.int32)
        of = self.offers.fields
        return codes_of(
            *(of[name].codes for name in ("provider", "region", "disk_bytes")),
            self._of_price(self.prices.kinds.codes),
            self._of_price(self.prices.quotes.shape_codes),
        )

    @property
    def _extras_codes(self) -> Ints:
        return self._extras[0]

    def _extras_months(self, currency: str) -> Floats:
        """By number of extras what they come to in a month; NaN where one is not known."""
        first = self._extras[1].tolist()
        return np.array([self._extras_month(row, currency) for row in first] or [0.0], np.float64)

    def _extras_month(self, row: int, currency: str) -> float:
        chosen = int(self.chosen[row])
        if chosen < 0:
            return np.nan
        extras = extras_of(self.offers.offer(row), self.prices.choice(chosen), self.shared)
        is_purchase = bool(self._is_purchase[row])
        if any(one.amount is None or (is_purchase and one.amount) for one in extras):
            return np.nan
        try:
            return float(month_of_extras(extras, self.shared.rates, currency))
        except UnknownRate:
            return np.nan


def kept_rows(
    earlier: BasisTable | None,
    offers: OfferTable,
    shared: Context,
    lacking: Mapping[UUID, tuple[str, ...]],
) -> KeptRows:
    """Where a basis keeps its rows: with those of an earlier state, if only prices and scores tell
    them apart."""
    if (
        earlier is not None
        and earlier.offers is offers
        and earlier.lacking == lacking
        and earlier.shared == shared
    ):
        return earlier.kept
    return KeptRows(MOST_ROWS_KEPT if len(offers) <= MOST_ROWS_KEPT else FEWEST_ROWS_KEPT)
