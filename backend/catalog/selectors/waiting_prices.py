"""Prices that do not count yet: announced for a later day, or waiting for a review."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery, Value

from backend.catalog.models import Offer, PriceFeed, PriceObservation
from backend.catalog.selectors.current_prices import IDENTITY, NEWEST_FIRST, has_begun
from backend.catalog.selectors.price_history import CHANGED, change_ratio, terms_document
from backend.catalog.selectors.price_list import WAITS
from backend.core import clock
from backend.money.price_lists.movement import ListMovement


@dataclass(frozen=True)
class PricesToCome:
    """Prices of an offer that do not count yet."""

    announced: Sequence[PriceObservation]
    """Published with a first day that is to come, the nearest first."""
    waiting: Sequence[PriceObservation]
    """For a review."""


def prices_to_come(offer: Offer) -> PricesToCome:
    """Both kinds, in one query."""
    is_announced = Q(is_published=True, valid_from__gt=clock.now().date())
    rows = offer.prices.filter(is_announced | WAITS, missing_since=None)
    ordered = list(rows.order_by("valid_from", "purchase_model", "-observed_at"))
    return PricesToCome(
        announced=[row for row in ordered if row.is_published],
        waiting=[row for row in ordered if not row.is_published],
    )


@dataclass(frozen=True)
class WaitingList:
    """The prices of one list that wait for a review, and how they differ from those in force."""

    feed: PriceFeed
    count: int
    movement: ListMovement


def waiting_lists(feeds: Iterable[PriceFeed] | None = None) -> list[WaitingList]:
    """Lists with prices that wait; of some lists only where they are named."""
    rows = PriceObservation.objects.filter(WAITS, missing_since=None, feed__isnull=False)
    if feeds is not None:
        rows = rows.filter(feed__in=feeds)
    ratios: dict[PriceFeed, list[Decimal | None]] = defaultdict(list)
    for row in _beside_present(rows).select_related("feed__provider").order_by("feed_id"):
        ratios[row.feed].append(change_ratio(row))
    return [
        WaitingList(
            feed,
            len(of_list),
            ListMovement.of(
                (ratio for ratio in of_list if ratio is not None),
                listed=feed.summary.get("priced") or len(of_list),
            ),
        )
        for feed, of_list in ratios.items()
    ]


def _beside_present(rows: QuerySet[PriceObservation]) -> QuerySet[Any]:
    """The rows with the terms of the price that each would replace, as `before`."""
    same = {name: OuterRef(name) for name in IDENTITY}
    present = PriceObservation.objects.filter(
        has_begun(clock.now().date()), is_published=True, **same
    ).order_by(*NEWEST_FIRST)
    return rows.annotate(
        change=Value(CHANGED), before=Subquery(present.values(before=terms_document())[:1])
    )
