"""Reads of the catalog: data version, exchange rates, and one price per offer under a basis."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When

from backend.accounts.selectors import DEFAULT_WORKSPACE
from backend.catalog.models import (
    DataVersion,
    ExchangeRate,
    Offer,
    PriceObservation,
    PurchaseModel,
)
from backend.domain.money import EURO, RateTable
from backend.domain.money import ExchangeRate as Rate

ON_DEMAND = "on_demand"
MACHINE = "machine"
SUSTAINED_USE = "sustained_use"
BASES = (MACHINE, SUSTAINED_USE)
# Purchase model and term of each way to buy, in order of preference.
TERMS: Mapping[str, tuple[tuple[str, str], ...]] = {
    ON_DEMAND: ((ON_DEMAND, ""), ("monthly", "")),
    "monthly": (("monthly", ""),),
    "spot": (("spot", ""),),
    "reserved_1y": (("reserved", "1y"),),
    "reserved_3y": (("reserved", "3y"),),
    "savings_1y": (("savings", "1y"),),
    "savings_3y": (("savings", "3y"),),
    "committed_1y": (("committed", "1y"),),
    "committed_3y": (("committed", "3y"),),
    "purchase": (("purchase", ""),),
}


@dataclass(frozen=True)
class DataStamp:
    """The state of the data: its number, and when it got it; equal stamps mean equal data.

    `changed_at` is None while nothing has ever been counted, and then says nothing.
    """

    number: int
    changed_at: dt.datetime | None


def data_stamp() -> DataStamp:
    """The present state of the data (one query)."""
    row = DataVersion.objects.filter(pk=1).first()
    return DataStamp(row.number, row.changed_at) if row else DataStamp(0, None)


def data_version() -> int:
    """The number that grows with every change of an offer, price, rate or sample."""
    return data_stamp().number


def offers_visible(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[Offer]:
    """What providers sell to everybody, and the machines of the workspace."""
    return Offer.objects.filter(
        Q(workspace=None) | Q(workspace__slug=workspace_slug)
    ).select_related("provider", "region")


def prices_visible(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[PriceObservation]:
    """Prices of the visible offers."""
    return PriceObservation.objects.filter(
        Q(offer__workspace=None) | Q(offer__workspace__slug=workspace_slug)
    ).select_related("offer__provider", "offer__region")


# What a price is of: two observations that agree in these supersede each other.
PRICE_IDENTITY = (
    "offer_id",
    "zone",
    "operating_system",
    "tenancy",
    "purchase_model",
    "term",
    "upfront",
    "currency",
    "basis",
)
PLAIN = Q(operating_system="linux", tenancy="shared", zone="")
MODEL_ORDER = (
    PurchaseModel.ON_DEMAND,
    PurchaseModel.MONTHLY,
    PurchaseModel.PURCHASE,
    PurchaseModel.COMMITTED,
    PurchaseModel.RESERVED,
    PurchaseModel.SAVINGS,
    PurchaseModel.SPOT,
)


def price_list(
    workspace_slug: str = DEFAULT_WORKSPACE,
    *,
    conditions: Mapping[str, Any],
    offer: str | None = None,
    as_of: dt.date | None = None,
    is_current_only: bool = True,
) -> QuerySet[PriceObservation]:
    """Observations with `is_superseded`, in the order of their offers.

    `offer` is a slug or a type's own name. Current only: Linux, shared tenancy, no zone; of each
    kind of purchase the newest, or when `conditions` names no purchase model, the one price per
    offer that a ranking would take first.
    """
    rows = prices_visible(workspace_slug).filter(**conditions)
    if offer is not None:
        rows = rows.filter(Q(offer__slug=offer) | Q(offer__name=offer))
    newer = PriceObservation.objects.filter(
        observed_at__gt=OuterRef("observed_at"), **{name: OuterRef(name) for name in PRICE_IDENTITY}
    )
    if as_of is not None:
        rows = rows.filter(observed_at__lt=end_of(as_of))
        newer = newer.filter(observed_at__lt=end_of(as_of))
    rows = rows.annotate(is_superseded=Exists(newer))
    if not is_current_only:
        return rows.order_by("offer__slug", "purchase_model", "-observed_at", "id")
    rows = rows.filter(PLAIN, is_superseded=False)
    if "purchase_model" in conditions:
        return rows.order_by("offer__slug", "term", "upfront", "basis", "currency", "id")
    whens = [When(purchase_model=model, then=place) for place, model in enumerate(MODEL_ORDER)]
    order = Case(*whens, default=Value(len(whens)), output_field=IntegerField())
    # "machine" comes first of the bases by its name.
    return rows.order_by(
        "offer__slug", order, "term", "upfront", "basis", "-observed_at", "currency", "id"
    ).distinct("offer__slug")


def end_of(day: dt.date) -> dt.datetime:
    """The first moment after the day, UTC."""
    return dt.datetime.combine(day + dt.timedelta(days=1), dt.time(), dt.UTC)


def rate_table(as_of: dt.date | None = None) -> RateTable:
    """The newest stored rate of each currency, on or before `as_of` when it is given."""
    stored = ExchangeRate.objects.order_by("currency", "-date").distinct("currency")
    if as_of is not None:
        stored = stored.filter(date__lte=as_of)
    return RateTable(
        {row.currency: Rate(row.date, row.currency, row.units_per_eur) for row in stored}
    )


def currencies() -> frozenset[str]:
    """Currencies in which a ranking may be asked for: those with a rate, or quoted as such."""
    rated = ExchangeRate.objects.order_by().values_list("currency", flat=True).distinct()
    quoted = PriceObservation.objects.order_by().values_list("currency", flat=True).distinct()
    return frozenset({EURO, "USD", *rated, *quoted})


@dataclass(frozen=True)
class PriceBasis:
    """Under which terms an offer is priced; `period` and `currency` are the reader's."""

    term: str = ON_DEMAND
    basis: str = MACHINE
    currency: str = "USD"
    period: str = "hour"
    as_of: dt.date | None = None


@dataclass(frozen=True)
class PriceChoice:
    """The observation that prices an offer, as quoted."""

    offer_id: UUID
    observation_id: UUID
    amount: Decimal
    currency: str
    unit: str
    price_term: str
    price_basis: str
    observed_on: dt.date


def best_prices(
    basis: PriceBasis, offer_ids: Sequence[UUID] | None = None
) -> dict[UUID, PriceChoice]:
    """One current price per offer under the basis, by offer id; offers without one are absent.

    Only Linux, shared tenancy and no zone. In order of preference: the purchase model (on demand,
    else monthly without a commitment), the basis, no upfront payment, the newest day of
    observation, the reader's currency, the newest observation.
    """
    return chosen_prices(newest_prices(basis, offer_ids), basis)


def newest_prices(
    basis: PriceBasis, offer_ids: Sequence[UUID] | None = None
) -> list[dict[str, Any]]:
    """The newest observation of each kind that may price an offer, whatever the currency."""
    wanted = Q()
    for purchase_model, term in TERMS[basis.term]:
        wanted |= Q(purchase_model=purchase_model, term=term)
    rows = PriceObservation.objects.filter(wanted, PLAIN, basis__in=BASES)
    if offer_ids is not None:
        rows = rows.filter(offer_id__in=offer_ids)
    if basis.as_of is not None:
        rows = rows.filter(observed_at__lt=end_of(basis.as_of))
    # In the order of the unique index, so that the database need not sort them all.
    kind = ("offer_id", "purchase_model", "term", "upfront", "currency", "basis")
    newest = rows.order_by(*kind, "-observed_at").distinct(*kind)
    return list(newest.values(*kind, "id", "amount", "unit", "observed_at"))


def chosen_prices(rows: Iterable[Mapping[str, Any]], basis: PriceBasis) -> dict[UUID, PriceChoice]:
    """The preferred one of each offer's newest observations; see best_prices."""
    order = {model: place for place, (model, _) in enumerate(TERMS[basis.term])}
    allowed = _bases(basis)
    preferred: dict[UUID, tuple[tuple[object, ...], Mapping[str, Any]]] = {}
    for row in rows:
        if row["basis"] not in allowed:
            continue
        at = row["observed_at"]
        place = (
            order[row["purchase_model"]],
            row["basis"] != basis.basis,
            row["upfront"] not in {"", "none"},
            -_day(at).toordinal(),
            row["currency"] != basis.currency,
            -at.timestamp(),
        )
        held = preferred.get(row["offer_id"])
        if held is None or place < held[0]:
            preferred[row["offer_id"]] = (place, row)
    return {offer_id: _choice(row) for offer_id, (_, row) in preferred.items()}


def _day(at: dt.datetime) -> dt.date:
    return at.astimezone(dt.UTC).date()


def _bases(basis: PriceBasis) -> tuple[str, ...]:
    # A sustained-use month holds only for a machine that runs all of it: never for one hour.
    return BASES if basis.basis == SUSTAINED_USE and basis.period != "hour" else (MACHINE,)


def _choice(row: Mapping[str, Any]) -> PriceChoice:
    term = f"{row['purchase_model']}_{row['term']}" if row["term"] else row["purchase_model"]
    return PriceChoice(
        offer_id=row["offer_id"],
        observation_id=row["id"],
        amount=as_quoted(row["amount"]),
        currency=row["currency"],
        unit=row["unit"],
        price_term=term,
        price_basis=row["basis"],
        observed_on=_day(row["observed_at"]),
    )


def as_quoted(amount: Decimal) -> Decimal:
    """The amount without the zeros that its database column appends."""
    text = format(amount, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def current_price(offer: Offer) -> PriceObservation | None:
    """The observation in force for an offer: on demand, else monthly, else its purchase."""
    for term in (ON_DEMAND, "purchase"):
        choice = best_prices(PriceBasis(term=term), [offer.pk]).get(offer.pk)
        if choice is not None:
            return PriceObservation.objects.get(pk=choice.observation_id)
    return None
