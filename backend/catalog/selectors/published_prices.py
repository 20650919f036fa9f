"""Observations as parsed prices, to be compared with those of a new list."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from backend.catalog.models import PriceFeed, PriceObservation, Provider, Region
from backend.catalog.selectors.current_prices import IDENTITY, NEWEST_FIRST, has_begun
from backend.core import clock
from backend.money.price_lists import Key, ParsedPrice
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

# Fields of ParsedPrice that are columns of the same name.
PRICE_COLUMNS = (
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
    "valid_from",
    "valid_until",
    "applies_to",
    "note",
)
READ = (
    *PRICE_COLUMNS,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPrice(ParsedPrice):
    """A price with what its row says beside it."""

    pk: UUID
    is_published: bool
    reviewed_at: dt.datetime | None
    missing_since: dt.datetime | None


def prices_in_force(feed: PriceFeed, region: Region | None, day: dt.date) -> dict[Key, StoredPrice]:
    """The published prices of a list in one region that count on a day."""
    rows = PriceObservation.objects.filter(feed=feed, offer__region=region, is_published=True)
    return {price.key: price for price in _newest(rows.filter(has_begun(day)))}


def prices_to_come(feed: PriceFeed, region: Region | None, day: dt.date) -> list[StoredPrice]:
    """Prices of a list that begin after a day, refused ones among them, withdrawn ones not."""
    rows = PriceObservation.objects.filter(feed=feed, offer__region=region, valid_from__gt=day)
    return list(_read(rows.filter(missing_since=None).order_by("observed_at")))


def prices_not_accepted(
    feed: PriceFeed, region: Region | None, day: dt.date
) -> dict[Key, list[StoredPrice]]:
    """Observations that wait for a person, or were refused by one; not those that vanished
    before anybody looked, or begin after the day."""
    rows = PriceObservation.objects.filter(
        Q(missing_since=None) | ~Q(reviewed_at=None), has_begun(day), feed=feed, is_published=False
    )
    by_key: dict[Key, list[StoredPrice]] = {}
    for price in _read(rows.filter(offer__region=region).order_by("observed_at")):
        by_key.setdefault(price.key, []).append(price)
    return by_key


def on_demand(provider: Provider, region: Region | None, *, but: PriceFeed) -> list[StoredPrice]:
    """The published on-demand prices of a region that are not of the list `but`."""
    today = clock.now().date()
    return list(_newest(_on_demand(provider, region).filter(has_begun(today)).exclude(feed=but)))


def on_demand_prices(*, provider: str, region: str) -> list[StoredPrice]:
    """The published on-demand prices of a region that were read from a list, on which savings
    plans are joined."""
    known = Region.objects.filter(provider__slug=provider, code=region).first()
    if known is None:
        return []
    today = clock.now().date()
    rows = _on_demand(known.provider, known).filter(has_begun(today))
    return list(_newest(rows.exclude(feed=None)))


def _on_demand(provider: Provider, region: Region | None) -> QuerySet[PriceObservation]:
    return PriceObservation.objects.filter(
        offer__provider=provider,
        offer__region=region,
        offer__workspace=None,
        purchase_model=PurchaseModel.ON_DEMAND,
        is_published=True,
    )


def _newest(rows: QuerySet[PriceObservation]) -> Iterator[StoredPrice]:
    return _read(rows.order_by(*IDENTITY, *NEWEST_FIRST).distinct(*IDENTITY))


def _read(rows: QuerySet[PriceObservation]) -> Iterator[StoredPrice]:
    for row in rows.values(*READ).iterator(chunk_size=2000):
        yield StoredPrice(
            pk=row["id"],
            is_published=row["is_published"],
            reviewed_at=row["reviewed_at"],
            missing_since=row["missing_since"],
            provider=row["offer__provider__slug"],
            offer=row["offer__name"],
            region=row["offer__region__code"] or "",
            purchase_model=PurchaseModel(row["purchase_model"]),
            unit=PriceUnit(row["unit"]),
            **{name: row[name] for name in PRICE_COLUMNS},
        )
