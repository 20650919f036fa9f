"""Is a price of a plain table that of one unit or of the line? List prices say, or the reader is asked."""

from decimal import Decimal
from enum import StrEnum

from backend.foundation.errors import InvalidValue

# An amount agrees with the list price within this factor: what discounts and regions make of it.
AGREES = Decimal("1.5")


class PriceIs(StrEnum):
    """Meaning of an amount in a plain table."""

    UNKNOWN = ""
    UNIT = "unit"
    TOTAL = "total"


class UnclearPrice(InvalidValue):
    """The amounts of a table contradict the list prices; its sender can say what they are."""


def refuse_unclear(
    name: str,
    *,
    of_unit: Decimal,
    of_line: Decimal,
    listed: Decimal,
    is_unit: bool,
    currency: str,
) -> None:
    """UnclearPrice where the other reading of an amount agrees with the list price and this does not."""
    taken, other = (of_unit, of_line) if is_unit else (of_line, of_unit)
    if min(taken, other, listed) <= 0:
        return
    if _agrees(taken, listed) or not _agrees(other, listed):
        return
    raise UnclearPrice(
        "/price_is",
        f"is the amount of {name} the price of one unit or the total of its line? As the price of "
        f"one unit the line costs {of_unit:,.2f} {currency}, as the total {of_line:,.2f} {currency}; "
        f"at the list price it would be {listed:,.2f} {currency}. Say price_is=unit or price_is=total",
    )


def _agrees(amount: Decimal, listed: Decimal) -> bool:
    return max(amount, listed) <= AGREES * min(amount, listed)
