"""One current price per offer under a basis."""

import datetime as dt
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from backend.common import clock
from backend.domain.pricing.effective import TERM_HOURS, Charge, price_over
from backend.domain.pricing.purchase import PurchaseModel
from backend.domain.pricing.quoted import GROSS, net
from backend.domain.units import HOURS_PER_MONTH

ON_DEMAND = "on_demand"
SIDE_BY_SIDE = Decimal(HOURS_PER_MONTH)
"""Hours of a month, only to compare two prices of one offer."""
MACHINE = "machine"
SUSTAINED_USE = "sustained_use"
BASES = (MACHINE, SUSTAINED_USE)
# Purchase model and term of each way to buy, in order of preference.
# The reader's word for a way to buy may mean several: who asks for on demand also buys by the month.
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


@dataclass(frozen=True)
class PriceBasis:
    """Under which terms an offer is priced; all but the first two are the reader's."""

    term: str = ON_DEMAND
    basis: str = MACHINE
    currency: str = "USD"
    period: str = "hour"
    as_of: dt.date | None = None
    hours_per_month: Decimal = SIDE_BY_SIDE
    hours_run: Decimal | None = None
    setup_months: int = 0

    @property
    def is_sustained(self) -> bool:
        """Whether the discount for sustained use counts: it holds only for a machine that runs
        all of a month, never for one hour."""
        # Google gives it at the end of a month for what ran; an hour by itself is paid in full.
        return self.basis == SUSTAINED_USE and self.period != "hour"

    @property
    def allowed(self) -> tuple[str, ...]:
        """Bases of the prices that count."""
        # Kept out and not only put last: an hour has no discount of that kind at all.
        return BASES if self.is_sustained else (MACHINE,)

    @property
    def purchase_models(self) -> tuple[str, ...]:
        """Of its term, in order of preference."""
        return tuple(model for model, _ in TERMS[self.term])

    def month(self, charge: Charge) -> Decimal:
        """What the charge comes to in a month of the reader."""
        price = price_over(
            charge,
            "month",
            self.hours_per_month,
            hours_run=self.hours_run,
            setup_months=self.setup_months,
            is_sustained=self.is_sustained,
        )
        return charge.amount if price is None else price


@dataclass(frozen=True, slots=True)
class PriceChoice:
    """One observation that may price an offer, as quoted but for tax at a known rate."""

    offer_id: UUID
    observation_id: UUID
    purchase_model: str
    upfront: str
    plan: str
    basis: str
    """As quoted: machine or sustained_use, and whatever else it includes."""
    currency: str
    charge: Charge
    observed_at: dt.datetime
    observed_on: dt.date
    """Day on which it was read, or seen unchanged, last."""
    is_listed: bool
    """Whether a list states it, and not a person."""
    zone: str = ""
    """Of a spot price: where it is the lowest."""
    is_missing: bool = False
    """Whether its list does not contain it any more, or its quote has expired."""
    is_tax_unknown: bool = False
    """Whether it includes tax at a rate that is not known, or may include some."""
    is_gross: bool = False
    """Whether it includes tax, at whatever rate."""
    included_json: str = "{}"
    minimum_months: int | None = None
    """As its seller states them."""

    @property
    def price_term(self) -> str:
        """How it is bought, as a ranking asks for it."""
        term = self.charge.term
        return f"{self.purchase_model}_{term}" if term else self.purchase_model

    @property
    def commitment_months(self) -> int | None:
        """Months that have to be paid at least, 0 for what can end at any time; None for what is
        bought."""
        if self.purchase_model == PurchaseModel.PURCHASE:
            return None
        # Terms are stored in hours, as providers divide their upfront parts.
        if term_hours := TERM_HOURS.get(self.charge.term):
            return int(term_hours / HOURS_PER_MONTH)
        return self.minimum_months or int(self.purchase_model == PurchaseModel.MONTHLY)

    @property
    def included(self) -> dict[str, Any]:
        """What it says that it includes beside the machine, such as traffic_bytes."""
        # Read when it is needed: of thousands of rows nearly all say nothing, and few are chosen.
        stated: dict[str, Any] = (
            {} if self.included_json == "{}" else json.loads(self.included_json)
        )
        return stated

    def price_basis(self, *, is_sustained: bool) -> str:
        """What the amount includes where the discount for sustained use counts, or does not."""
        return SUSTAINED_USE if is_sustained and self.charge.sustained_use else self.basis


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


def chosen_prices(choices: Iterable[PriceChoice], basis: PriceBasis) -> dict[UUID, PriceChoice]:
    """The preferred one of each offer's newest observations; see best_prices."""
    offers: dict[UUID, list[PriceChoice]] = {}
    for choice in choices:
        if choice.basis in basis.allowed:
            offers.setdefault(choice.offer_id, []).append(choice)
    return {offer_id: preferred(of, basis) for offer_id, of in offers.items()}


def preferred(of: list[PriceChoice], basis: PriceBasis) -> PriceChoice:
    """The preferred one of the newest observations of one offer, of which there is any."""
    if len(of) == 1:
        return of[0]
    # Who stated a price by hand since means that one, in whatever currency.
    kept = (one for one in of if not _is_overruled(one, of))
    first, *others = sorted(kept, key=lambda one: preference(one, basis))
    return next((one for one in others if _is_cheaper_month(one, first, basis)), first)


def _is_cheaper_month(monthly: PriceChoice, hourly: PriceChoice, basis: PriceBasis) -> bool:
    """Whether a reader who asks for a month pays less for a plan of one than for its hours."""
    return (
        basis.period != "hour"
        and hourly.purchase_model == PurchaseModel.ON_DEMAND
        and monthly.purchase_model == PurchaseModel.MONTHLY
        and monthly.commitment_months == 1
        # What can no longer be bought makes nothing cheaper.
        and not monthly.is_missing
        # Without a rate of exchange or of tax, two amounts cannot be compared.
        and (monthly.currency, monthly.is_tax_unknown) == (hourly.currency, hourly.is_tax_unknown)
        and basis.month(monthly.charge) < basis.month(hourly.charge)
    )


def _is_overruled(choice: PriceChoice, others: Iterable[PriceChoice]) -> bool:
    """Whether a person has stated the price in another currency since."""
    return any(
        not other.is_listed
        and other.observed_at > choice.observed_at
        and kind_of(other) == kind_of(choice)
        for other in others
    )


def kind_of(choice: PriceChoice) -> tuple[str, ...]:
    """What a price is of, whatever its currency."""
    return (
        choice.purchase_model,
        choice.zone,
        choice.charge.term,
        choice.upfront,
        choice.basis,
        choice.plan,
    )


def preference(choice: PriceChoice, basis: PriceBasis) -> tuple[object, ...]:
    """What a choice is preferred by, the least first."""
    return (
        *preferred_terms(choice, basis),
        price_over(choice.charge, "hour", SIDE_BY_SIDE) or choice.charge.amount,
        -choice.observed_at.timestamp(),
        # What tells two prices apart that are alike otherwise: the choice never depends on
        # the order of the rows.
        *kind_of(choice),
    )


def preferred_terms(choice: PriceChoice, basis: PriceBasis) -> tuple[object, ...]:
    """What counts before the amount: nothing of it depends on that."""
    return (
        # By position in TERMS: the reader's own way to buy before its stand-in.
        basis.purchase_models.index(choice.purchase_model),
        choice.is_missing,
        choice.price_basis(is_sustained=basis.is_sustained) != basis.basis,
        # Money paid before is a condition that the reader has not accepted.
        choice.upfront not in {"", "none"},
        # Before the amount: the lowest of an old price is no price of today.
        -choice.observed_on.toordinal(),
        choice.currency != basis.currency,
        choice.currency,
    )


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
