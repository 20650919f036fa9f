"""Price lists that are read on a schedule, and which of them are old."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db.models import F, Q, QuerySet

from backend.accounts.models import CloudAccount
from backend.accounts.services.workspaces import default_workspace
from backend.catalog.models import PriceFeed, PriceObservation, PricePayload, UnpricedType
from backend.core import clock

STALE_AFTER = dt.timedelta(hours=48)
# Lists that a refresh asked for and that were not tried since.
REQUESTED = Q(requested_at__isnull=False) & (Q(tried_at=None) | Q(tried_at__lt=F("requested_at")))


def feeds() -> QuerySet[PriceFeed]:
    """Every feed, those that are read by themselves and those of imported files."""
    return PriceFeed.objects.select_related("provider").order_by("provider__slug", "kind", "region")


@dataclass(frozen=True)
class FeedFigures:
    """Figures of a list that is read by itself, for the monitoring."""

    provider: str
    kind: str
    region: str
    age_s: float | None
    """Since it last answered; None before it first did."""
    failures: int
    """Fetches that failed one after the other."""


def feed_figures() -> Iterator[FeedFigures]:
    now = clock.now()
    for feed in feeds().filter(is_enabled=True):
        age_s = None if feed.checked_at is None else (now - feed.checked_at).total_seconds()
        yield FeedFigures(feed.provider.slug, feed.kind, feed.region, age_s, feed.failures)


def is_stale(feed: PriceFeed) -> bool:
    """True if its prices are older than a reader would expect."""
    # One that is not read by itself is read by refreshes.
    is_by_refresh = not feed.is_enabled and settings.PRICE_REFRESH_DAYS > 0
    every = dt.timedelta(
        days=settings.PRICE_REFRESH_DAYS if is_by_refresh else 0,
        seconds=0 if is_by_refresh else feed.every_s,
    )
    expected = max(STALE_AFTER, 2 * every)
    return feed.checked_at is None or clock.now() - feed.checked_at > expected


def types_without_price() -> QuerySet[UnpricedType]:
    """Types that a list names without any price, and why."""
    return UnpricedType.objects.select_related("feed__provider")


def payload_of(price: PriceObservation) -> PricePayload | None:
    """The answer that the price was read from, without its bytes; None where none is stored."""
    if not price.payload_sha256:
        return None
    answers = PricePayload.objects.filter(feed=price.feed, sha256=price.payload_sha256)
    return answers.defer("raw_gzip").first()


def price_account(provider: str) -> CloudAccount | None:
    """The account whose key reads the provider's lists: the oldest enabled one, those first whose
    last check went well."""
    # Lists are shared, so their owner's accounts read them.
    enabled = CloudAccount.objects.filter(
        workspace=default_workspace(), provider=provider, is_enabled=True
    )
    # An empty text sorts first: accounts whose last check went well.
    return enabled.order_by("check_error", "created_at").first()
