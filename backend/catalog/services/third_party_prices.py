"""Prices that a third party collected: kept beside the providers' own lists, never over them.

A price is of the time at which the collector saw it last, so each one is as old as it says. One
that the provider's own list tells is left to that list.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from backend.catalog.calc.sparecores import ListedPrice
from backend.catalog.models import Offer, PriceFeed, PriceObservation, Provider, Region
from backend.catalog.selectors.current_prices import IDENTITY
from backend.catalog.selectors.published_prices import prices_in_force
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.offers import provider_get, region_get
from backend.catalog.services.price_import import feed_get, observation
from backend.catalog.services.price_list_offers import BATCH, offers_record
from backend.core import clock
from backend.money.price_lists import Key, ParsedType

# Code of a region ("" for none) and name of a type there.
RegionAndName = tuple[str, str]


@dataclass(frozen=True)
class Collection:
    """A collector's answer about one provider; prices and types by the code of their region.

    A type under "" is sold somewhere, at a price that is not told. `source` is stated with
    everything; `names` and `countries` are of regions.
    """

    provider: str
    provider_name: str
    kind: str
    """Kind of the feed that stands for it."""
    source: str
    types: Mapping[str, Sequence[ParsedType]]
    quotes: Mapping[str, Sequence[ListedPrice]]
    names: Mapping[str, str] = field(default_factory=dict)
    countries: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Recorded:
    """The offers by place, and how many rows are new or changed."""

    offers: dict[RegionAndName, Offer] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


@transaction.atomic
def collection_record(*, collection: Collection) -> Recorded:
    """Take over a collection; the same one again changes nothing.

    Its prices that are not told any more are stale. Offers of others keep their own figures.
    """
    maker = provider_get(slug=collection.provider, name=collection.provider_name)
    # Two lists of one provider make the same offers.
    Provider.objects.select_for_update(no_key=True).get(pk=maker.pk)
    feed = feed_get(provider=collection.provider, kind=collection.kind)
    made = Recorded()
    # Those of what is stored too: prices of a region that the collection has lost become stale.
    for code in sorted({*collection.types, *collection.quotes, *_region_codes(feed)}):
        _record(collection, feed, code, made)
    if any(count for name, count in made.counts.items() if name in CHANGES):
        data_version_bump()
        PriceFeed.objects.filter(pk=feed.pk).update(changed_at=clock.now())
    return made


CHANGES = frozenset({"offers_new", "offers_changed", "prices_new", "prices_gone", "prices_back"})


def _region_codes(feed: PriceFeed) -> set[str]:
    rows = PriceObservation.objects.filter(feed=feed).order_by()
    return {code or "" for code in rows.values_list("offer__region__code", flat=True).distinct()}


def _record(collection: Collection, feed: PriceFeed, code: str, made: Recorded) -> None:
    region = _region(feed.provider, code, collection) if code else None
    quotes, types = collection.quotes.get(code, ()), collection.types.get(code, ())
    if quotes or types:
        listed = offers_record(
            provider=feed.provider,
            region=region,
            names=[machine.name for machine in types],
            types=_own(types, feed.provider, region, collection.source),
            source=collection.source,
            stated_on=_newest(quotes) or clock.now().date(),
        )
        made.counts["offers_new"] += listed.new
        made.counts["offers_changed"] += listed.changed
        names = {machine.name for machine in types}
        made.offers |= {(code, name): listed.offers[name] for name in names}
    _prices(quotes, feed, region, made, code)


def _region(provider: Provider, code: str, collection: Collection) -> Region:
    region = region_get(provider=provider, code=code)
    if not region.name and (name := collection.names.get(code)):
        region.name, region.country = name, region.country or collection.countries.get(code, "")
        region.save(update_fields=("name", "country"))
    return region


def _own(
    types: Sequence[ParsedType], provider: Provider, region: Region | None, source: str
) -> list[ParsedType]:
    """Types of which nobody else has told anything."""
    rows = Offer.objects.filter(provider=provider, region=region, workspace=None)
    others = set(rows.exclude(source=source).values_list("name", flat=True))
    return [machine for machine in types if machine.name not in others]


def _newest(quotes: Iterable[ListedPrice]) -> dt.date | None:
    return max((quote.observed_at.date() for quote in quotes), default=None)


def _prices(
    quotes: Sequence[ListedPrice], feed: PriceFeed, region: Region | None, made: Recorded, code: str
) -> None:
    listed = _own_list_keys(feed, region)
    new = []
    for quote in quotes:
        offer = made.offers[code, quote.price.offer]
        row = observation(quote.price, "", offer, {"feed": feed, "observed_at": quote.observed_at})
        if tuple(getattr(row, name) for name in IDENTITY) in listed:
            made.counts["prices_of_lists"] += 1
        else:
            new.append(row)
    rows = PriceObservation.objects.filter(feed=feed, offer__region=region)
    # Where conflicts are ignored `bulk_create` does not say how many rows it wrote.
    before = rows.count()
    PriceObservation.objects.bulk_create(new, batch_size=BATCH, ignore_conflicts=True)
    added = rows.count() - before
    made.counts["prices_new"] += added
    made.counts["prices_known"] += len(new) - added
    _absent({quote.price.key for quote in quotes}, feed, region, made)


def _own_list_keys(feed: PriceFeed, region: Region | None) -> set[tuple[object, ...]]:
    """Keys of prices that a list of the provider's own covers."""
    rows = PriceObservation.objects.filter(
        offer__provider=feed.provider,
        offer__region=region,
        offer__workspace=None,
        is_published=True,
        missing_since=None,
        feed__isnull=False,
    )
    return set(rows.exclude(feed=feed).order_by().values_list(*IDENTITY).distinct())


def _absent(keys: set[Key], feed: PriceFeed, region: Region | None, made: Recorded) -> None:
    """Prices of the collection that it has no more are missing, until it has them again."""
    stored = prices_in_force(feed, region, clock.now().date())
    gone = [
        price.pk for key, price in stored.items() if key not in keys and price.missing_since is None
    ]
    back = [
        price.pk for key, price in stored.items() if key in keys and price.missing_since is not None
    ]
    PriceObservation.objects.filter(pk__in=gone).update(missing_since=clock.now())
    PriceObservation.objects.filter(pk__in=back).update(missing_since=None)
    made.counts["prices_gone"] += len(gone)
    made.counts["prices_back"] += len(back)
