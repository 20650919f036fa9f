"""What a price comes to over an hour, a month or a year, with everything that belongs to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from backend.domain.pricing.billing.sustained_use import N1, N2, billed_share
from backend.domain.pricing.periods import price_per_period
from backend.domain.units import EXACT, MONTHS_PER_YEAR

TERM_HOURS: Mapping[str, Decimal] = MappingProxyType(
    {"1y": Decimal(8760), "3y": Decimal(26280), "5y": Decimal(43800)}
)
"""Hours of a commitment: years of 365 days, as the providers reckon."""
WHOLE_MONTH: Mapping[str, Fraction] = MappingProxyType(
    {"n1": billed_share(Fraction(1), N1), "n2": billed_share(Fraction(1), N2)}
)
"""Share of the list price that a machine running all month costs, by table of discounts."""
HOUR, ONCE = "hour", "once"


@dataclass(frozen=True, slots=True)
class Charge:
    """What is asked for a machine, in one currency; the fields are those of a price."""

    amount: Decimal
    unit: str
    term: str = ""
    setup_amount: Decimal | None = None
    monthly_cap: Decimal | None = None
    sustained_use: str = ""

    def times(self, rate: Decimal) -> "Charge":
        """The same in another currency, of which `rate` units make one, to 34 digits."""
        setup, cap = self.setup_amount, self.monthly_cap
        return Charge(
            EXACT.multiply(self.amount, rate),
            self.unit,
            self.term,
            None if setup is None else EXACT.multiply(setup, rate),
            None if cap is None else EXACT.multiply(cap, rate),
            self.sustained_use,
        )


def price_over(
    charge: Charge, period: str, hours_per_month: Decimal, *, is_sustained: bool = False
) -> Decimal | None:
    """The charge for an hour, month or year of running without a pause; a month has
    `hours_per_month` hours. Exact where quoted for that period, else to 34 digits.

    What is paid at the start of a term is spread over its hours; without a term it is left out:
    over how many months is the reader's choice. Months end at their cap, and have the discount
    for sustained use when `is_sustained`; an hour never has. None for what is paid once without a
    term. Raises InvalidValue for an unknown unit or period, or hours outside (0, 744].
    """
    term_hours = TERM_HOURS.get(charge.term)
    if charge.unit == ONCE:
        hours = price_per_period(Decimal(1), HOUR, period, hours_per_month)
        return None if term_hours is None else _spread(charge.amount, hours, term_hours)
    price = price_per_period(charge.amount, charge.unit, period, hours_per_month)
    if charge.setup_amount is not None and term_hours is not None:
        hours = price_per_period(Decimal(1), HOUR, period, hours_per_month)
        price = EXACT.add(price, _spread(charge.setup_amount, hours, term_hours))
    if period == HOUR or charge.unit != HOUR:
        return price
    return _of_months(charge, price, period, is_sustained=is_sustained)


def _spread(amount: Decimal, hours: Decimal, term_hours: Decimal) -> Decimal:
    return EXACT.divide(EXACT.multiply(amount, hours), term_hours)


def _of_months(charge: Charge, price: Decimal, period: str, *, is_sustained: bool) -> Decimal:
    share = WHOLE_MONTH.get(charge.sustained_use)
    if is_sustained and share is not None:
        part = EXACT.divide(Decimal(share.numerator), Decimal(share.denominator))
        price = EXACT.multiply(price, part)
    if charge.monthly_cap is None:
        return price
    months = Decimal(MONTHS_PER_YEAR if period == "year" else 1)
    return min(price, EXACT.multiply(charge.monthly_cap, months))
