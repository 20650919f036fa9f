"""How a machine is bought, and for which span of time an amount is paid."""

from enum import StrEnum


class PurchaseModel(StrEnum):
    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"
    SAVINGS = "savings"
    COMMITTED = "committed"
    MONTHLY = "monthly"
    PURCHASE = "purchase"


class PriceUnit(StrEnum):
    HOUR = "hour"
    MONTH = "month"
    YEAR = "year"
    ONCE = "once"
    """With a term: the whole of it is paid at its start."""
