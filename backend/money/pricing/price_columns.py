"""The prices of `effective` for many charges at once, as floats: those that rankings order and show.

Each rule stands here and in `effective`, which is exact and for one charge, where prices are stored
and judged: a thousand times as fast here, ten times as fast there. A change is made in both, and
`tests/pure/test_price_columns.py` holds them together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.foundation.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from backend.money.pricing.billing.sustained_use import share_of_list_price
from backend.money.pricing.effective import HOUR, ONCE, TERM_HOURS, TIERS, Charge

Floats = NDArray[np.float64]
MONTH, YEAR = "month", "year"


def spans(hours_per_month: float) -> dict[str, float]:
    """Hours of each period; a month has `hours_per_month`."""
    return {HOUR: 1.0, MONTH: hours_per_month, YEAR: hours_per_month * MONTHS_PER_YEAR}


@dataclass(frozen=True, eq=False)
class ChargeColumns:
    """Charges as arrays; NaN stands for None."""

    amount: Floats
    setup: Floats
    cap: Floats
    unit: NDArray[np.str_]
    term_hours: Floats
    """NaN without a term."""
    sustained_use: NDArray[np.str_]

    @classmethod
    def of(cls, charges: Sequence[Charge]) -> "ChargeColumns":
        return cls(
            _floats([charge.amount for charge in charges]),
            _floats([charge.setup_amount for charge in charges]),
            _floats([charge.monthly_cap for charge in charges]),
            np.array([charge.unit for charge in charges], np.str_),
            _floats([TERM_HOURS.get(charge.term) for charge in charges]),
            np.array([charge.sustained_use for charge in charges], np.str_),
        )

    def at(self, rows: NDArray[np.integer]) -> "ChargeColumns":
        """The same columns of some rows, in their order."""
        return ChargeColumns(*(column[rows] for column in self._columns))

    def concat(self, other: "ChargeColumns") -> "ChargeColumns":
        """These rows and the other ones below them."""
        pairs = zip(self._columns, other._columns, strict=True)
        return ChargeColumns(*map(np.concatenate, pairs))

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns)

    @property
    def _columns(self) -> list[NDArray[Any]]:
        return [getattr(self, field.name) for field in fields(self)]

    @property
    def is_purchase(self) -> NDArray[np.bool_]:
        """Paid once for no stated term: one amount, whatever the period."""
        purchase: NDArray[np.bool_] = (self.unit == ONCE) & np.isnan(self.term_hours)
        return purchase

    def over(
        self,
        period: str,
        hours_per_month: Decimal,
        *,
        hours_run: Decimal | None = None,
        setup_months: int = 0,
        is_sustained: bool = False,
    ) -> Floats:
        """As `price_over`, and the amount itself of a purchase; the amounts' own currency."""
        month = spans(float(hours_per_month))
        price = self.amount * month[period] / self._unit_hours(month)
        if period != HOUR:
            run = hours_per_month if hours_run is None else hours_run
            of_hours = self._month_of_hours(hours_per_month, run, is_sustained=is_sustained)
            of_hours = of_hours * month[period] / month[MONTH]
            price = np.where(self.unit == HOUR, of_hours, price)
        if setup_months:
            price = price + np.nan_to_num(self.setup) / setup_months * month[period] / month[MONTH]
        price = np.where(self.unit == ONCE, self.amount, price)
        return np.where(np.isnan(self.term_hours), price, self._committed(period))

    def _unit_hours(self, month: dict[str, float]) -> Floats:
        return np.select([self.unit == MONTH, self.unit == YEAR], [month[MONTH], month[YEAR]], 1.0)

    def _committed(self, period: str) -> Floats:
        month = spans(float(HOURS_PER_MONTH))
        is_once = self.unit == ONCE
        running = np.where(is_once, 0.0, self.amount * month[period] / self._unit_hours(month))
        first = np.where(is_once, self.amount, np.nan_to_num(self.setup))
        return running + first * month[period] / self.term_hours

    def _month_of_hours(
        self, hours_per_month: Decimal, hours_run: Decimal, *, is_sustained: bool
    ) -> Floats:
        price = self.amount * float(hours_run)
        for name, tiers in TIERS.items() if is_sustained else ():
            part = min(Fraction(1), Fraction(hours_run) / Fraction(hours_per_month))
            billed = float(hours_per_month) * float(share_of_list_price(part, tiers))
            price = np.where(self.sustained_use == name, self.amount * billed, price)
        # `fmin` takes the price where there is no cap, `minimum` would answer NaN.
        return np.fmin(price, self.cap)


def _floats(values: Sequence[Decimal | None]) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)
