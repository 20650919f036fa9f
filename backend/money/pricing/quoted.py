"""Columns of a quoted price, and the effect of tax and a setup fee on it."""

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT
from backend.money.pricing.effective import TERM_HOURS

LARGEST_AMOUNT = Decimal(10) ** 10
# Columns of amounts have 28 digits, 18 of them decimals.
MOST_DECIMALS = 18
LEAST_AMOUNT = Decimal(1).scaleb(-MOST_DECIMALS)
SETUP_MONTHS = 12
MOST_SETUP_MONTHS = 120
NET, GROSS, UNKNOWN = "net", "gross", "unknown"
TAX_BASES = (NET, GROSS, UNKNOWN)
# Machines that pay a price: every one, or those that are ordered while it holds. Others keep theirs.
ALL_MACHINES, NEW_MACHINES = "all", "new"
APPLIES_TO = (ALL_MACHINES, NEW_MACHINES)
# How a price is taken to be bought where nobody says it.
MODEL_OF_UNIT: Mapping[str, str] = MappingProxyType(
    {"hour": "on_demand", "month": "monthly", "year": "monthly", "once": "purchase"}
)
COMMITMENTS = ("reserved", "savings", "committed")


def amount_fault(amount: Decimal, *, is_zero_allowed: bool = False) -> str:
    """Fault of an amount as stated; "" for one that can be kept without rounding."""
    if not amount.is_finite():
        return "it is not a finite number"
    if amount < 0:
        return "it is negative"
    if amount == 0 and not is_zero_allowed:
        return "it is zero: an unknown price is left out, and nothing is free"
    if amount >= LARGEST_AMOUNT:
        return "it is not below 10^10"
    if -int(amount.as_tuple().exponent) > MOST_DECIMALS:
        return f"it has more than {MOST_DECIMALS} decimals"
    return ""


def kept(amount: Decimal) -> Decimal:
    """A reckoned amount below 10^10 as its column holds it, to 18 decimals."""
    return amount.quantize(LEAST_AMOUNT, context=EXACT)


def net(amount: Decimal, tax_basis: str, tax_rate: Decimal | None) -> Decimal | None:
    """An amount without tax, exact or to 34 digits; None where its tax is not known."""
    if tax_basis == NET:
        return amount
    return None if tax_basis != GROSS or tax_rate is None else EXACT.divide(amount, 1 + tax_rate)


def gross(amount: Decimal, tax_basis: str, tax_rate: Decimal | None) -> Decimal | None:
    """An amount with tax; None where the rate is not known."""
    if tax_basis == GROSS:
        return amount
    return None if tax_basis != NET or tax_rate is None else EXACT.multiply(amount, 1 + tax_rate)


def setup_per_month(setup: Decimal | None, months: int = SETUP_MONTHS) -> Decimal | None:
    """A setup fee spread evenly over so many months; a price of the catalog is shown without it.

    None where the fee is not known. Raises InvalidValue for months outside 1 to 120.
    """
    if not 1 <= months <= MOST_SETUP_MONTHS:
        raise InvalidValue("setup_months", f"{months} is not from 1 to {MOST_SETUP_MONTHS}")
    return None if setup is None else EXACT.divide(setup, months)


def kind_fault(purchase_model: str, unit: str, term: str) -> tuple[str, str] | None:
    """(field, what is wrong) where a unit or term does not go with how a price is bought."""
    if purchase_model in COMMITMENTS:
        if term in TERM_HOURS:
            return None
        return "term", f"{purchase_model} needs one of {', '.join(TERM_HOURS)}"
    if term:
        return "term", f"{purchase_model} has no term"
    if (unit == "once") != (purchase_model == "purchase"):
        return "unit", f"{purchase_model} is not paid per {unit}: a purchase alone is paid once"
    return None
