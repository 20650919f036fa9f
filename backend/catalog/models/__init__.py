"""Products and prices: providers, regions, offers, prices, exchange rates."""

from backend.catalog.models.discounts import ContractDiscount
from backend.catalog.models.hardware import HardwareModel
from backend.catalog.models.offers import (
    CreditMode,
    Offer,
    OfferKind,
    Provider,
    Region,
    VcpuKind,
)
from backend.catalog.models.prices import (
    ExtraKind,
    ExtraPrice,
    PriceFeed,
    PriceObservation,
    PricePayload,
    QuotedPrice,
    UnpricedType,
)
from backend.catalog.models.rates import DataVersion, ExchangeRate
from backend.catalog.models.stored import CurrentPrice, StoredChange, StoredMark, StoredState
from backend.catalog.models.tables import TableMapping

__all__ = [
    "ContractDiscount",
    "CreditMode",
    "CurrentPrice",
    "DataVersion",
    "ExchangeRate",
    "ExtraKind",
    "ExtraPrice",
    "HardwareModel",
    "Offer",
    "OfferKind",
    "PriceFeed",
    "PriceObservation",
    "PricePayload",
    "Provider",
    "QuotedPrice",
    "Region",
    "StoredChange",
    "StoredMark",
    "StoredState",
    "TableMapping",
    "UnpricedType",
    "VcpuKind",
]
