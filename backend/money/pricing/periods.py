"""A price quoted for one span of time, told for another."""

from decimal import Decimal

from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT, MONTHS_PER_YEAR

PERIODS = ("hour", "month", "year")
HOURS_IN_LONGEST_MONTH = 744


def price_per_period(amount: Decimal, unit: str, period: str, hours_per_month: Decimal) -> Decimal:
    """`amount` per `unit` as an amount per `period`; both are one of hour, month, year.

    A month has `hours_per_month` hours (the caller's convention: 720, 730, …) and a year twelve
    such months. A price asked in its own unit comes back as quoted; others carry 34 digits.
    Raises InvalidValue for another unit or period, or hours outside (0, 744].
    """
    if not 0 < hours_per_month <= HOURS_IN_LONGEST_MONTH:
        raise InvalidValue("hours_per_month", f"{hours_per_month} is not in (0, 744]")
    unit_hours = _hours("unit", unit, hours_per_month)
    period_hours = _hours("period", period, hours_per_month)
    if unit == period:
        return amount
    return EXACT.divide(EXACT.multiply(amount, period_hours), unit_hours)


def _hours(field: str, name: str, hours_per_month: Decimal) -> Decimal:
    if name == "hour":
        return Decimal(1)
    if name == "month":
        return hours_per_month
    if name == "year":
        return EXACT.multiply(hours_per_month, Decimal(MONTHS_PER_YEAR))
    raise InvalidValue(field, f"{name!r} is not one of {', '.join(PERIODS)}")
