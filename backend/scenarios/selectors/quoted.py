"""A price of the catalog as a plain price of a scenario document."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from backend.catalog.models import Offer, OfferKind
from backend.catalog.selectors.price_choice import PriceChoice
from backend.catalog.selectors.read_prices import as_quoted
from backend.foundation.errors import InvalidValue, UnknownRate
from backend.foundation.units import HOURS_PER_MONTH
from backend.money.money import RateTable
from backend.money.pricing.effective import TIERS, Charge
from backend.money.pricing.purchase import PurchaseModel

# Derived amounts stay within the 40 characters that a document takes.
DIGITS = Context(prec=28, rounding=ROUND_HALF_EVEN)
# A rate is shown to be recognised; what is calculated with keeps its digits.
SHOWN = Context(prec=6)
MONTHS = {"1y": 12, "3y": 36, "5y": 60}
# Of a server a month where nobody states it: AWS counts types by the share taken back in a month,
# the lowest class being below 5 % (sparecores.com, 2024-04-16), and nOps saw fewer than that over
# its customers (nops.io/blog/aws-spot-facts). Other providers publish none.
SPOT_INTERRUPTIONS = "0.05"
COMMITTED = frozenset({PurchaseModel.RESERVED, PurchaseModel.COMMITTED})

Assumption = dict[str, str]


@dataclass(frozen=True)
class OfferQuote:
    """An offer with the price that is quoted for it."""

    offer: Offer
    choice: PriceChoice
    hardware: Mapping[str, Any] | None = None
    """The document of own hardware that the price was calculated from."""
    source: str = ""
    """Where the price was read; only what rests on it says so."""
    listed: PriceChoice | None = None
    """The price without a commitment."""


@dataclass(frozen=True)
class Exchange:
    """The currency to convert to, the rates known, and the day of the request."""

    currency: str
    rates: RateTable
    today: dt.date

    def rate(self, quoted: str) -> tuple[Decimal, dt.date | None]:
        """Units of the target currency for one of `quoted`; InvalidValue where it is not known."""
        try:
            return self.rates.rate(quoted, self.currency)
        except UnknownRate as error:
            detail = f"no exchange rate is known for {error.currency}; the price is in {quoted}"
            raise InvalidValue("currency", detail) from None


def plain_price(quote: OfferQuote, beside: Mapping[str, Any], into: Exchange) -> dict[str, Any]:
    """The price in the target currency; `beside` holds what a person states, which wins.

    Raises InvalidValue with the field of the price.
    """
    rate, _ = into.rate(quote.choice.currency)
    # Own hardware is calculated from its document, unless another billing is stated or the document
    # is in another currency.
    own, is_converted = quote.hardware, quote.choice.currency != into.currency
    if own is not None and not is_converted and "billing" not in beside:
        return {"billing": "purchase", "hardware": dict(own), **beside}
    charge = quote.choice.charge
    converted = charge if rate == 1 else charge.times(rate)
    billing, amount, unit, fields = _bill_hourly(quote, converted, is_own=own is not None)
    chosen = beside.get("billing", billing)
    if billing == "savings" and chosen == billing:
        amount, fields = _savings(quote, charge, rate)
    if is_rate_assumed(quote, beside):
        fields = {"interruptions_per_month": SPOT_INTERRUPTIONS}
    price = {"amount": text(amount), "currency": into.currency, "unit": unit, "billing": chosen}
    return {**price, **(fields if chosen == billing else {}), **beside}


Billed = tuple[str, Decimal, str, dict[str, Any]]


def _bill_hourly(quote: OfferQuote, charge: Charge, *, is_own: bool) -> Billed:
    """Billing rule, amount, its unit, and the rule's own fields."""
    model, unit, amount = quote.choice.purchase_model, charge.unit, charge.amount
    if unit == "year":
        unit, amount = "month", DIGITS.divide(amount, Decimal(12))
    if unit == "once":
        if charge.term not in MONTHS:
            detail = "is bought, not rented: state what it costs as billing purchase"
            raise InvalidValue("offer", f"{quote.offer.slug} {detail}")
        unit, amount = "month", DIGITS.divide(amount, Decimal(MONTHS[charge.term]))
    if model in COMMITTED:
        return _bill_commitment(charge, amount, unit)
    if unit == "month":
        return _by_month(quote, charge, amount, is_own=is_own)
    return _by_hour(model, charge, amount)


def _by_hour(model: str, charge: Charge, amount: Decimal) -> Billed:
    billing: str = "per_second"
    fields: dict[str, Any] = {}
    if model in {PurchaseModel.SPOT, PurchaseModel.SAVINGS}:
        billing = model
    elif charge.monthly_cap is not None:
        billing, fields = "hour_ceil_cap", {"cap": text(charge.monthly_cap)}
    elif charge.sustained_use in TIERS:
        tiers = [[str(float(up)), str(float(f))] for up, f in TIERS[charge.sustained_use]]
        billing, fields = "sustained_use", {"tiers": tiers}
    return str(billing), amount, "hour", fields


def _bill_commitment(charge: Charge, amount: Decimal, unit: str) -> Billed:
    """Paid for the term whether used or not."""
    if unit == "month":
        amount = DIGITS.divide(amount, HOURS_PER_MONTH)
    fields: dict[str, Any] = {"term_months": MONTHS.get(charge.term, 12)}
    if charge.setup_amount:
        fields["upfront"] = text(charge.setup_amount)
    return "reserved", amount, "hour", fields


def _by_month(quote: OfferQuote, charge: Charge, amount: Decimal, *, is_own: bool) -> Billed:
    if is_own:
        return "monthly", amount, "month", {"month_convention": HOURS_PER_MONTH}
    months = quote.choice.minimum_months
    if not (charge.setup_amount or months or quote.offer.kind == OfferKind.DEDICATED):
        return "monthly", amount, "month", {}
    fields: dict[str, Any] = {"minimum_months": months or 1}
    if charge.setup_amount:
        fields["setup"] = text(charge.setup_amount)
    return "dedicated", amount, "month", fields


def _savings(quote: OfferQuote, charge: Charge, rate: Decimal) -> tuple[Decimal, dict[str, Any]]:
    """The price without a commitment, and what the plan takes off it."""
    listed = quote.listed
    if (
        listed is None
        or listed.charge.unit != charge.unit
        or listed.currency != quote.choice.currency
    ):
        detail = f"no on-demand price of {quote.offer.slug} is known that the plan is a discount on"
        raise InvalidValue("term", detail)
    discount = 1 - DIGITS.divide(charge.amount, listed.charge.amount)
    return DIGITS.multiply(listed.charge.amount, rate), {
        "discount": text(max(Decimal(0), discount))
    }


def assumption_of(quote: OfferQuote, into: Exchange) -> Assumption:
    """The price as quoted, its day and its source; the rate, where it was converted."""
    choice = quote.choice
    rate, rate_date = into.rate(choice.currency)
    age = (into.today - choice.observed_on).days
    words = [f"read on {choice.observed_on}, {age} days ago", quote.source]
    if rate_date is not None:
        shown_rate = text(SHOWN.plus(rate))
        words.append(f"converted at {shown_rate} {into.currency}/{choice.currency} of {rate_date}")
    if choice.is_missing:
        words.append("its list does not contain it any more")
    if choice.is_tax_unknown and choice.is_gross:
        words.append("includes tax at a rate that is not known")
    elif choice.is_tax_unknown:
        words.append("whether it includes tax is not known")
    return {
        "name": f"price of {quote.offer.slug} ({choice.price_term})",
        "value": text(choice.charge.amount),
        "unit": f"{choice.currency}/{choice.charge.unit}",
        "source": "; ".join(word for word in words if word),
    }


def is_rate_assumed(quote: OfferQuote, beside: Mapping[str, Any]) -> bool:
    """True if the price is a spot price beside which no number of interruptions stands."""
    is_spot = quote.choice.purchase_model == PurchaseModel.SPOT
    return is_spot and not {"interruptions_per_month", "billing"} & {*beside}


def rate_assumed(quote: OfferQuote) -> Assumption:
    """How often a spot server is taken to be taken back."""
    return {
        "name": f"interruptions of {quote.offer.slug} (spot)",
        "value": SPOT_INTERRUPTIONS,
        "unit": "per server and 730 h",
        "source": "assumed: nobody states it for this offer; on AWS most types stay below 5 % a month"
        " (sparecores.com 2024-04-16, nops.io/blog/aws-spot-facts)",
    }


def at_list_price(price: Mapping[str, Any]) -> dict[str, Any]:
    """A price under sustained use, by the second and without the discount."""
    kept = {name: value for name, value in price.items() if name != "tiers"}
    return {**kept, "billing": "per_second"}


def discount_left_out(slug: str) -> Assumption:
    """Assumption of `at_list_price`: the option may cost less than stated."""
    return {
        "name": f"discount for sustained use of {slug}",
        "value": "left out beside a commitment",
        "unit": "",
        "source": "billing per second is needed beside reservations; the bill is at most this",
    }


def text(value: Decimal) -> str:
    """A decimal string that a document takes; derived values keep 28 digits."""
    kept = value if len(value.as_tuple().digits) <= DIGITS.prec else DIGITS.plus(value)
    plain = format(as_quoted(kept), "f")
    return plain if len(plain) <= 40 else str(kept)
