"""A current price per offer under a basis."""

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.lookups import IsNull

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import (
    CurrentPrice,
    Offer,
    PriceObservation,
)
from backend.catalog.models.prices import PRICE_IDENTITY
from backend.catalog.selectors.price_choice import (
    BASES,
    ON_DEMAND,
    TERMS,
    PriceBasis,
    PriceChoice,
    choose_prices,
)
from backend.catalog.selectors.read_prices import ReadPrices
from backend.core import clock


def prices_visible(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[PriceObservation]:
    return PriceObservation.objects.filter(
        Q(offer__workspace=None) | Q(offer__workspace__slug=workspace_slug)
    ).select_related("offer__provider", "offer__region")


# Offer and identity of a price, in the order of the unique index, so that the database need not
# sort them all.
IDENTITY = ("offer_id", *PRICE_IDENTITY)
# Of two prices of one kind the first in this order counts, once both have begun.
NEWEST_FIRST = ("-began_at", "-observed_at")
# What a ranking compares. Only spot prices differ by zone.
PLAIN = Q(operating_system="linux", tenancy="shared") & (Q(zone="") | Q(purchase_model="spot"))


def end_of(day: dt.date) -> dt.datetime:
    """The first moment after the day, UTC."""
    # UTC, as prices are observed: a day of a zone would make two readers see different prices.
    return dt.datetime.combine(day + dt.timedelta(days=1), dt.time(), dt.UTC)


def has_begun(day: dt.date) -> Q:
    """Condition of prices that count on a day: begun by then, and not withdrawn before."""
    stays = Q(missing_since=None) | Q(missing_since__gte=F("valid_from"))
    return Q(valid_from=None) | (Q(valid_from__lte=day) & stays)


def best_prices(
    basis: PriceBasis, offer_ids: Sequence[UUID] | None = None
) -> dict[UUID, PriceChoice]:
    """A current price per offer under the basis, by offer id; offers without one are absent.

    Only published ones of Linux with shared tenancy; what a person states is superseded by nothing
    older, be it in another currency. In order of preference: the purchase model
    (on demand, else monthly without a commitment; for a period longer than an hour the cheaper of
    the two), those that their list still states, the basis,
    no upfront payment, the newest day on which they were read, the reader's currency, the lowest
    (of zones and plans), the newest observation.
    """
    return choose_prices(newest_prices(basis, offer_ids), basis)


KIND = tuple(name for name in IDENTITY if name not in {"operating_system", "tenancy"})


def newest_prices(basis: PriceBasis, offer_ids: Sequence[UUID] | None = None) -> ReadPrices:
    """The newest observation of each kind that may price an offer, whatever the currency."""
    # Quarantined ones wait for a person and price nothing meanwhile.
    rows = PriceObservation.objects.filter(_of_term(basis), is_published=True)
    if offer_ids is not None:
        rows = rows.filter(offer_id__in=offer_ids)
    rows = rows.filter(has_begun(basis.as_of or clock.now().date()))
    if basis.as_of is not None:
        rows = rows.filter(observed_at__lt=end_of(basis.as_of))
    # DISTINCT ON, in the order of the index: the newest of each kind without sorting all of them.
    newest = rows.order_by(*KIND, *NEWEST_FIRST).distinct(*KIND)
    newest = newest.annotate(is_questioned=is_questioned(basis.as_of))
    return ReadPrices(newest, "id", basis.as_of)


def current_prices_of(
    basis: PriceBasis, offer_ids: Collection[UUID] | QuerySet[Any] | None = None
) -> ReadPrices:
    """The same of this day, from CurrentPrice; `as_of` is not asked. `offer_ids` may be a query."""
    rows = CurrentPrice.objects.filter(_of_term(basis)).order_by()
    if offer_ids is not None:
        rows = rows.filter(offer_id__in=offer_ids)
    return ReadPrices(rows, "observation_id", None)


def current_prices_of_offers(offer_ids: Collection[UUID]) -> ReadPrices:
    """The newest prices of this day of some offers, under every term (one query)."""
    rows = CurrentPrice.objects.filter(PLAIN, offer_id__in=offer_ids, basis__in=BASES)
    return ReadPrices(rows.order_by(), "observation_id", None)


def prices_by_id(ids: Iterable[UUID], workspace_slug: str) -> dict[UUID, PriceChoice]:
    """Published prices of any kind and age, by the id of their observation."""
    rows = prices_visible(workspace_slug).filter(pk__in=list(ids), is_published=True)
    choices = ReadPrices(rows.annotate(is_questioned=Value(value=False)), "id", None)
    return {choice.observation_id: choice for choice in choices}


def _of_term(basis: PriceBasis) -> Q:
    models = Q()
    for purchase_model, term in TERMS[basis.term]:
        models |= Q(purchase_model=purchase_model, term=term)
    return models & PLAIN & Q(basis__in=BASES)


def is_questioned(as_of: dt.date | None) -> Exists:
    """True if the list of a price states another one, which waits for a person."""
    same = {name: OuterRef(name) for name in IDENTITY if name != "currency"}
    # Once the list has dropped the price, one in another currency stands for it.
    is_replaced = Q(IsNull(OuterRef("missing_since"), False))
    # Published anew or seen no more, it waits no longer and doubts nothing.
    rows = PriceObservation.objects.filter(
        Q(currency=OuterRef("currency")) | is_replaced,
        has_begun(as_of or clock.now().date()),
        is_published=False,
        reviewed_at=None,
        missing_since=None,
        **same,
    )
    return Exists(rows if as_of is None else rows.filter(observed_at__lt=end_of(as_of)))


def current_price(offer: Offer) -> PriceObservation | None:
    """The observation in force for an offer: on demand, else monthly, else its purchase."""
    # Machines of one's own may have a purchase price only.
    for term in (ON_DEMAND, "purchase"):
        choice = best_prices(PriceBasis(term=term), [offer.pk]).get(offer.pk)
        if choice is not None:
            return PriceObservation.objects.get(pk=choice.observation_id)
    return None
