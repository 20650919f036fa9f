"""Prices of what is added to a machine: disk, address, traffic."""

import datetime as dt
from collections.abc import Mapping

from django.db.models import QuerySet

from backend.catalog.models import ExtraKind, ExtraPrice
from backend.money.pricing.extras import (
    DISK,
    EGRESS,
    IP,
    Tariff,
    tiers_of,
)

# The name of an extra in a basis, by the kind of its price.
NAME_OF_KIND: Mapping[str, str] = {
    ExtraKind.DISK: DISK,
    ExtraKind.IPV4: IP,
    ExtraKind.EGRESS: EGRESS,
}

# By provider and region id (None = every region without one of its own), then by extra.
Tariffs = Mapping[tuple[int, int | None], Mapping[str, Tariff]]


def newest_extras(as_of: dt.date | None = None) -> QuerySet[ExtraPrice]:
    """The newest price of each extra, on or before `as_of` when it is given."""
    key = ("provider_id", "region_id", "kind")
    rows = ExtraPrice.objects.order_by(*key, "-observed_on").distinct(*key)
    return rows if as_of is None else rows.filter(observed_on__lte=as_of)


def tariffs(as_of: dt.date | None = None) -> Tariffs:
    """Tariffs of those prices, by provider, region and extra (one query)."""
    by_region: dict[tuple[int, int | None], dict[str, Tariff]] = {}
    for row in newest_extras(as_of):
        own = by_region.setdefault((row.provider_id, row.region_id), {})
        own[NAME_OF_KIND[row.kind]] = Tariff(tiers_of(row.tiers), row.currency)
    return by_region


def tariffs_of(by_region: Tariffs, provider_id: int, region_id: int | None) -> Mapping[str, Tariff]:
    """Tariffs of a region: its own prices before those of every region, never another's."""
    everywhere = by_region.get((provider_id, None), {})
    return {**everywhere, **by_region.get((provider_id, region_id), {})}
