"""Observations as parsed prices, and the reverse."""

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from backend.catalog.models import Offer, PriceFeed, PriceObservation, Provider, Region
from backend.catalog.selectors.current_prices import IDENTITY
from backend.domain.parsing.prices import Key, ParsedPrice
from backend.domain.parsing.prices.answers import shown
from backend.domain.pricing.purchase import PriceUnit, PurchaseModel

SAME = (
    "zone",
    "operating_system",
    "tenancy",
    "term",
    "upfront",
    "plan",
    "amount",
    "currency",
    "setup_amount",
    "monthly_cap",
    "sustained_use",
    "tax_basis",
    "tax_rate",
    "basis",
    "included",
    "source",
    "raw_id",
    "effective_from",
    "note",
)
"""Fields of ParsedPrice that are columns of the same name."""
READ = (
    *SAME,
    "purchase_model",
    "unit",
    "offer__name",
    "offer__region__code",
    "offer__provider__slug",
    "id",
    "is_published",
    "reviewed_at",
    "missing_since",
)


@dataclass(frozen=True, slots=True)
class StoredPrice:
    """A stored observation and its price."""

    pk: UUID
    price: ParsedPrice
    is_published: bool
    reviewed_at: dt.datetime | None
    missing_since: dt.datetime | None


def published(feed: PriceFeed, region: Region | None) -> dict[Key, StoredPrice]:
    """The newest published observation of each price of a list in one region."""
    return {row.price.key: row for row in _newest(_of(feed, region))}


def unpublished(feed: PriceFeed, region: Region | None) -> dict[Key, list[StoredPrice]]:
    """Observations that wait for a person, or were refused by one; not those that vanished
    before anybody looked."""
    rows = PriceObservation.objects.filter(
        Q(missing_since=None) | ~Q(reviewed_at=None), feed=feed, is_published=False
    )
    by_key: dict[Key, list[StoredPrice]] = {}
    for row in _read(rows.filter(offer__region=region).order_by("observed_at")):
        by_key.setdefault(row.price.key, []).append(row)
    return by_key


def on_demand(provider: Provider, region: Region | None, *, but: PriceFeed) -> list[ParsedPrice]:
    """The published on-demand prices of a region that are not of the list `but`."""
    return [row.price for row in _newest(_on_demand(provider, region).exclude(feed=but))]


def listed_on_demand(provider: Provider, region: Region) -> list[ParsedPrice]:
    """The published on-demand prices of a region that were read from a list."""
    return [row.price for row in _newest(_on_demand(provider, region).exclude(feed=None))]


def _on_demand(provider: Provider, region: Region | None) -> QuerySet[PriceObservation]:
    return PriceObservation.objects.filter(
        offer__provider=provider,
        offer__region=region,
        offer__workspace=None,
        purchase_model=PurchaseModel.ON_DEMAND,
        is_published=True,
    )


def _of(feed: PriceFeed, region: Region | None) -> QuerySet[PriceObservation]:
    return PriceObservation.objects.filter(feed=feed, offer__region=region, is_published=True)


def _newest(rows: QuerySet[PriceObservation]) -> Iterator[StoredPrice]:
    return _read(rows.order_by(*IDENTITY, "-observed_at").distinct(*IDENTITY))


def _read(rows: QuerySet[PriceObservation]) -> Iterator[StoredPrice]:
    for row in rows.values(*READ).iterator(chunk_size=2000):
        yield StoredPrice(
            pk=row["id"],
            price=_price(row),
            is_published=row["is_published"],
            reviewed_at=row["reviewed_at"],
            missing_since=row["missing_since"],
        )


def _price(row: Mapping[str, Any]) -> ParsedPrice:
    return ParsedPrice(
        provider=row["offer__provider__slug"],
        offer=row["offer__name"],
        region=row["offer__region__code"] or "",
        purchase_model=PurchaseModel(row["purchase_model"]),
        unit=PriceUnit(row["unit"]),
        **{name: row[name] for name in SAME},
    )


def observation(
    price: ParsedPrice, anomaly: str, offer: Offer, stamp: Mapping[str, Any]
) -> PriceObservation:
    """A new row for the price, unpublished when there is an anomaly; `stamp` are the columns that
    all rows of one reading share."""
    same = {name: getattr(price, name) for name in SAME}
    same["raw_id"] = shown(price.raw_id)
    # Amounts within are decimals; JSON columns know none.
    same["included"] = json.loads(json.dumps(dict(price.included), default=str))
    return PriceObservation(
        offer=offer,
        purchase_model=price.purchase_model,
        unit=price.unit,
        is_published=not anomaly,
        anomaly=anomaly,
        **same,
        **stamp,
    )
