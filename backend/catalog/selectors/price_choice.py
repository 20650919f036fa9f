"""Which price of an offer is preferred under a basis."""

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.effective import ONCE, TERM_HOURS, Charge, price_over
from backend.money.pricing.purchase import PurchaseModel

ON_DEMAND = "on_demand"
# Hours of a month, only to compare two prices of one offer.
SIDE_BY_SIDE = Decimal(HOURS_PER_MONTH)
MACHINE = "machine"
LIST = "list"
SUSTAINED_USE = "sustained_use"
# Of stored prices that may be compared.
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
        """True where the discount counts that a provider takes off a month by itself."""
        # Google gives it at the end of a month for what ran; an hour by itself is paid in full.
        return self.basis != LIST and self.period != "hour"

    @property
    def allowed(self) -> tuple[str, ...]:
        """Bases of the prices that count."""
        # Kept out and not only put last: an hour has no discount of that kind at all.
        return BASES if self.is_sustained else (MACHINE,)

    @property
    def purchase_models(self) -> tuple[str, ...]:
        """Purchase models of its term, in order of preference."""
        return tuple(model for model, _ in TERMS[self.term])

    def monthly_cost(self, charge: Charge) -> Decimal:
        """Cost of a month at the reader's hours; of what is bought once the amount itself."""
        price = price_over(
            charge,
            "month",
            self.hours_per_month,
            hours_run=self.hours_run,
            setup_months=self.setup_months,
            is_sustained=self.is_sustained,
        )
        return charge.amount if price is None else price


class Quote(NamedTuple):
    """Inputs that an amount follows from."""

    charge: Charge
    currency: str
    is_tax_unknown: bool
    """True if it includes tax at a rate that is not known, or may include some."""


class QuoteKind(NamedTuple):
    """Properties of a price beside its amount; the fields of a PriceChoice."""

    purchase_model: str
    upfront: str
    plan: str
    basis: str
    observed_on: dt.date
    is_listed: bool
    zone: str
    is_missing: bool
    is_gross: bool
    included_json: str
    minimum_months: int | None
    is_questioned: bool


@dataclass(frozen=True, slots=True)
class PriceChoice:
    """An observation that may price an offer, as quoted but for tax at a known rate."""

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
    """True if a list states it, and not a person."""
    zone: str = ""
    """Zone where a spot price is lowest."""
    is_missing: bool = False
    """True if its list does not contain it any more, or its quote has expired."""
    is_tax_unknown: bool = False
    """True if it includes tax at a rate that is not known, or may include some."""
    is_gross: bool = False
    """True if it includes tax, at whatever rate."""
    included_json: str = "{}"
    minimum_months: int | None = None
    """As its seller states them."""
    is_questioned: bool = False
    """True if its list states another one, which waits for a review."""

    @classmethod
    def of(
        cls,
        offer_id: UUID,
        observation_id: UUID,
        observed_at: dt.datetime,
        quote: Quote,
        kind: QuoteKind,
    ) -> "PriceChoice":
        """The price that is put together of these."""
        return cls(
            offer_id=offer_id,
            observation_id=observation_id,
            observed_at=observed_at,
            **quote._asdict(),
            **kind._asdict(),
        )

    @property
    def price_term(self) -> str:
        """How it is bought, as a ranking asks for it."""
        term = self.charge.term
        return f"{self.purchase_model}_{term}" if term else self.purchase_model

    @property
    def is_purchase(self) -> bool:
        """Paid once for no stated term, so that no hours divide it."""
        return self.charge.unit == ONCE and self.charge.term not in TERM_HOURS

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
        """Things included beside the machine, such as traffic_bytes."""
        # Read when it is needed: of thousands of rows nearly all say nothing, and few are chosen.
        stated: dict[str, Any] = (
            {} if self.included_json == "{}" else json.loads(self.included_json)
        )
        return stated

    def price_basis(self, *, is_sustained: bool) -> str:
        """Parts in the amount where automatic discounts count, or do not."""
        return SUSTAINED_USE if is_sustained and self.charge.sustained_use else self.basis


def choose_prices(choices: Iterable[PriceChoice], basis: PriceBasis) -> dict[UUID, PriceChoice]:
    """The preferred one of each offer's newest observations; see best_prices."""
    offers: dict[UUID, list[PriceChoice]] = {}
    for choice in choices:
        if choice.basis in basis.allowed:
            offers.setdefault(choice.offer_id, []).append(choice)
    return {offer_id: best_choice(of, basis) for offer_id, of in offers.items()}


def best_choice(of: list[PriceChoice], basis: PriceBasis) -> PriceChoice:
    """The preferred one of the newest observations of one offer, of which there is any."""
    if len(of) == 1:
        return of[0]
    # Who stated a price by hand since means that one, in whatever currency.
    kept = (choice for choice in of if not _is_overruled(choice, of))
    first, *others = sorted(kept, key=lambda choice: preference(choice, basis))
    return next((choice for choice in others if _is_cheaper_month(choice, first, basis)), first)


def _is_cheaper_month(monthly: PriceChoice, hourly: PriceChoice, basis: PriceBasis) -> bool:
    """True if a reader who asks for a month pays less for a plan of one than for its hours."""
    return (
        basis.period != "hour"
        and hourly.purchase_model == PurchaseModel.ON_DEMAND
        and monthly.purchase_model == PurchaseModel.MONTHLY
        and monthly.commitment_months == 1
        # What can no longer be bought makes nothing cheaper.
        and not monthly.is_missing
        # Without a rate of exchange or of tax, two amounts cannot be compared.
        and (monthly.currency, monthly.is_tax_unknown) == (hourly.currency, hourly.is_tax_unknown)
        and basis.monthly_cost(monthly.charge) < basis.monthly_cost(hourly.charge)
    )


def _is_overruled(choice: PriceChoice, others: Iterable[PriceChoice]) -> bool:
    """True if a person has stated the price in another currency since."""
    return any(
        not other.is_listed
        and other.observed_at > choice.observed_at
        and kind_of(other) == kind_of(choice)
        for other in others
    )


def kind_of(choice: PriceChoice) -> tuple[str, ...]:
    """Kind of a price, whatever its currency."""
    return (
        choice.purchase_model,
        choice.zone,
        choice.charge.term,
        choice.upfront,
        choice.basis,
        choice.plan,
    )


def preference(choice: PriceChoice, basis: PriceBasis) -> tuple[object, ...]:
    """Sort key of a choice, the preferred one first."""
    return (
        *preference_terms(choice, basis),
        price_over(choice.charge, "hour", SIDE_BY_SIDE) or choice.charge.amount,
        -choice.observed_at.timestamp(),
        # What tells two prices apart that are alike otherwise: the choice never depends on
        # the order of the rows.
        *kind_of(choice),
    )


def preference_terms(choice: PriceChoice, basis: PriceBasis) -> tuple[object, ...]:
    """Parts of the sort key before the amount: nothing of them depends on it."""
    return (
        # By position in TERMS: the reader's own way to buy before its stand-in.
        basis.purchase_models.index(choice.purchase_model),
        choice.is_missing,
        basis.is_sustained and choice.price_basis(is_sustained=True) != SUSTAINED_USE,
        # Money paid before is a condition that the reader has not accepted.
        choice.upfront not in {"", "none"},
        # Before the amount: the lowest of an old price is no price of today.
        -choice.observed_on.toordinal(),
        choice.currency != basis.currency,
        choice.currency,
    )
