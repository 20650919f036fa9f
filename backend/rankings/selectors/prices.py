"""Cost of an offer under a query: the machine, the extras in the basis, and the reader's tax."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np

from backend.catalog.models import Offer
from backend.catalog.selectors.extras import Tariffs, tariffs_of
from backend.catalog.selectors.price_choice import PriceChoice
from backend.foundation.errors import UnknownRate
from backend.foundation.units import EXACT, round_derived
from backend.money.amounts import Flags, Floats
from backend.money.money import RateTable
from backend.money.pricing.discounts import Discount, DiscountService, apply_discount, discount_of
from backend.money.pricing.effective import TERM_HOURS
from backend.money.pricing.extras import (
    DISK,
    EGRESS,
    IP,
    LACKS_MONTH_PRICE,
    PRICE_MISSING,
    Extra,
    ExtraAmounts,
    extras_of_month,
    inclusions_of,
)
from backend.money.pricing.price_columns import ChargeColumns, spans
from backend.money.pricing.purchase import PurchaseModel
from backend.rankings.calc.credit_columns import FloatOrArray, surplus_per_hour
from backend.rankings.selectors.query import CONTRACT, RankingQuery

# Lists of providers change about monthly; a price not read for longer may have changed.
STALE_AFTER = dt.timedelta(days=30)
ONCE = "once"
NOTHING = ExtraAmounts()
# Of a contract; addresses have no service of their own.
SERVICES = {DISK: DiscountService.STORAGE, EGRESS: DiscountService.EGRESS}
# Flag of a price that includes tax at an unknown rate, or may include some.
TAX_UNKNOWN = "tax_unknown"

# Flag of a spot price: the provider may take the machine back.
INTERRUPTIBLE = "interruptible"


@dataclass(frozen=True)
class Context:
    """Shared inputs of a list's rows; `today` judges the age of prices and exchange rates."""

    query: RankingQuery
    rates: RateTable
    today: dt.date
    tariffs: Tariffs = field(default_factory=dict)
    """Tariffs of extras; read only when the basis holds one."""
    is_tax_ranked: bool = True
    """True if prices of unknown tax take a rank: not beside net ones, unless the reader says so."""


def price_cells(
    offer: Offer, choice: PriceChoice | None, shared: Context, price: Decimal | None
) -> dict[str, Any]:
    """The cells that state the price of an offer with what the basis adds to the machine; what of it
    is not known is named under `missing`."""
    query = shared.query
    cells: dict[str, Any] = {
        **dict.fromkeys(("price_basis", "fx_rate", "fx_date")),
        "price": price,
        "period": query.period,
        "price_term": choice and choice.price_term,
        "price_observed_on": choice and choice.observed_on,
        "price_zone": (choice and choice.zone) or None,
        "commitment_months": choice and choice.commitment_months,
        "price_id": choice and choice.observation_id,
        "included": (),
        "flags": "",
        "missing": "price",
    }
    # Listed all the same, so that somebody can see what lacks a price.
    if choice is None:
        return cells
    flags = _flags(choice, shared)
    cells["included"] = _inclusions(offer, choice)
    extras = extras_of(offer, choice, shared)
    cells["price_basis"] = _basis_words(
        choice, extras, query, has_contract=contract_ratio(offer, choice, shared) < 1
    )
    if choice.is_purchase:
        cells["period"] = ONCE
    missing = missing_extras(extras, is_purchase=choice.is_purchase)
    try:
        rate, day = shared.rates.rate(choice.currency, query.currency)
    # The price is known and only not in this currency: the row says which of both is missing.
    except UnknownRate:
        missing = ("price", "fx_rate", *missing)
    else:
        if price is None and not missing:
            missing = ("price", "fx_rate")
        if choice.currency != query.currency:
            cells["fx_rate"], cells["fx_date"] = rate, day
            # Rates of the day come on working days; a month without one is an error of the import.
            if day is not None and shared.today - day > STALE_AFTER:
                flags.append("stale_fx")
    cells["missing"] = " ".join(missing)
    cells["flags"] = " ".join(flags)
    return cells


def total_price(
    offer: Offer, choice: PriceChoice, shared: Context, *, has_surplus: bool = False
) -> Decimal | None:
    """The price of one offer as the ranking states it, on request with the charge for running on
    without CPU credits; None where a part of it is not known."""
    query = shared.query
    extras = extras_of(offer, choice, shared)
    if missing_extras(extras, is_purchase=choice.is_purchase):
        return None
    try:
        rate, _ = shared.rates.rate(choice.currency, query.currency)
        month = month_of_extras(extras, shared.rates, query.currency)
    except UnknownRate:
        return None
    charges = ChargeColumns.of([choice.charge])
    machine = machine_prices(
        charges, np.array([float(rate)]), np.array([choice.is_tax_unknown]), query
    )
    total = float(machine[0])
    if has_surplus:
        dollars, _ = shared.rates.rate("USD", query.currency)
        total += float(surplus_price(_surplus_per_hour(offer) * float(dollars), query))
    total *= contract_ratio(offer, choice, shared)
    return round_derived(total + extras_price(month, query))


def contract_ratio(offer: Offer, choice: PriceChoice, shared: Context) -> float:
    """Share of a machine's price that is left after the workspace's contract; 1 without one."""
    discount = _agreement(offer, DiscountService.COMPUTE, choice.purchase_model, shared)
    return float(apply_discount(Decimal(1), discount))


def _agreement(offer: Offer, service: str, purchase_model: str, shared: Context) -> Discount | None:
    return discount_of(
        shared.query.discounts,
        provider=offer.provider.slug,
        service=service,
        purchase_model=purchase_model,
        day=shared.today,
    )


def _surplus_per_hour(offer: Offer) -> float:
    figures = (offer.vcpu_count, offer.cpu_baseline_ratio, offer.cpu_credit_price_usd_per_vcpu_hour)
    return float(surplus_per_hour(*(float(figure or 0) for figure in figures)))


def machine_prices(
    charges: ChargeColumns, rates: Floats, is_tax_unknown: Flags, query: RankingQuery
) -> Floats:
    """The prices of machines for the query's period, with the reader's tax; `rates` are units of the
    reader's currency for one of each charge's."""
    price = charges.over(
        query.period,
        query.hours_per_month,
        hours_run=query.hours_run,
        setup_months=query.setup_months,
        is_sustained=query.price_basis.is_sustained,
    )
    # A price of unknown tax may hold it already: adding the reader's rate could count it twice.
    return price * rates * np.where(is_tax_unknown, 1.0, _tax_factor(query))


def extras_price(month: Decimal, query: RankingQuery) -> float:
    """A month's extras for the query's period, with the reader's tax."""
    hours = spans(float(query.hours_per_month))
    return float(month) * _tax_factor(query) * hours[query.period] / hours["month"]


def surplus_price(per_hour: FloatOrArray, query: RankingQuery) -> FloatOrArray:
    """Charges for running on without CPU credits in the query's period, with the reader's tax."""
    return per_hour * running_hours(query) * _tax_factor(query)


def _tax_factor(query: RankingQuery) -> float:
    return float(1 + (query.tax_rate or Decimal(0)))


def running_hours(query: RankingQuery) -> float:
    """The hours that a machine runs in the query's period."""
    run = query.hours_run or query.hours_per_month
    return spans(float(run))[query.period]


def _flags(choice: PriceChoice, shared: Context) -> list[str]:
    flags = []
    # A price that its list has dropped is stale, however newly the list was read.
    # Shown and ranked still, as stale beats nothing, and flagged.
    if choice.is_missing or shared.today - choice.observed_on > STALE_AFTER:
        flags.append("stale_price")
    if choice.is_questioned:
        flags.append("price_waiting")
    if choice.is_tax_unknown:
        flags.append(TAX_UNKNOWN)
    if shared.query.period != "hour" and choice.included.get(LACKS_MONTH_PRICE):
        flags.append(LACKS_MONTH_PRICE)
    if choice.purchase_model == PurchaseModel.SPOT:
        flags.append(INTERRUPTIBLE)
    return flags


def _inclusions(offer: Offer, choice: PriceChoice) -> tuple[str, ...]:
    included = inclusions_of(choice.included, offer.disk_bytes, choice.currency)
    # Which extras are inside decides whether two prices are of the same thing.
    has_address = [IP] if included.ipv4_count else []
    has_traffic = included.is_traffic_unlimited or included.traffic_bytes
    has_disk = [DISK] if included.disk_bytes else []
    return (*has_disk, *has_address, *([EGRESS] if has_traffic else []))


def extras_of(offer: Offer, choice: PriceChoice, shared: Context) -> list[Extra]:
    """Monthly extras of the basis, priced where the machine stands."""
    extra_amounts = shared.query.extra_amounts
    # Nearly all requests: no table of tariffs is read for them.
    if extra_amounts == NOTHING:
        return []
    included = inclusions_of(choice.included, offer.disk_bytes, choice.currency)
    own = tariffs_of(shared.tariffs, offer.provider_id, offer.region_id)
    extras = extras_of_month(extra_amounts, included, own, shared.query.hours_per_month)
    return [_after_contract(extra, offer, shared) for extra in extras]


def _after_contract(extra: Extra, offer: Offer, shared: Context) -> Extra:
    service = SERVICES.get(extra.name, DiscountService.ALL)
    discount = _agreement(offer, service, PurchaseModel.ON_DEMAND, shared)
    if discount is None or extra.amount is None:
        return extra
    return replace(extra, amount=apply_discount(extra.amount, discount))


def missing_extras(extras: Iterable[Extra], *, is_purchase: bool) -> tuple[str, ...]:
    """Extras whose price is not known; what is paid month by month is no part of a purchase."""
    return tuple(
        PRICE_MISSING[extra.name]
        for extra in extras
        if extra.amount is None or (is_purchase and extra.amount)
    )


def _basis_words(
    choice: PriceChoice, extras: Iterable[Extra], query: RankingQuery, *, has_contract: bool
) -> str:
    machine = choice.price_basis(is_sustained=query.price_basis.is_sustained)
    charge = choice.charge
    has_setup = charge.setup_amount and query.setup_months and charge.term not in TERM_HOURS
    parts = [
        machine,
        *([CONTRACT] if has_contract else []),
        *(["setup"] if has_setup else []),
        *(extra.name for extra in extras),
    ]
    # The reader's rate makes every net price a gross one.
    is_gross = choice.is_gross if choice.is_tax_unknown else query.tax_rate is not None
    return "+".join([*parts, "tax"] if is_gross else parts)


def month_of_extras(extras: Iterable[Extra], rates: RateTable, currency: str) -> Decimal:
    """Monthly sum of extras of known amounts. Raises UnknownRate."""
    total = Decimal(0)
    for extra in extras:
        if extra.amount:
            rate, _ = rates.rate(extra.currency or currency, currency)
            total = EXACT.add(total, EXACT.multiply(extra.amount, rate))
    return total
