"""Every visible offer under one basis, as arrays; rows of it are made when they are shown.

A column is of one of two forms: what few different rows decide is worked out of one of each and
counted by number (Coded), and figures are floats, compared and printed at 12 significant digits
(Figures).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any
from uuid import UUID

import numpy as np
from django.utils.functional import cached_property

from backend.foundation.errors import InvalidValue, UnknownRate
from backend.foundation.units import round_derived
from backend.measure.credits import STANDARD, UNLIMITED
from backend.money.amounts import Figures, Flags, Floats, Ints, codes_of
from backend.rankings.calc.credit_columns import surplus_per_hour
from backend.rankings.calc.ranking import CUP_METRIC, values_per_cost
from backend.rankings.selectors.coded import Coded
from backend.rankings.selectors.offer_table import OfferTable, key_of
from backend.rankings.selectors.price_table import PriceTable
from backend.rankings.selectors.prices import (
    NOTHING,
    Context,
    contract_ratio,
    extras_of,
    extras_price,
    machine_prices,
    missing_extras,
    month_of_extras,
    running_hours,
    surplus_price,
)
from backend.rankings.selectors.query import SUSTAINED, RankingQuery
from backend.rankings.selectors.rows import RankingRow, ranking_row
from backend.rankings.selectors.score_table import ScoreTable
from backend.rankings.selectors.sustained import offer_numbers

# Rows that are cached: all of a small catalog, a part of a larger one, whose rows would take more memory
# than everything else.
SMALL_CATALOG_ROWS, LARGE_CATALOG_ROWS = 8_192, 1_000
ROW_BYTES = 3_000
# Columns of four bytes that a basis comes to hold, figures being two each: figures, and codes of cells.
COLUMNS_OF_BASIS = 36
SCORES = ("score", "score_ci95_low", "score_ci95_high")
WORTH = ("cup", "value_per_cost", "value_per_cost_ci95_low", "value_per_cost_ci95_high")
MONEY = frozenset({"price", "price_usd_hour", *WORTH})
MEASURED = frozenset({*SCORES, "burst_score"})
FIGURES = MONEY | MEASURED


@dataclass(frozen=True, eq=False)
class BasisTable:
    """A row for each offer of `offers`; `chosen` is its row of `prices`, −1 without one."""

    offers: OfferTable
    prices: PriceTable
    scores: ScoreTable
    shared: Context
    chosen: Ints
    data_version: int
    lacking: Mapping[UUID, tuple[str, ...]]
    """Metrics of a mix that an offer lacks."""
    sustained_ratio: Floats
    """The share of its score that an offer holds under load in the credit mode "standard"."""
    _columns: dict[str, Coded] = field(default_factory=dict, init=False, repr=False)
    _rows: dict[int, RankingRow] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        # A price of zero would be worth infinitely much, and rank first.
        has_score = ~np.isnan(self.scores.value)
        for name, figures in (("score", self.scores.value), ("price", self._figures["price"])):
            wrong = figures[has_score & (figures <= 0)]
            if wrong.size:
                raise InvalidValue(name, f"{wrong[0]:g} is not above zero")

    @property
    def nbytes(self) -> int:
        return COLUMNS_OF_BASIS * self.chosen.nbytes + ROW_BYTES * len(self._rows)

    @property
    def holds(self) -> tuple[Any, ...]:
        return self.offers, self.prices, self.scores

    def row(self, number: int) -> RankingRow:
        """The row of an offer by its number, not compared with any other."""
        if (row := self._rows.get(number)) is None:
            row = self._build_row(number)
            is_small = len(self.offers) <= SMALL_CATALOG_ROWS
            if len(self._rows) >= (SMALL_CATALOG_ROWS if is_small else LARGE_CATALOG_ROWS):
                self._rows.clear()
            self._rows[number] = row
        return row

    def _build_row(self, number: int) -> RankingRow:
        lacking = self.lacking.get(key_of(self.offers.keys[number]), ()) if self.lacking else ()
        chosen = int(self.chosen[number])
        return ranking_row(
            self.offers.offer(number),
            None if chosen < 0 else self.prices.choice(chosen),
            self.scores.score(number),
            self.shared,
            self._cells(number),
            source_figure=int(self.scores.source_figures[number]),
            unmeasured=lacking,
        )

    def _cells(self, number: int) -> dict[str, Any]:
        """The figures of an offer's row, and its credit mode."""
        cells: dict[str, Any] = {}
        for name in FIGURES:
            figure = float(self._figures[name][number])
            exact = float if name in MEASURED else round_derived
            cells[name] = None if isnan(figure) else exact(figure)
        is_credit = bool(self._has_credits[number]) and self.shared.query.load == SUSTAINED
        mode = UNLIMITED if self._is_unlimited[number] else STANDARD
        return {**cells, "credit_mode": mode if is_credit else None}

    # --- columns ------------------------------------------------------------------------------

    def column(self, name: str) -> Coded | Figures:
        """A column, or another attribute of rows, but for how they stand in a list."""
        if name in FIGURES:
            return Figures(self.floats(name))
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
            codes, first = codes_of(*(column.codes for column in fields))
        else:
            codes, first = self._shapes
        rows = map(self.row, first.tolist())
        return Coded(codes, [getattr(row, name) for row in rows])

    @cached_property
    def _shapes(self) -> tuple[Ints, Ints]:
        """Key of all cells but those of the offer alone, the figures, and the score's source:
        numbers of what differs in it, and the first offer of each."""
        of = self.offers.fields
        has_disk = of["disk_bytes"].map_codes([bool(value) for value in of["disk_bytes"].values])
        return codes_of(
            *(
                of[name].codes
                for name in ("vcpu_kind", "provider", "discontinued_on", "no_orders_on")
            ),
            has_disk.astype(np.int64),
            self._of_price(self.prices.kinds.codes),
            self._of_price(self.prices.quotes.shape_codes),
            self.scores.kinds.codes,
            self._extras_codes,
            self._lacking_codes,
            self._has_credits.astype(np.int64),
            self._is_unlimited.astype(np.int64),
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
        return np.array([seen.setdefault(name, len(seen)) for name in names], np.int32)

    @property
    def is_tax_unknown(self) -> Flags:
        """True if an offer has a price whose tax is not known."""
        of = np.append(self.prices.quotes.meets(lambda shape: shape.is_tax_unknown), [False])
        unknown: Flags = of[self.chosen]
        return unknown

    @cached_property
    def is_unfit(self) -> Flags:
        """True if an offer's score is shown and never compared."""
        return self.scores.kinds.meets(lambda kind: kind is not None and kind.is_unfit)

    # --- figures ------------------------------------------------------------------------------

    def floats(self, name: str) -> Floats:
        """A column of FIGURES; NaN is unknown."""
        return self._figures[name]

    @cached_property
    def _figures(self) -> dict[str, Floats]:
        """All figures by column, in the credit mode of each offer; NaN is unknown."""
        query, metric = self.shared.query, self.shared.query.ranking_metric
        is_unlimited = self._is_unlimited
        ratio = np.where(is_unlimited, 1.0, self._standard_ratio)
        measured = (self.scores.value, self.scores.low, self.scores.high)
        scores = [_scores_in_mode(figures, ratio) for figures in measured]
        price = self._machine_price(query.currency)
        dollars = price if query.currency == "USD" else self._machine_price("USD")
        price, dollars = (
            amounts + np.where(is_unlimited, self._surplus(currency), 0.0)
            for amounts, currency in ((price, query.currency), (dollars, "USD"))
        )
        per_hour = np.where(self._is_purchase, np.nan, 1.0 / running_hours(query))
        compared = self._comparison_prices(price)
        # From scores that are not rounded: equal values would part in their last digit.
        value, low, high = (values_per_cost(of * ratio, compared, metric) for of in measured)
        cup = np.full(len(self.offers), np.nan)
        if metric.key == CUP_METRIC:
            cup = compared * per_hour / scores[0]
        worth = (cup, value, np.minimum(low, high), np.maximum(low, high))
        return {
            "price": price,
            "price_usd_hour": dollars * per_hour,
            **dict(zip(WORTH, worth, strict=True)),
            **dict(zip(SCORES, scores, strict=True)),
            "burst_score": np.where(self._has_credits, self.scores.value, np.nan),
        }

    def _comparison_prices(self, price: Floats) -> Floats:
        """The prices that take part in a comparison."""
        compared = np.where(self.is_unfit, np.nan, price)
        if not self.shared.is_tax_ranked:
            compared[self.is_tax_unknown] = np.nan
        return compared

    # --- CPU credits ----------------------------------------------------------------------------

    @cached_property
    def _has_credits(self) -> Flags:
        return ~np.isnan(offer_numbers(self.offers, "cpu_baseline_ratio"))

    @cached_property
    def _standard_ratio(self) -> Floats:
        """The share of its score that an offer holds at its list price under the query's load."""
        is_sustained = self.shared.query.load == SUSTAINED
        return self.sustained_ratio if is_sustained else np.ones(len(self.offers))

    @cached_property
    def _is_unlimited(self) -> Flags:
        """Burstable offers that give more per price at full speed, its surplus charge paid, than slowed
        down to what their CPU credits allow."""
        if not self._has_credits.any():
            return self._has_credits
        price = self._machine_price("USD")
        with np.errstate(invalid="ignore"):
            price_ratio = (price + self._surplus("USD")) / price
            better: Flags = self._has_credits & (1.0 / price_ratio > self._standard_ratio)
        return better

    def _surplus(self, currency: str) -> Floats:
        """The charge for running on without credits in the query's period; NaN where not sold."""
        fields = ("vcpu_count", "cpu_baseline_ratio", "cpu_credit_price_usd_per_vcpu_hour")
        per_hour = surplus_per_hour(*(offer_numbers(self.offers, name) for name in fields))
        query = self.shared.query
        per_hour[self._is_purchase] = np.nan
        dollars = self._rate("USD", currency)
        return surplus_price(per_hour * dollars * self._contract_ratio, query)

    @cached_property
    def _is_purchase(self) -> Flags:
        is_purchase = self.prices.quotes.charges.is_purchase[self.prices.quotes.codes]
        # The last row stands for offers without a price.
        purchase: Flags = np.append(is_purchase, [False])[self.chosen]
        return purchase

    def _machine_price(self, currency: str) -> Floats:
        """The price of each offer for the query's period, with its extras and the reader's tax."""
        query, quotes = replace(self.shared.query, currency=currency), self.prices.quotes
        is_tax_unknown = quotes.shapes.meets(lambda shape: shape.is_tax_unknown)
        machine = machine_prices(quotes.charges, self._rates(currency), is_tax_unknown, query)
        price: Floats = np.append(machine[quotes.codes], [np.nan])[self.chosen]
        return price * self._contract_ratio + self._extras_prices(query)[self._extras_codes]

    @cached_property
    def _contract_ratio(self) -> Floats:
        """Share of each machine's price that is left after the workspace's contract."""
        if not self.shared.query.discounts:
            return np.ones(len(self.offers))
        provider = self.offers.fields["provider"].codes
        codes, first = codes_of(provider, self._of_price(self.prices.kinds.codes))
        chosen = self.chosen[first].tolist()
        ratios = [
            contract_ratio(self.offers.offer(row), self.prices.choice(of), self.shared)
            if of >= 0
            else 1.0
            for row, of in zip(first.tolist(), chosen, strict=True)
        ]
        return np.array(ratios, np.float64)[codes]

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

    def _extras_prices(self, query: RankingQuery) -> Floats:
        """By number of extras their price for the period; NaN where one is not known."""
        first = self._extras[1].tolist()
        prices = [self._extras_price(row, query) for row in first] or [0.0]
        return np.array(prices, np.float64)

    def _extras_price(self, row: int, query: RankingQuery) -> float:
        chosen = int(self.chosen[row])
        if chosen < 0:
            return np.nan
        choice = self.prices.choice(chosen)
        extras = extras_of(self.offers.offer(row), choice, self.shared)
        if missing_extras(extras, is_purchase=choice.is_purchase):
            return np.nan
        try:
            return extras_price(month_of_extras(extras, self.shared.rates, query.currency), query)
        except UnknownRate:
            return np.nan


def _scores_in_mode(scores: Floats, ratio: Floats) -> Floats:
    """Scores in the credit mode of each offer; those that follow from a measured one as printed."""
    slowed = scores.copy()
    for row in np.flatnonzero(ratio != 1.0).tolist():
        slowed[row] = round_derived(scores[row] * ratio[row])
    return slowed
