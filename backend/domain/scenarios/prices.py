"""The price of a part as a document states it, for each billing rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from backend.domain.errors import InvalidDocument
from backend.domain.hardware import HOURS_PER_MONTH, monthly_cost
from backend.domain.hardware_document import hardware_from
from backend.domain.pricing.billing.lifetimes import CALENDAR, THIRTY_DAYS
from backend.domain.pricing.billing.sustained_use import N1
from backend.domain.pricing.billing.terms import Terms
from backend.domain.scenarios.model import Price
from backend.domain.scenarios.reading import Node, exact

HOUR, MONTH = "hour", "month"
MOST_MONEY = "1000000000"
OWN = ("amount", "currency", "unit", "billing")
Reads = Callable[[Node, Terms], Terms]


@dataclass(frozen=True)
class Billing:
    """A billing rule of the documents: the unit that its amount is for, and its own fields."""

    unit: str
    fields: tuple[str, ...]
    read: Reads


def price_from(node: Node) -> Price:
    """The price that a node describes; faults are kept in the node."""
    if not node.has("billing"):
        node.fault("billing", "a value is needed")
    name = node.text("billing", "per_second", tuple(BILLINGS))
    billing = BILLINGS[name]
    if name == "purchase":
        return _purchase(node)
    node.knows(*OWN, *billing.fields)
    unit = node.text("unit", billing.unit, (HOUR, MONTH))
    if unit != billing.unit:
        node.fault("unit", f"{name} needs a price for a {billing.unit}")
    terms = billing.read(node, Terms(price=node.number("amount", above="0", high=MOST_MONEY)))
    return Price(
        billing=name,
        unit=billing.unit,
        currency=_currency(node),
        terms=terms,
        interruptions_per_month=node.number("interruptions_per_month", "0")
        if name == "spot"
        else Fraction(0),
        notice=node.text("notice", "") if name == "dedicated" and node.has("notice") else "",
    )


def _currency(node: Node) -> str:
    currency = node.text("currency")
    if not (len(currency) == 3 and currency.isascii() and currency.isalpha()):
        node.fault("currency", f"{currency!r} is not a three-letter code")
    return currency.upper()


def convention(node: Node, name: str, default: str | int = CALENDAR) -> str | int:
    """`calendar`, `30d` or a number of hours."""
    value = node.values.get(name)
    if value is None:
        return default
    if value in (CALENDAR, THIRTY_DAYS):
        return str(value)
    is_hours = isinstance(value, int) and not isinstance(value, bool)
    if is_hours and 1 <= value <= 8784:
        return int(value)
    node.fault(name, f"{str(value)[:40]!r} is not calendar, 30d or a number of hours")
    return default


# --- what each rule adds ------------------------------------------------------------------------


def _seconds(node: Node, terms: Terms) -> Terms:
    return replace(terms, minimum_s=node.whole("minimum_s", 60, 0, 86_400))


def _minutes(node: Node, terms: Terms) -> Terms:
    return replace(terms, minimum_minutes=node.whole("minimum_minutes", 10, 0, 1440))


def _plain(node: Node, terms: Terms) -> Terms:
    return terms


def _capped(node: Node, terms: Terms) -> Terms:
    found = convention(node, "month_convention")
    return replace(
        terms, cap=node.number("cap", above="0", high=MOST_MONEY), month_convention=found
    )


def _monthly(node: Node, terms: Terms) -> Terms:
    return replace(terms, month_convention=convention(node, "month_convention"))


def _dedicated(node: Node, terms: Terms) -> Terms:
    return replace(
        terms,
        month_convention=convention(node, "month_convention"),
        setup=node.number("setup", "0", high=MOST_MONEY),
        minimum_months=node.whole("minimum_months", 1, 1, 120),
    )


def _reserved(node: Node, terms: Terms) -> Terms:
    return replace(
        _seconds(node, terms),
        upfront=node.number("upfront", "0", high=MOST_MONEY),
        term_months=node.whole("term_months", 12, 1, 120),
    )


def _savings(node: Node, terms: Terms) -> Terms:
    discount = node.number("discount", high="1")
    if discount == 1:
        node.fault("discount", "1 would make the use free")
        discount = Fraction(0)
    commit = node.number("commit_per_hour", high=MOST_MONEY)
    return replace(_seconds(node, terms), commit_per_hour=commit, discount=discount)


def _sustained(node: Node, terms: Terms) -> Terms:
    tiers = _tiers(node) if node.has("tiers") else N1
    found = convention(node, "month_convention")
    return replace(terms, tiers=tiers, month_convention=found)


def _tiers(node: Node) -> tuple[tuple[Fraction, Fraction], ...]:
    found: list[tuple[Fraction, Fraction]] = []
    for place, pair in enumerate(node.list("tiers", 1, 20)):
        both = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
        share, factor = exact(both[0]), exact(both[1])
        lower = found[-1][0] if found else Fraction(0)
        if share is None or factor is None or not lower < share <= 1 or factor < 0:
            node.fault(f"tiers/{place}", "[cumulative share, factor] with growing shares is needed")
            return N1
        found.append((share, factor))
    if not found or found[-1][0] != 1:
        node.fault("tiers", "the last share must be 1")
        return N1
    return tuple(found)


BILLINGS: Mapping[str, Billing] = MappingProxyType(
    {
        "per_second": Billing(HOUR, ("minimum_s",), _seconds),
        "per_minute": Billing(HOUR, ("minimum_minutes",), _minutes),
        "hour_ceil": Billing(HOUR, (), _plain),
        "hour_ceil_cap": Billing(HOUR, ("cap", "month_convention"), _capped),
        "monthly": Billing(MONTH, ("month_convention",), _monthly),
        "reserved": Billing(HOUR, ("upfront", "term_months", "minimum_s"), _reserved),
        "savings": Billing(HOUR, ("commit_per_hour", "discount", "minimum_s"), _savings),
        "sustained_use": Billing(HOUR, ("tiers", "month_convention"), _sustained),
        "spot": Billing(HOUR, ("minimum_s", "interruptions_per_month"), _seconds),
        "purchase": Billing(MONTH, ("hardware",), _plain),
        "dedicated": Billing(
            MONTH, ("setup", "minimum_months", "notice", "month_convention"), _dedicated
        ),
    }
)


def _purchase(node: Node) -> Price:
    """Own hardware: what one server of the set costs a month of 730 hours, as it is reckoned."""
    node.knows("billing", "unit", "currency", "amount", "hardware")
    if not node.has("hardware"):
        node.fault("hardware", "the document of own hardware is needed")
        return Price("purchase", MONTH, "USD", Terms(Fraction(1)))
    try:
        hardware = hardware_from(node.values["hardware"])
    except InvalidDocument as error:
        for field, detail in error.errors:
            node.fault(f"hardware{field}", detail)
        return Price("purchase", MONTH, "USD", Terms(Fraction(1)))
    cost = monthly_cost(hardware)
    terms = Terms(
        price=Fraction(cost.price_per_month),
        month_convention=int(HOURS_PER_MONTH),
        term_months=hardware.life_months,
    )
    total = Fraction(cost.capital_total) / hardware.servers
    return Price("purchase", MONTH, hardware.currency, terms, purchase_total=total)
