"""Price lists that are read on a schedule, and which of them are old."""

import datetime as dt

from django.db.models import QuerySet

from backend.catalog.models import PriceFeed, PriceObservation, PricePayload, UnpricedType
from backend.common import clock

STALE_AFTER = dt.timedelta(hours=48)


def feeds() -> QuerySet[PriceFeed]:
    """Every feed, those that are read by themselves and those of imported files."""
    return PriceFeed.objects.select_related("provider").order_by("provider__slug", "kind", "region")


def is_stale(feed: PriceFeed) -> bool:
    """Whether its prices are older than a reader would expect."""
    expected = max(STALE_AFTER, dt.timedelta(seconds=2 * feed.every_s))
    return feed.checked_at is None or clock.now() - feed.checked_at > expected


def unpriced_types() -> QuerySet[UnpricedType]:
    """Types that a list names without any price, and why."""
    return UnpricedType.objects.select_related("feed__provider")


def payload_of(price: PriceObservation) -> PricePayload | None:
    """The answer that the price was read from, without its bytes; None where none is stored."""
    if not price.payload_sha256:
        return None
    answers = PricePayload.objects.filter(feed=price.feed, sha256=price.payload_sha256)
    return answers.defer("raw_gzip").first()
