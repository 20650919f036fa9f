"""What an offer costs under a query: the machine, the extras in the basis, and the reader's tax."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from backend.catalog.models import Offer
from backend.catalog.selectors.extras import Tariffs, tariffs_of
from backend.catalog.selectors.price_choice import PriceChoice
from backend.domain.errors import UnknownRate
from backend.domain.money import RateTable
from backend.domain.pricing.effective import TERM_HOURS, price_over
from backend.domain.pricing.extras import (
    DISK,
    EGRESS,
    PRICE_MISSING,
    Extra,
    ExtraAmounts,
    extras_of_month,
    included_of,
)
from backend.domain.pricing.periods import price_per_period
from backend.domain.pricing.purchase import PurchaseModel
from backend.domain.units import EXACT
from backend.rankings.selectors.query import RankingQuery

# Lists of providers change about monthly; a price not read for longer may have changed.
STALE_AFTER = dt.timedelta(days=30)
ONCE = "once"
NOTHING = ExtraAmounts()
# Flag of a price that includes tax at an unknown rate, or may include some.
TAX_UNKNOWN = "tax_unknown"

# Flag of a spot price: the provider may take the machine back.
INTERRUPTIBLE = "interruptible"


@dataclass(frozen=True)
class Context:
    """What all rows of a list share; `today` judges the age of prices and exchange rates."""

    query: RankingQuery
    rates: RateTable
    today: dt.date
    tariffs: Tariffs = field(default_factory=dict)
    """Of extras; read only when the basis holds one."""
    is_tax_ranked: bool = True
    """Whether prices of unknown tax take a rank: not beside net ones, unless the reader says so."""


@dataclass(frozen=True, slots=True)
class Priced:
    """What a price comes to under a query; None is not known."""

    price: Decimal | None
    usd_hour: Decimal | None
    per_hour: Decimal | None
    """In the reader's currency; None for what is paid once."""
    missing: str
    """Names of what is not known, with spaces between them."""
    is_purchase: bool
    """Paid once for no stated term."""
    rate: Decimal | None = None
    """To the reader's currency."""
    rate_day: dt.date | None = None


NOT_PRICED = Priced(None, None, None, "price", is_purchase=False)


def priced(choice: PriceChoice, extras: Sequence[Extra], shared: Context) -> Priced:
    """The amounts alone; `extras` are those of the offer (extras_of)."""
    query = shared.query
    # What is paid once for no stated term has no hours to be divided by.
    # A term tells over which hours an amount paid once is spread.
    is_purchase = choice.charge.unit == ONCE and choice.charge.term not in TERM_HOURS
    # An unknown extra makes the whole unknown: left out it would be free.
    missing = _missing(extras, is_purchase=is_purchase)
    hourly = {} if is_purchase or missing else _hourly(choice, extras, shared)
    usd_hour, per_hour = hourly.get("USD"), hourly.get(query.currency)
    try:
        rate, day = shared.rates.rate(choice.currency, query.currency)
    # The price is known and only not in this currency: the row says which of both is missing.
    except UnknownRate:
        words = " ".join(("price", "fx_rate", *missing))
        return Priced(None, usd_hour, None, words, is_purchase)
    if missing:
        return Priced(None, usd_hour, None, " ".join(missing), is_purchase, rate, day)
    is_hourly = query.period == "hour" and not is_purchase
    price = per_hour if is_hourly else _amount(choice, extras, shared, query.currency, query.period)
    words = "" if price is not None else "price fx_rate"
    return Priced(price, usd_hour, per_hour, words, is_purchase, rate, day)


def price_cells(
    offer: Offer, choice: PriceChoice | None, shared: Context
) -> tuple[dict[str, Any], Decimal | None]:
    """The cells that state the price of an offer with what the basis adds to the machine, and its
    price for an hour; None, and named under `missing`, where it is not known."""
    query = shared.query
    cells: dict[str, Any] = {
        **dict.fromkeys(("price", "price_basis", "price_usd_hour", "fx_rate", "fx_date")),
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
        return cells, None
    flags = _flags(choice, shared)
    cells["included"] = _included(offer, choice)
    extras = extras_of(offer, choice, shared)
    cells["price_basis"] = _basis_words(choice, extras, query)
    of = priced(choice, extras, shared)
    if of.is_purchase:
        cells["period"] = ONCE
    cells |= {"price": of.price, "price_usd_hour": of.usd_hour, "missing": of.missing}
    if of.rate is not None and choice.currency != query.currency:
        cells["fx_rate"], cells["fx_date"] = of.rate, of.rate_day
        # Rates of the day come on working days; a month without one is an error of the import.
        if of.rate_day is not None and shared.today - of.rate_day > STALE_AFTER:
            flags.append("stale_fx")
    cells["flags"] = " ".join(flags)
    return cells, of.per_hour


def _hourly(
    choice: PriceChoice, extras: Iterable[Extra], shared: Context
) -> dict[str, Decimal | None]:
    # The column in dollars stands beside any currency; CUP takes an hour in the reader's own.
    return {
        currency: _amount(choice, extras, shared, currency, "hour")
        for currency in {"USD", shared.query.currency}
    }


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
    if choice.purchase_model == PurchaseModel.SPOT:
        flags.append(INTERRUPTIBLE)
    return flags


def _included(offer: Offer, choice: PriceChoice) -> tuple[str, ...]:
    included = included_of(choice.included, offer.disk_bytes, choice.currency)
    # Which extras are inside decides whether two prices are of the same thing.
    has_traffic = included.is_traffic_unlimited or included.traffic_bytes
    return (*([DISK] if included.disk_bytes else []), *([EGRESS] if has_traffic else []))


def extras_of(offer: Offer, choice: PriceChoice, shared: Context) -> list[Extra]:
    """What the basis adds in a month, priced where the machine stands."""
    extra_amounts = shared.query.extra_amounts
    # Nearly all requests: no table of tariffs is read for them.
    if extra_amounts == NOTHING:
        return []
    included = included_of(choice.included, offer.disk_bytes, choice.currency)
    own = tariffs_of(shared.tariffs, offer.provider_id, offer.region_id)
    return extras_of_month(extra_amounts, included, own, shared.query.hours_per_month)


def _missing(extras: Iterable[Extra], *, is_purchase: bool) -> tuple[str, ...]:
    """Extras whose price is not known; what is paid month by month is no part of a purchase."""
    return tuple(
        PRICE_MISSING[extra.name]
        for extra in extras
        if extra.amount is None or (is_purchase and extra.amount)
    )


def _basis_words(choice: PriceChoice, extras: Iterable[Extra], query: RankingQuery) -> str:
    machine = choice.price_basis(is_sustained=query.price_basis.is_sustained)
    charge = choice.charge
    has_setup = charge.setup_amount and query.setup_months and charge.term not in TERM_HOURS
    parts = [machine, *(["setup"] if has_setup else []), *(extra.name for extra in extras)]
    # The reader's rate makes every net price a gross one.
    is_gross = choice.is_gross if choice.is_tax_unknown else query.tax_rate is not None
    return "+".join([*parts, "tax"] if is_gross else parts)


def _amount(
    choice: PriceChoice, extras: Iterable[Extra], shared: Context, currency: str, period: str
) -> Decimal | None:
    """The price in a currency and for a period; a purchase is one amount whatever the period.

    None where a rate is not known.
    """
    factor = 1 + (shared.query.tax_rate or Decimal(0))
    try:
        price = _machine(choice, shared, currency, period)
        month = month_of_extras(extras, shared.rates, currency)
    except UnknownRate:
        return None
    # A price of unknown tax may hold it already: adding the reader's rate could count it twice.
    if not choice.is_tax_unknown:
        price = _times(price, factor)
    if month == 0:
        return price
    added = price_per_period(month, "month", period, shared.query.hours_per_month)
    return EXACT.add(price, _times(added, factor))


def _times(amount: Decimal, factor: Decimal) -> Decimal:
    # As quoted, to the last digit, where there is nothing to multiply by.
    return amount if factor == 1 else EXACT.multiply(amount, factor)


def _machine(choice: PriceChoice, shared: Context, currency: str, period: str) -> Decimal:
    """Raises UnknownRate."""
    charge, (rate, _) = choice.charge, shared.rates.rate(choice.currency, currency)
    # The whole charge and not its result: setup, cap and upfront part are amounts too.
    if choice.currency != currency:
        charge = charge.times(rate)
    query = shared.query
    price = price_over(
        charge,
        period,
        query.hours_per_month,
        hours_run=query.hours_run,
        setup_months=query.setup_months,
        is_sustained=query.price_basis.is_sustained,
    )
    # A purchase has no period to be divided by.
    return charge.amount if price is None else price


def month_of_extras(extras: Iterable[Extra], rates: RateTable, currency: str) -> Decimal:
    """What extras of known amounts add up to. Raises UnknownRate."""
    total = Decimal(0)
    for extra in extras:
        if extra.amount:
            rate, _ = rates.rate(extra.currency or currency, currency)
            total = EXACT.add(total, _times(extra.amount, rate))
    return total
