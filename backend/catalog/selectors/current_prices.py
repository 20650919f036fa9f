"""Reads of the catalog: data version, exchange rates, and one price per offer under a basis."""

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import (
    CurrentPrice,
    Offer,
    PriceObservation,
)
from backend.common import clock
from backend.domain.pricing.effective import Charge, price_over
from backend.domain.pricing.quoted import GROSS, net
from backend.domain.units import HOURS_PER_MONTH

ON_DEMAND = "on_demand"
SIDE_BY_SIDE = Decimal(HOURS_PER_MONTH)
"""Hours of a month, only to compare two prices of one offer."""
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


def prices_visible(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[PriceObservation]:
    """Prices of the visible offers."""
    return PriceObservation.objects.filter(
        Q(offer__workspace=None) | Q(offer__workspace__slug=workspace_slug)
    ).select_related("offer__provider", "offer__region")


IDENTITY = (
    "offer_id",
    "zone",
    "operating_system",
    "tenancy",
    "purchase_model",
    "term",
    "upfront",
    "currency",
    "basis",
    "plan",
)
"""What a price is of: two observations that agree in these supersede each other. In the order of
the unique index, so that the database need not sort them all."""
PLAIN = Q(operating_system="linux", tenancy="shared") & (Q(zone="") | Q(purchase_model="spot"))
"""What a ranking compares. Only spot prices differ by zone."""


def end_of(day: dt.date) -> dt.datetime:
    """The first moment after the day, UTC."""
    return dt.datetime.combine(day + dt.timedelta(days=1), dt.time(), dt.UTC)


@dataclass(frozen=True)
class PriceBasis:
    """Under which terms an offer is priced; `period` and `currency` are the reader's."""

    term: str = ON_DEMAND
    basis: str = MACHINE
    currency: str = "USD"
    period: str = "hour"
    as_of: dt.date | None = None

    @property
    def is_sustained(self) -> bool:
        """Whether the discount for sustained use counts: it holds only for a machine that runs
        all of a month, never for one hour."""
        return self.basis == SUSTAINED_USE and self.period != "hour"


@dataclass(frozen=True)
class PriceChoice:
    """The observation that prices an offer, as quoted but for tax at a known rate."""

    offer_id: UUID
    observation_id: UUID
    amount: Decimal
    currency: str
    unit: str
    price_term: str
    price_basis: str
    observed_on: dt.date
    """Day on which it was read, or found unchanged, last."""
    charge: Charge
    zone: str = ""
    """Of a spot price: where it is the lowest."""
    is_missing: bool = False
    """Whether its list does not contain it any more, or its quote has expired."""
    is_gross: bool = False
    """Whether it holds tax at a rate that is not known, which cannot be taken off."""
    included: Mapping[str, Any] = field(default_factory=dict)
    """What it says that it holds beside the machine, such as traffic_bytes."""


def best_prices(
    basis: PriceBasis, offer_ids: Sequence[UUID] | None = None
) -> dict[UUID, PriceChoice]:
    """One current price per offer under the basis, by offer id; offers without one are absent.

    Only published ones of Linux with shared tenancy; what a person states is superseded by nothing
    older, be it in another currency. In order of preference: the purchase model
    (on demand, else monthly without a commitment), those that their list still tells, the basis,
    no upfront payment, the newest day on which they were read, the reader's currency, the lowest
    (of zones and plans), the newest observation.
    """
    return chosen_prices(newest_prices(basis, offer_ids), basis)


CHARGE = ("amount", "unit", "term", "setup_amount", "monthly_cap", "sustained_use")
TAX = ("tax_basis", "tax_rate")
KIND = tuple(name for name in IDENTITY if name not in {"operating_system", "tenancy"})
PRICE_COLUMNS = (*KIND, *CHARGE, *TAX, "observed_at", "valid_until", "missing_since")
PRICE_COLUMNS += ("feed", "feed__checked_at")
# As text: of thousands of rows nearly all say nothing, and few are chosen.
INCLUDED = {"included_json": Cast("included", TextField())}


def newest_prices(
    basis: PriceBasis, offer_ids: Sequence[UUID] | None = None
) -> list[dict[str, Any]]:
    """The newest observation of each kind that may price an offer, whatever the currency."""
    rows = PriceObservation.objects.filter(_of_term(basis), is_published=True)
    if offer_ids is not None:
        rows = rows.filter(offer_id__in=offer_ids)
    if basis.as_of is not None:
        rows = rows.filter(observed_at__lt=end_of(basis.as_of))
    newest = rows.order_by(*KIND, "-observed_at").distinct(*KIND)
    newest = newest.annotate(is_questioned=_is_questioned(basis.as_of))
    return list(newest.values(*dict.fromkeys(PRICE_COLUMNS), "id", "is_questioned", **INCLUDED))


def stored_prices(basis: PriceBasis) -> list[dict[str, Any]]:
    """The same of every offer and of this day, as catalog.stored keeps it; `as_of` is not asked."""
    rows = CurrentPrice.objects.filter(_of_term(basis)).order_by()
    observed = {"id": F("observation_id"), **INCLUDED}
    return list(rows.values(*dict.fromkeys(PRICE_COLUMNS), "is_questioned", **observed))


def _of_term(basis: PriceBasis) -> Q:
    models = Q()
    for purchase_model, term in TERMS[basis.term]:
        models |= Q(purchase_model=purchase_model, term=term)
    return models & PLAIN & Q(basis__in=BASES)


def _is_questioned(as_of: dt.date | None) -> Exists:
    """Whether the list of a price tells another one, which waits for a person."""
    same = {name: OuterRef(name) for name in IDENTITY}
    rows = PriceObservation.objects.filter(
        is_published=False, reviewed_at=None, missing_since=None, **same
    )
    return Exists(rows if as_of is None else rows.filter(observed_at__lt=end_of(as_of)))


def chosen_prices(rows: Iterable[Mapping[str, Any]], basis: PriceBasis) -> dict[UUID, PriceChoice]:
    """The preferred one of each offer's newest observations; see best_prices."""
    allowed = BASES if basis.is_sustained else (MACHINE,)
    offers: dict[UUID, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["basis"] in allowed:
            offers.setdefault(row["offer_id"], []).append(row)
    return {
        offer_id: _choice(
            _preferred(offer_rows, basis) if len(offer_rows) > 1 else offer_rows[0], basis
        )
        for offer_id, offer_rows in offers.items()
    }


def _preferred(rows: list[Mapping[str, Any]], basis: PriceBasis) -> Mapping[str, Any]:
    return min((row for row in rows if not _is_overruled(row, rows)), key=_preference(basis))


ALIKE = ("purchase_model", "zone", "term", "upfront", "plan", "basis")


def _is_overruled(row: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a person has stated the price in another currency since."""
    return any(
        other["feed"] is None
        and other["observed_at"] > row["observed_at"]
        and all(other[name] == row[name] for name in ALIKE)
        for other in rows
    )


LAST = ("zone", "term", "upfront", "basis", "plan")
"""What tells two prices apart that are alike otherwise: the choice never depends on their order."""


def _preference(basis: PriceBasis) -> Callable[[Mapping[str, Any]], tuple[object, ...]]:
    order = {model: index for index, (model, _) in enumerate(TERMS[basis.term])}

    def preference(row: Mapping[str, Any]) -> tuple[object, ...]:
        is_missing, charge = _is_missing(row, basis), _charge(row)
        return (
            order[row["purchase_model"]],
            is_missing,
            _price_basis(row, basis) != basis.basis,
            row["upfront"] not in {"", "none"},
            -_read_on(row, basis, is_missing=is_missing).toordinal(),
            row["currency"] != basis.currency,
            row["currency"],
            price_over(charge, "hour", SIDE_BY_SIDE) or charge.amount,
            -row["observed_at"].timestamp(),
            *(row[name] for name in LAST),
        )

    return preference


def _is_missing(row: Mapping[str, Any], basis: PriceBasis) -> bool:
    missing, until = row["missing_since"], row["valid_until"]
    if missing is not None and (basis.as_of is None or missing < end_of(basis.as_of)):
        return True
    return until is not None and until < (basis.as_of or clock.now().date())


def _read_on(row: Mapping[str, Any], basis: PriceBasis, *, is_missing: bool) -> dt.date:
    read_at = row["observed_at"]
    if not (is_missing or row["is_questioned"]):
        # A list that was read and told nothing new appended no row.
        read_at = max(read_at, row["feed__checked_at"] or read_at)
    read_on: dt.date = read_at.astimezone(dt.UTC).date()
    return read_on if basis.as_of is None else min(read_on, basis.as_of)


def _price_basis(row: Mapping[str, Any], basis: PriceBasis) -> str:
    is_discounted = basis.is_sustained and bool(row["sustained_use"])
    return SUSTAINED_USE if is_discounted else str(row["basis"])


def _choice(row: Mapping[str, Any], basis: PriceBasis) -> PriceChoice:
    term = f"{row['purchase_model']}_{row['term']}" if row["term"] else row["purchase_model"]
    is_missing, charge = _is_missing(row, basis), _charge(row)
    return PriceChoice(
        offer_id=row["offer_id"],
        observation_id=row["id"],
        amount=charge.amount,
        currency=row["currency"],
        unit=charge.unit,
        price_term=term,
        price_basis=_price_basis(row, basis),
        observed_on=_read_on(row, basis, is_missing=is_missing),
        charge=charge,
        zone=row["zone"],
        is_missing=is_missing,
        is_gross=row["tax_basis"] == GROSS and row["tax_rate"] is None,
        included={} if row["included_json"] == "{}" else json.loads(row["included_json"]),
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
    """An amount without the tax that it holds at a known rate: net is compared with net."""
    amount = as_quoted(value)
    without = net(amount, row["tax_basis"], row["tax_rate"])
    return amount if without is None else without


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
