"""Reads of prices for people: the list in force, those that wait, and what a price is worth.

A price is *current* while it is the newest published one of its kind, *superseded* behind a newer
one, and *stale* when it is in force although its list does not contain it any more, its list has not
been read for long, or its quote has expired. One whose first day is to come is *announced*. An
unpublished one is *quarantined* until a person has looked at it, then *refused*; one that its list
dropped meanwhile is *withdrawn*.
"""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import (
    BooleanField,
    Case,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.current_prices import (
    IDENTITY,
    PLAIN,
    end_of,
    has_begun,
    is_questioned,
    prices_visible,
)
from backend.catalog.selectors.feeds import feeds, is_stale
from backend.catalog.selectors.offers import offers_visible
from backend.core import clock
from backend.money.pricing.purchase import PurchaseModel

CURRENT, STALE, SUPERSEDED, ANNOUNCED = "current", "stale", "superseded", "announced"
QUARANTINED, REFUSED, WITHDRAWN, ALL = "quarantined", "refused", "withdrawn", "all"
STATES = (CURRENT, STALE, QUARANTINED, REFUSED, SUPERSEDED, ALL, ANNOUNCED)
MODEL_ORDER = (
    PurchaseModel.ON_DEMAND,
    PurchaseModel.MONTHLY,
    PurchaseModel.PURCHASE,
    PurchaseModel.COMMITTED,
    PurchaseModel.RESERVED,
    PurchaseModel.SAVINGS,
    PurchaseModel.SPOT,
)
WAITS = Q(is_published=False, reviewed_at=None)


@dataclass(frozen=True)
class PriceFilter:
    """Which prices a reader asks for; None is any.

    `offer` is a slug or a type's own name; `state` one of STATES, "" for those in force, stale
    ones among them. `as_of` looks at the prices observed up to the end of that day, those among
    them that waited and were accepted later: the provider asked for them on that day.
    """

    provider: str | None = None
    offer: str | None = None
    region: str | None = None
    purchase_model: str | None = None
    state: str = ""
    as_of: dt.date | None = None

    def offers(self, workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[Offer]:
        """The offers asked for, priced or not."""
        offers = offers_visible(workspace_slug)
        if self.provider is not None:
            offers = offers.filter(provider__slug=self.provider)
        if self.region is not None:
            offers = offers.filter(region__code=self.region)
        if self.offer is not None:
            offers = offers.filter(Q(slug=self.offer) | Q(name=self.offer))
        return offers

    def rows(self, workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[PriceObservation]:
        """Observations of the offers and purchase model asked for, whatever their state."""
        lookups = {
            "offer__provider__slug": self.provider,
            "offer__region__code": self.region,
            "purchase_model": self.purchase_model,
        }
        given = {name: value for name, value in lookups.items() if value is not None}
        rows = prices_visible(workspace_slug).filter(**given)
        if self.offer is not None:
            rows = rows.filter(Q(offer__slug=self.offer) | Q(offer__name=self.offer))
        return rows


def stale_feeds() -> list[UUID]:
    """The lists that have not been read for longer than a reader would expect."""
    return [feed.pk for feed in feeds() if is_stale(feed)]


def price_list(
    price_filter: PriceFilter, workspace_slug: str = DEFAULT_WORKSPACE
) -> QuerySet[PriceObservation]:
    """Observations with `is_announced`, `is_superseded` and `is_stale` (see price_state), by their
    offers.

    In force: Linux, shared tenancy; of each kind the newest, or, when no purchase model is asked
    for, the one per offer that a ranking takes first. Other states are all of that state.
    """
    rows = _with_reviews(price_filter.rows(workspace_slug), price_filter.as_of)
    if price_filter.state in {"", CURRENT}:
        rows = rows.filter(PLAIN, is_superseded=False, is_announced=False, is_published=True)
        if price_filter.state:
            rows = rows.filter(is_stale=False)
        return _in_force(rows, is_one_an_offer=price_filter.purchase_model is None)
    if price_filter.state == QUARANTINED:
        rows = rows.filter(WAITS, missing_since=None)
    elif price_filter.state == ANNOUNCED:
        rows = rows.filter(is_published=True, is_announced=True, missing_since=None)
    elif price_filter.state == REFUSED:
        rows = rows.filter(is_published=False, reviewed_at__isnull=False)
    elif price_filter.state != ALL:
        is_superseded = price_filter.state == SUPERSEDED
        rows = rows.filter(is_published=True, is_announced=False, is_superseded=is_superseded)
        if price_filter.state == STALE:
            rows = rows.filter(is_stale=True)
    return rows.order_by("offer__slug", "purchase_model", "-observed_at", "id")


def price_count(
    price_filter: PriceFilter,
    rows: QuerySet[PriceObservation],
    workspace_slug: str = DEFAULT_WORKSPACE,
) -> int:
    """How many `rows` price_list has."""
    if price_filter.state or price_filter.purchase_model is not None:
        return rows.count()
    # An offer with any published price has one in force: no row need be compared with another.
    day = price_filter.as_of or clock.now().date()
    priced = PriceObservation.objects.filter(
        PLAIN, has_begun(day), is_published=True, offer=OuterRef("pk")
    )
    if price_filter.as_of is not None:
        priced = priced.filter(observed_at__lt=end_of(price_filter.as_of))
    return price_filter.offers(workspace_slug).filter(Exists(priced)).count()


def _with_reviews(rows: QuerySet[PriceObservation], as_of: dt.date | None) -> QuerySet[Any]:
    today = clock.now().date()
    newer = PriceObservation.objects.filter(
        Q(began_at__gt=OuterRef("began_at"))
        | Q(began_at=OuterRef("began_at"), observed_at__gt=OuterRef("observed_at")),
        has_begun(as_of or today),
        is_published=True,
        **{name: OuterRef(name) for name in IDENTITY},
    )
    stale = Q(valid_until__lt=as_of or today)
    if as_of is None or as_of >= today:
        stale |= Q(missing_since__isnull=False) | Q(feed__in=stale_feeds())
    else:
        stale |= Q(missing_since__lt=end_of(as_of))
    if as_of is not None:
        rows = rows.filter(observed_at__lt=end_of(as_of))
        newer = newer.filter(observed_at__lt=end_of(as_of))
    return rows.annotate(
        is_announced=_is(~has_begun(as_of or today)),
        is_superseded=Exists(newer),
        is_stale=_is(stale),
        is_questioned=is_questioned(as_of),
    )


def _is(condition: Q) -> Case:
    return Case(When(condition, then=True), default=False, output_field=BooleanField())


def _in_force(
    rows: QuerySet[PriceObservation], *, is_one_an_offer: bool
) -> QuerySet[PriceObservation]:
    kind = ("term", "upfront", "plan", "basis")
    if not is_one_an_offer:
        return rows.order_by("offer__slug", *kind, "currency", "zone", "id")
    whens = [When(purchase_model=model, then=index) for index, model in enumerate(MODEL_ORDER)]
    order = Case(*whens, default=Value(len(whens)), output_field=IntegerField())
    listed_first = F("missing_since").asc(nulls_first=True)
    cheapest_zone = Case(When(zone="", then=Value(Decimal(0))), default=F("amount"))
    # "machine" comes first of the bases by its name.
    return rows.order_by(
        "offer__slug", order, listed_first, *kind, cheapest_zone, "-observed_at", "currency", "id"
    ).distinct("offer__slug")


def price_state(row: PriceObservation) -> str:
    """The state of a row of price_list, in a word of the module's."""
    if not row.is_published:
        if row.reviewed_at is not None:
            return REFUSED
        return QUARANTINED if row.missing_since is None else WITHDRAWN
    if getattr(row, "is_announced", False):
        return ANNOUNCED if row.missing_since is None else WITHDRAWN
    if getattr(row, "is_superseded", False):
        return SUPERSEDED
    return STALE if getattr(row, "is_stale", False) else CURRENT


def price_visible(
    price_id: UUID, workspace_slug: str = DEFAULT_WORKSPACE
) -> PriceObservation | None:
    """An observation as price_list shows it; None for one that is not visible."""
    return _with_reviews(prices_visible(workspace_slug), None).filter(pk=price_id).first()
