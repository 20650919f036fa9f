"""One current price per offer under a basis."""

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast

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
    chosen_prices,
)
from backend.common import clock
from backend.domain.pricing.effective import Charge
from backend.domain.pricing.quoted import GROSS, net


def prices_visible(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[PriceObservation]:
    return PriceObservation.objects.filter(
        Q(offer__workspace=None) | Q(offer__workspace__slug=workspace_slug)
    ).select_related("offer__provider", "offer__region")


IDENTITY = ("offer_id", *PRICE_IDENTITY)
"""Offer and identity of a price, in the order of the unique index, so that the database need not
sort them all."""
PLAIN = Q(operating_system="linux", tenancy="shared") & (Q(zone="") | Q(purchase_model="spot"))
"""What a ranking compares. Only spot prices differ by zone."""


def end_of(day: dt.date) -> dt.datetime:
    """The first moment after the day, UTC."""
    # UTC, as prices are observed: a day of a zone would make two readers see different prices.
    return dt.datetime.combine(day + dt.timedelta(days=1), dt.time(), dt.UTC)


def best_prices(
    basis: PriceBasis, offer_ids: Sequence[UUID] | None = None
) -> dict[UUID, PriceChoice]:
    """One current price per offer under the basis, by offer id; offers without one are absent.

    Only published ones of Linux with shared tenancy; what a person states is superseded by nothing
    older, be it in another currency. In order of preference: the purchase model
    (on demand, else monthly without a commitment; for a period longer than an hour the cheaper of
    the two), those that their list still states, the basis,
    no upfront payment, the newest day on which they were read, the reader's currency, the lowest
    (of zones and plans), the newest observation.
    """
    return chosen_prices(newest_prices(basis, offer_ids), basis)


CHUNK = 500
"""Rows read from the database at a time: what lies between them in memory is lost to all else."""
KIND = tuple(name for name in IDENTITY if name not in {"operating_system", "tenancy"})
PRICE_COLUMNS = (
    *KIND,
    "amount",
    "unit",
    "setup_amount",
    "monthly_cap",
    "sustained_use",
    "tax_basis",
    "tax_rate",
    "observed_at",
    "valid_until",
    "minimum_months",
    "missing_since",
    "feed",
    "feed__checked_at",
)


def newest_prices(
    basis: PriceBasis, offer_ids: Sequence[UUID] | None = None
) -> Iterator[PriceChoice]:
    """The newest observation of each kind that may price an offer, whatever the currency."""
    # Quarantined ones wait for a person and price nothing meanwhile.
    rows = PriceObservation.objects.filter(_of_term(basis), is_published=True)
    if offer_ids is not None:
        rows = rows.filter(offer_id__in=offer_ids)
    if basis.as_of is not None:
        rows = rows.filter(observed_at__lt=end_of(basis.as_of))
    # DISTINCT ON, in the order of the index: the newest of each kind without sorting all of them.
    newest = rows.order_by(*KIND, "-observed_at").distinct(*KIND)
    return _choices(newest.annotate(is_questioned=_is_questioned(basis.as_of)), "id", basis.as_of)


def stored_prices(
    basis: PriceBasis, offer_ids: Collection[UUID] | None = None
) -> Iterator[PriceChoice]:
    """The same of this day, from CurrentPrice; `as_of` is not asked."""
    rows = CurrentPrice.objects.filter(_of_term(basis)).order_by()
    if offer_ids is not None:
        rows = rows.filter(offer_id__in=offer_ids)
    return _choices(rows, "observation_id", None)


def prices_by_id(ids: Iterable[UUID], workspace_slug: str) -> dict[UUID, PriceChoice]:
    """Published prices of any kind and age, by the id of their observation."""
    rows = prices_visible(workspace_slug).filter(pk__in=list(ids), is_published=True)
    choices = _choices(rows.annotate(is_questioned=Value(value=False)), "id", None)
    return {choice.observation_id: choice for choice in choices}


def _of_term(basis: PriceBasis) -> Q:
    models = Q()
    for purchase_model, term in TERMS[basis.term]:
        models |= Q(purchase_model=purchase_model, term=term)
    return models & PLAIN & Q(basis__in=BASES)


def _is_questioned(as_of: dt.date | None) -> Exists:
    """Whether the list of a price states another one, which waits for a person."""
    same = {name: OuterRef(name) for name in IDENTITY}
    # Published anew or seen no more, it waits no longer and doubts nothing.
    rows = PriceObservation.objects.filter(
        is_published=False, reviewed_at=None, missing_since=None, **same
    )
    return Exists(rows if as_of is None else rows.filter(observed_at__lt=end_of(as_of)))


def _choices(rows: QuerySet[Any], observation: str, as_of: dt.date | None) -> Iterator[PriceChoice]:
    """Rows of prices on the day, the present one for None; `observation` is the id's column."""
    columns = (*PRICE_COLUMNS, observation, "is_questioned")
    # As text: parsing the JSON of thousands of rows would take longer than all the rest.
    read = rows.values(*columns, included_json=Cast("included", TextField()))
    today = as_of or clock.now().date()
    # Row by row: whoever reads those of a hundred thousand offers keeps them smaller.
    return (_choice(row, row[observation], as_of, today) for row in read.iterator(CHUNK))


def _choice(
    row: Mapping[str, Any], observation_id: UUID, as_of: dt.date | None, today: dt.date
) -> PriceChoice:
    # Dropped by its list or expired: shown still, and flagged, as providers drop series by mistake.
    missing, until = row["missing_since"], row["valid_until"]
    is_missing = (missing is not None and (as_of is None or missing < end_of(as_of))) or (
        until is not None and until < today
    )
    read_at = row["observed_at"]
    # A list that states another price now does not confirm this one.
    if not (is_missing or row["is_questioned"]):
        # A list that was read and states nothing new appended no row.
        read_at = max(read_at, row["feed__checked_at"] or read_at)
    read_on = read_at.astimezone(dt.UTC).date()
    return PriceChoice(
        offer_id=row["offer_id"],
        observation_id=observation_id,
        purchase_model=row["purchase_model"],
        upfront=row["upfront"],
        plan=row["plan"],
        basis=row["basis"],
        currency=row["currency"],
        charge=_charge(row),
        observed_at=row["observed_at"],
        # The day asked for is the latest that could be known then.
        observed_on=read_on if as_of is None else min(read_on, as_of),
        is_listed=row["feed"] is not None,
        zone=row["zone"],
        is_missing=is_missing,
        is_tax_unknown=net(Decimal(1), row["tax_basis"], row["tax_rate"]) is None,
        is_gross=row["tax_basis"] == GROSS,
        included_json=row["included_json"],
        minimum_months=row["minimum_months"],
    )


def _charge(row: Mapping[str, Any]) -> Charge:
    return Charge(
        _net(row, row["amount"]),
        row["unit"],
        row["term"],
        None if row["setup_amount"] is None else _net(row, row["setup_amount"]),
        None if row["monthly_cap"] is None else _net(row, row["monthly_cap"]),
        row["sustained_use"],
    )


def _net(row: Mapping[str, Any], value: Decimal) -> Decimal:
    """An amount without the tax that it includes at a known rate: net is compared with net."""
    # Without the column's zeros first, so that prices compare and print as they were quoted.
    amount = as_quoted(value)
    without = net(amount, row["tax_basis"], row["tax_rate"])
    return amount if without is None else without


def as_quoted(amount: Decimal) -> Decimal:
    """The amount without the zeros that its database column appends."""
    text = format(amount, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def current_price(offer: Offer) -> PriceObservation | None:
    """The observation in force for an offer: on demand, else monthly, else its purchase."""
    # Machines of one's own may have a purchase price only.
    for term in (ON_DEMAND, "purchase"):
        choice = best_prices(PriceBasis(term=term), [offer.pk]).get(offer.pk)
        if choice is not None:
            return PriceObservation.objects.get(pk=choice.observation_id)
    return None
