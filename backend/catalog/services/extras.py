"""Providers' prices beside the machine: disk, public addresses, traffic to the internet."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

from backend.catalog.models import ExtraKind, ExtraPrice, Provider, Region
from backend.money.price_lists import ParsedExtra
from backend.money.pricing.extras import (
    Tiers,
    cap_hourly,
    tiers_document,
)


def extra_record(
    *,
    provider: Provider,
    region: Region | None,
    kind: str,
    tiers: Tiers,
    currency: str,
    observed_on: dt.date,
    source: str,
) -> bool:
    """Append a price as read on a day, unless the newest one up to that day says the same; whether
    anything is new. What was read earlier on the same day is replaced. The caller counts the data
    version."""
    identity: dict[str, Any] = {"provider": provider, "region": region, "kind": kind}
    terms = {"tiers": tiers_document(tiers), "currency": currency}
    stored = ExtraPrice.objects.filter(**identity, observed_on__lte=observed_on).order_by(
        "-observed_on"
    )
    newest = stored.first()
    if newest is not None and {name: getattr(newest, name) for name in terms} == terms:
        return False
    ExtraPrice.objects.update_or_create(
        **identity, observed_on=observed_on, defaults={**terms, "source": source}
    )
    return True


def record_list_extras(
    *, provider: Provider, extras: Iterable[ParsedExtra], observed_on: dt.date
) -> bool:
    """Record what a price list tells of public IPv4 addresses; whether anything is new.

    Other extras of a list are kept with the feed only: none of them is in a basis.
    """
    is_changed = False
    regions = {row.code: row for row in Region.objects.filter(provider=provider)}
    for extra in extras:
        # A place where nothing is offered has no machine to go with.
        if extra.name != ExtraKind.IPV4 or (extra.region and extra.region not in regions):
            continue
        is_changed |= extra_record(
            provider=provider,
            region=regions.get(extra.region),
            kind=ExtraKind.IPV4,
            tiers=cap_hourly(extra.amount, extra.monthly_cap),
            currency=extra.currency,
            observed_on=observed_on,
            source=extra.source,
        )
    return is_changed
