"""Discounts of a contract: what a customer pays after the discounts that everybody gets."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from backend.foundation.units import EXACT
from backend.money.pricing.purchase import PurchaseModel


class DiscountService(StrEnum):
    """The part of a bill that a discount is given on."""

    COMPUTE = "compute"
    STORAGE = "storage"
    EGRESS = "egress"
    ALL = "all"


# The market sets spot prices, and a licence is another seller's.
DISCOUNTED = frozenset(
    {
        PurchaseModel.ON_DEMAND,
        PurchaseModel.MONTHLY,
        PurchaseModel.RESERVED,
        PurchaseModel.SAVINGS,
        PurchaseModel.COMMITTED,
    }
)


@dataclass(frozen=True, slots=True)
class Discount:
    """A row of a contract."""

    provider: str
    service: str
    percent: Decimal
    valid_from: dt.date | None = None
    valid_until: dt.date | None = None
    """Last day."""

    def holds_on(self, day: dt.date) -> bool:
        """True from its first to its last day."""
        return (self.valid_from or day) <= day <= (self.valid_until or day)


def discount_of(
    discounts: Iterable[Discount],
    *,
    provider: str,
    service: str,
    purchase_model: str,
    day: dt.date,
) -> Discount | None:
    """The discount on a service: one row counts, that of the service before that of all."""
    if purchase_model not in DISCOUNTED:
        return None
    rows = [
        row
        for row in discounts
        if row.provider == provider
        and row.service in {service, DiscountService.ALL}
        and row.holds_on(day)
    ]
    own = [row for row in rows if row.service == service]
    return next(iter(own or rows), None)


def apply_discount(amount: Decimal, discount: Discount | None) -> Decimal:
    """The amount that is left; `amount` holds the provider's automatic discounts already."""
    if discount is None:
        return amount
    return EXACT.multiply(amount, EXACT.divide(100 - discount.percent, Decimal(100)))
