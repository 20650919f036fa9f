"""Cost of a price over an hour, a month or a year, with everything that belongs to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from backend.foundation.units import EXACT, HOURS_PER_MONTH
from backend.money.pricing.billing.sustained_use import N1, N2, share_of_list_price
from backend.money.pricing.periods import price_per_period

# Hours of a commitment: years of 365 days, as the providers calculate.
TERM_HOURS: Mapping[str, Decimal] = MappingProxyType(
    {"1y": Decimal(8760), "3y": Decimal(26280), "5y": Decimal(43800)}
)
# Tables of discounts for sustained use.
TIERS = MappingProxyType({"n1": N1, "n2": N2})
HOUR, ONCE = "hour", "once"


@dataclass(frozen=True, slots=True)
class Charge:
    """Charge of a machine, in one currency; the fields are those of a price."""

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
    charge: Charge,
    period: str,
    hours_per_month: Decimal,
    *,
    hours_run: Decimal | None = None,
    setup_months: int = 0,
    is_sustained: bool = False,
) -> Decimal | None:
    """The charge for an hour, month or year; a month has `hours_per_month` hours, of which the machine
    runs `hours_run` (None: all). Exact where quoted for that period, else to 34 digits.

    Only what is charged by the hour follows the hours run. Months end at their cap, and have the
    discount for sustained use when `is_sustained`; an hour never has. A setup fee is spread over
    `setup_months` (0: left out). None for what is paid once without a term. Raises InvalidValue for
    an unknown unit or period, or hours outside (0, 744].
    """
    if term_hours := TERM_HOURS.get(charge.term):
        return _commitment_cost(charge, period, term_hours)
    if charge.unit == ONCE:
        return None
    if charge.unit == HOUR and period != HOUR:
        run = hours_per_month if hours_run is None else hours_run
        price = _of_hours(charge, hours_per_month, run, is_sustained=is_sustained)
        price = price_per_period(price, "month", period, hours_per_month)
    else:
        price = price_per_period(charge.amount, charge.unit, period, hours_per_month)
    if not (charge.setup_amount and setup_months):
        return price
    setup = EXACT.divide(charge.setup_amount, Decimal(setup_months))
    return EXACT.add(price, price_per_period(setup, "month", period, hours_per_month))


def _commitment_cost(charge: Charge, period: str, term_hours: Decimal) -> Decimal:
    """Cost of a commitment, with what is paid at its start spread over its term.

    It is owed for every hour of the term, used or not: its month is a twelfth of its year, whatever
    the reader takes for a month.
    """
    month = Decimal(HOURS_PER_MONTH)
    first = charge.amount if charge.unit == ONCE else charge.setup_amount
    price = Decimal(0)
    if charge.unit != ONCE:
        price = price_per_period(charge.amount, charge.unit, period, month)
    if first is None:
        return price
    hours = price_per_period(Decimal(1), HOUR, period, month)
    return EXACT.add(price, EXACT.divide(EXACT.multiply(first, hours), term_hours))


def _of_hours(
    charge: Charge, hours_per_month: Decimal, hours_run: Decimal, *, is_sustained: bool
) -> Decimal:
    """A month of what is charged by the hour."""
    price = price_per_period(charge.amount, HOUR, "month", hours_run)
    tiers = TIERS.get(charge.sustained_use)
    if is_sustained and tiers is not None:
        share = share_of_list_price(
            min(Fraction(1), Fraction(hours_run) / Fraction(hours_per_month)), tiers
        )
        billed = EXACT.divide(Decimal(share.numerator), Decimal(share.denominator))
        price = EXACT.multiply(EXACT.multiply(charge.amount, hours_per_month), billed)
    return price if charge.monthly_cap is None else min(price, charge.monthly_cap)
