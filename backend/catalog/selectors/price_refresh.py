"""Which lists a refresh reads, and how far the last one is."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Max, Q, Subquery

from backend.catalog.models import Offer, PriceFeed
from backend.catalog.selectors.feeds import REQUESTED, price_account
from backend.core import clock
from backend.providers.base import ProviderRecord
from backend.providers.price_feeds import FeedKind
from backend.providers.price_refresh import (
    ListProgress,
    ListState,
    ProviderProgress,
    RefreshProgress,
    Trouble,
)
from backend.providers.registry import PROVIDERS, provider


@dataclass(frozen=True)
class RefreshList:
    """A list that a refresh reads."""

    provider: str
    feed: FeedKind
    region: str


def refresh_lists() -> list[RefreshList]:
    """Every list that can be read with the accounts there are, in the order of reading.

    Regions are those in which the catalogue has offers, and those of lists that are enabled.
    """
    enabled = set(
        PriceFeed.objects.filter(is_enabled=True).values_list("provider__slug", "kind", "region")
    )
    regions = _regions()
    lists = [
        RefreshList(record.slug, feed, region)
        for record in PROVIDERS.values()
        for feed in record.feeds
        if not feed.needs_account or price_account(record.slug)
        for region in _regions_of(record, feed, enabled, regions[record.slug])
    ]
    # Rates first, as prices are compared by them; short lists before files of hundreds of megabytes, and
    # before each list what it is joined on.
    return sorted(
        lists,
        key=lambda entry: (
            not entry.feed.are_rates,
            entry.feed.is_regional,
            entry.feed.needs_on_demand,
        ),
    )


def _regions() -> dict[str, set[str]]:
    """Codes of the regions of offers that can still be bought, by provider."""
    offers = Offer.objects.filter(workspace=None, discontinued_on=None, region__isnull=False)
    codes: dict[str, set[str]] = defaultdict(set)
    for slug, code in offers.values_list("provider__slug", "region__code").distinct():
        codes[slug].add(code)
    return codes


def _regions_of(
    record: ProviderRecord, feed: FeedKind, enabled: set[tuple[str, str, str]], known: set[str]
) -> Iterator[str]:
    """The regions in which a refresh reads the list; "" for a list of all regions."""
    own = {region for slug, kind, region in enabled if (slug, kind) == (record.slug, feed.kind)}
    yield from sorted(own)
    if feed.is_alternative:
        return
    codes = filter(record.region.fullmatch, sorted(known)) if feed.is_regional else [""]
    instead = [entry.kind for entry in record.feeds if entry.replaces == feed.kind]
    for code in codes:
        is_replaced = any((record.slug, kind, code) in enabled for kind in instead)
        if code not in own and not is_replaced:
            yield code


def last_requested_at() -> dt.datetime | None:
    """When the last refresh began."""
    newest: dt.datetime | None = PriceFeed.objects.aggregate(at=Max("requested_at"))["at"]
    return newest


def is_refreshing() -> bool:
    return PriceFeed.objects.filter(REQUESTED).exists()


def refresh_progress() -> RefreshProgress:
    """Every list of the last refresh, by provider; and providers that lack an account."""
    at = last_requested_at()
    of_providers: dict[str, list[ListProgress]] = defaultdict(list)
    feeds = PriceFeed.objects.none() if at is None else PriceFeed.objects.filter(requested_at=at)
    for feed in feeds.select_related("provider").order_by("provider__slug", "kind", "region"):
        of_providers[feed.provider.slug].append(_list_progress(feed))
    lacking = {
        record.slug
        for record in PROVIDERS.values()
        if any(feed.needs_account and not feed.is_alternative for feed in record.feeds)
        and price_account(record.slug) is None
    }
    return RefreshProgress(
        [
            ProviderProgress(
                slug,
                provider(slug).short_name,
                of_providers.get(slug, []),
                lacks_account=slug in lacking,
            )
            for slug in sorted(of_providers.keys() | lacking)
        ]
    )


def _list_progress(feed: PriceFeed) -> ListProgress:
    asked = feed.requested_at
    if asked is None or feed.tried_at is None or feed.tried_at < asked:
        is_reading = feed.lease_until is not None and feed.lease_until > clock.now()
        return ListProgress(feed.region, ListState.READING if is_reading else ListState.WAITING)
    if feed.failures:
        trouble = Trouble(feed.trouble or Trouble.UNREADABLE)
        return ListProgress(feed.region, ListState.FAILED, trouble=trouble, error=feed.last_error)
    is_changed = feed.changed_at is not None and feed.changed_at >= asked
    return ListProgress(feed.region, ListState.READ, is_changed=is_changed)


def failed_provider_count() -> int:
    """Providers with a list that could not be read when it was last tried."""
    requested = PriceFeed.objects.exclude(requested_at=None).order_by("-requested_at")
    newest = requested.values("requested_at")[:1]
    counted = Q(is_enabled=True) | Q(requested_at=Subquery(newest))
    feeds = PriceFeed.objects.filter(counted, failures__gt=0)
    return feeds.order_by().values("provider").distinct().count()


def is_resting() -> bool:
    """True if nobody answered since the last refresh began: it is not repeated by itself."""
    at = last_requested_at()
    newest = PriceFeed.objects.aggregate(at=Max("checked_at"))["at"]
    return at is not None and not is_refreshing() and (newest is None or newest < at)
