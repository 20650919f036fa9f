"""Options to add to a scenario: ways to pay for servers, at example prices that are to be changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from backend.foundation.documents.values import exact
from backend.foundation.texts import text as _

Document = dict[str, Any]
ON_DEMAND, COMMITTED, MONTHLY, SERVER = "0.4", "0.25", "100", "3000"


@dataclass(frozen=True)
class ReadyOption:
    """A way to pay for servers; its prices are examples."""

    key: str
    title: str
    sentence: str
    parts: tuple[Document, ...]


def hourly(amount: str = ON_DEMAND, billing: str = "per_second", *, unit: str = "hour") -> Document:
    """A price of an hour, in US dollars."""
    price = {"amount": amount, "currency": "USD", "unit": unit, "billing": billing}
    return {**price, "example": amount}


def monthly(amount: str = MONTHLY) -> Document:
    """A price of a month, in US dollars."""
    return hourly(amount, "monthly", unit="month")


def own_rack(servers: int) -> Document:
    """Servers of one's own that share a rack; space and work have the defaults of so many."""
    items = [{"name": "server", "count": servers, "unit_price": SERVER, "watts": "250"}]
    hardware = {"name": "Own server", "currency": "USD", "servers": servers, "items": items}
    return {"billing": "purchase", "hardware": hardware, "example": SERVER}


def is_example(price: Mapping[str, Any]) -> bool:
    """True while a price is still the amount that a template proposed."""
    amount = price.get("amount")
    if price.get("billing") == "purchase":
        items = (price.get("hardware") or {}).get("items") or [{}]
        amount = items[0].get("unit_price")
    proposed, stated = exact(price.get("example")), exact(amount)
    return proposed is not None and proposed == stated


def options_with_examples(document: Mapping[str, Any]) -> list[str]:
    """Names of the options of which a price is an example."""
    return [
        str(option["name"])
        for option in document["options"]
        if any(is_example(part["price"]) for part in option["parts"])
    ]


_ALL_OPTIONS = (
    ReadyOption(
        "cloud",
        _("Cloud on demand"),
        _("As many servers as are needed, billed while they run."),
        ({"role": "all", "price": hourly()},),
    ),
    ReadyOption(
        "committed",
        _("Cloud, committed"),
        _("Servers for the peak at a lower price, paid for a year whether used or not."),
        ({"role": "all", "count": "peak", "price": hourly(COMMITTED, "reserved")},),
    ),
    ReadyOption(
        "dedicated",
        _("Dedicated"),
        _("Servers for the peak, rented by the month."),
        ({"role": "all", "count": "peak", "price": monthly()},),
    ),
    ReadyOption(
        "own",
        _("Own rack"),
        _("Servers for the peak, bought: with power, space, support and work."),
        ({"role": "all", "count": "peak", "price": own_rack(20)},),
    ),
    ReadyOption(
        "mixed",
        _("Mixed"),
        _("The base rented by the month, the peaks from the cloud."),
        (
            {"role": "base", "count": "optimal", "price": monthly()},
            {"role": "burst", "price": hourly()},
        ),
    ),
)
# By key, in the order in which they are shown.
READY_OPTIONS: Mapping[str, ReadyOption] = MappingProxyType(
    {option.key: option for option in _ALL_OPTIONS}
)


def with_option(
    document: Mapping[str, Any], title: str, parts: tuple[Document, ...], currency: str
) -> dict[str, Any]:
    """The document with one option more, under a name that is its own."""
    options = list(document.get("options") or ())
    # In the language of who adds it: from here on it is a name that is stored.
    title = str(title)
    names = {str(option.get("name", "")).casefold() for option in options}
    numbered = (f"{title} {n}" for n in range(2, len(names) + 3))
    name = (
        title
        if title.casefold() not in names
        else next(each for each in numbered if each.casefold() not in names)
    )
    return {
        **document,
        "options": [*options, {"name": name, "parts": [_in(p, currency) for p in parts]}],
    }


def _in(part: Document, currency: str) -> Document:
    """The part with an example price in another currency; an offer's is converted later."""
    price = dict(part["price"])
    if "hardware" in price:
        price["hardware"] = {**price["hardware"], "currency": currency}
    elif "amount" in price:
        price["currency"] = currency
    return {**part, "price": price}
