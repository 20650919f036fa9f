"""Price lists that are read on a schedule, and which of them are old."""

import datetime as dt

from django.db.models import QuerySet

from backend.catalog.models import PriceFeed
from backend.common import clock

STALE_AFTER = dt.timedelta(hours=48)


def feeds() -> QuerySet[PriceFeed]:
    """Every feed, those that are read by themselves and those of imported files."""
    return PriceFeed.objects.select_related("provider").order_by("provider__slug", "kind", "region")


def is_stale(feed: PriceFeed) -> bool:
    """Whether its prices are older than a reader would expect."""
    expected = max(STALE_AFTER, dt.timedelta(seconds=2 * feed.every_s))
    return feed.checked_at is None or clock.now() - feed.checked_at > expected
