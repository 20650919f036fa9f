"""Rows of Spare Cores' public database (sc-crawler 0.3 to 0.10) in our words; knows no SQLite.

Its enumerations are stored by name (ONDEMAND), in other copies by value (ondemand); its times are
UTC without saying so; its figures are floats, of which the shortest decimal is what was stated.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from backend.foundation.errors import InvalidValue
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB, exact_decimal
from backend.measure.architectures import architecture
from backend.money.price_lists import NoPrice, ParsedPrice, ParsedType, SkipReason, answers
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.money.pricing.quoted import amount_fault

Row = dict[str, Any]

SITE = "https://sparecores.com"
# Their name of a vendor → ours, where they differ.
PROVIDERS: Mapping[str, str] = MappingProxyType({"hcloud": "hetzner"})
ORDERED = frozenset({"active", "planned_for_retirement", ""})
DATACENTER = re.compile(r"-dc[0-9]+$")
MIB = 2**20
MOST_WORD, MOST_ZONE, MOST_SYSTEM, MOST_NAME = 20, 50, 20, 150
PURCHASES = MappingProxyType({"ondemand": PurchaseModel.ON_DEMAND, "spot": PurchaseModel.SPOT})
UNITS = MappingProxyType({"hour": PriceUnit.HOUR, "month": PriceUnit.MONTH, "year": PriceUnit.YEAR})
# Where the first tier begins, and what the last of two costs.
CAPPED = (Decimal(0), Decimal(0))
NEXT_HOUR, ROUNDED = Decimal(1), Decimal("0.0001")


def word(value: object) -> str:
    """The name or value of one of their enumerations in small letters; "" where there is none."""
    return str(value).strip().lower().replace(" ", "_") if isinstance(value, str) else ""


def is_ordered(status: object) -> bool:
    """True if a row still holds: it is active, or will be until its retirement."""
    return word(status) in ORDERED


def moment(value: object) -> dt.datetime | None:
    """A time as they write it, UTC where it does not say; None for one that is none."""
    try:
        moment_utc = dt.datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (
        moment_utc.replace(tzinfo=dt.UTC)
        if moment_utc.tzinfo is None
        else moment_utc.astimezone(dt.UTC)
    )


def provider(vendor_id: str) -> str:
    """Our slug of a vendor."""
    return PROVIDERS.get(vendor_id, vendor_id)


def text(row: Row, *names: str) -> str:
    """The first of the columns that holds a text or number, printable; "" where none does."""
    return next(filter(None, (answers.word(row, name) for name in names)), "")


def region_code(row: Row) -> str:
    """A region as the provider calls it, and as our price lists do."""
    code = text(row, "api_reference", "name", "region_id")
    # Hetzner's lists name the place, theirs the data centre in it.
    return DATACENTER.sub("", code) if row["vendor_id"] == "hcloud" else code


# --- servers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A machine type, not yet in a region; `traffic_bytes` to the internet a month are free."""

    machine: ParsedType
    traffic_bytes: int | None
    page: str
    """Where Spare Cores shows it."""


def server(row: Row) -> ListedServer | None:
    """None for one without a name."""
    vendor, name = text(row, "vendor_id"), text(row, "api_reference", "name", "server_id")
    if not name or len(name) > MOST_NAME:
        return None
    cpu = " ".join(dict.fromkeys(filter(None, (text(row, f"cpu_{part}") for part in CPU_WORDS))))
    machine = ParsedType(
        provider=provider(vendor),
        region="",
        name=name,
        arch=architecture(word(row["cpu_architecture"])),
        cpu_model=cpu,
        vcpu_count=_above_zero(row["vcpus"]),
        vcpu_kind=_one_of(row["cpu_allocation"], ("dedicated", "shared", "burstable")),
        memory_bytes=_bytes(row["memory_amount"], MIB),
        disk_bytes=_bytes(row["storage_size"], BYTES_PER_GB),
        disk_kind=word(row["storage_type"]).replace("_", " ")[:MOST_WORD],
    )
    # What Hetzner includes is stated in units of 2^30 bytes under the name of gigabytes.
    unit = BYTES_PER_GIB if vendor == "hcloud" else BYTES_PER_GB
    return ListedServer(
        machine, _bytes(row["outbound_traffic"], unit), f"{SITE}/server/{vendor}/{name}"
    )


CPU_WORDS = ("manufacturer", "family", "model")


def _above_zero(value: object) -> Decimal | None:
    return answers.above_zero(_exact(value))


def _bytes(value: object, unit_bytes: int) -> int | None:
    """None for zero, too: they write it where they know of none."""
    return answers.size(_exact(value), unit_bytes)


def _exact(value: object) -> object:
    """A float as the decimal it stands for; one that is not finite as nothing."""
    if not isinstance(value, float):
        return value
    try:
        return exact_decimal(value)
    except InvalidValue:
        return None


def _one_of(value: object, known: tuple[str, ...]) -> str:
    name = word(value)
    return name if name in known else ""


# --- prices ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """A price and the time at which they saw it last."""

    price: ParsedPrice
    observed_at: dt.datetime


def quote(row: Row, of: ListedServer, region: str, source: str) -> ListedPrice:
    """The price of one zone. Raises NoPrice."""
    allocation = word(row["allocation"])
    if allocation not in PURCHASES:
        raise NoPrice(SkipReason.OTHER_TERMS, allocation)
    if word(row["unit"]) not in UNITS:
        raise NoPrice(SkipReason.OTHER_UNIT, row["unit"])
    unit, purchase = UNITS[word(row["unit"])], PURCHASES[allocation]
    observed_at = moment(row["observed_at"])
    if observed_at is None:
        raise NoPrice(SkipReason.UNEXPECTED_SHAPE, row["observed_at"])
    amount = _round_price(answers.amount(_exact(row["price"])))
    is_monthly = unit is not PriceUnit.HOUR and purchase is PurchaseModel.ON_DEMAND
    price = ParsedPrice(
        provider=of.machine.provider,
        offer=of.machine.name,
        region=region,
        zone=text(row, "zone_id")[:MOST_ZONE],
        operating_system=(word(row["operating_system"]) or "linux")[:MOST_SYSTEM],
        purchase_model=PurchaseModel.MONTHLY if is_monthly else purchase,
        amount=amount,
        currency=answers.currency(row["currency"]),
        unit=unit,
        setup_amount=answers.above_zero(_exact(row["price_upfront"])),
        monthly_cap=_cap(row["price_tiered"], amount),
        included={} if of.traffic_bytes is None else {"traffic_bytes": of.traffic_bytes},
        source=source,
        raw_id="",
    )
    return ListedPrice(price, observed_at)


def _round_price(amount: Decimal) -> Decimal:
    if amount_fault(amount):
        raise NoPrice(SkipReason.TOO_PRECISE, amount)
    return amount


def _cap(tiers: object, amount: Decimal) -> Decimal | None:
    """The most that a month costs, where the hours behind so many are free.

    Raises NoPrice for other tiers: the price beside them is then only the dearest.
    """
    steps = _tiers(tiers)
    if not steps:
        return None
    (lower, upper, price), (behind, _, rest) = steps[0], steps[-1]
    is_capped = (
        len(steps) == len(CAPPED)
        and (lower, rest) == CAPPED
        and price is not None
        # They round the price to four decimals, and not its tiers.
        and abs(price - amount) <= ROUNDED
        and upper is not None
        and behind in {upper, upper + NEXT_HOUR}
    )
    if not is_capped or price is None or upper is None:
        raise NoPrice(SkipReason.TIERED, answers.shown(tiers))
    return upper * price


def _tiers(tiers: object) -> list[tuple[Decimal | None, ...]]:
    """(from, to, price) of each tier, hours and money; what is no number is None."""
    try:
        steps = answers.decoder().decode(str(tiers or "[]")) or []
        names = ("lower", "upper", "price")
        return [tuple(answers.number(tier.get(name)) for name in names) for tier in steps]
    except (AttributeError, TypeError, ValueError) as error:
        raise NoPrice(SkipReason.TIERED, answers.shown(tiers)) from error


def settle_quotes(quotes: Iterable[ListedPrice]) -> list[ListedPrice]:
    """A quote for each way to buy a type in a region, where its zones agree.

    Where they do not, a spot price stays one of its zone. An on-demand price is asked for by
    region: it is the lowest of the zones, and says so.
    """
    alike: dict[object, list[ListedPrice]] = {}
    for price in quotes:
        alike.setdefault(replace(price.price, zone="").key, []).append(price)
    return [quote for zones in alike.values() for quote in _settle_zone(zones)]


def _settle_zone(zones: list[ListedPrice]) -> list[ListedPrice]:
    # Of one zone, or of what was several data centres of one place, the newest counts.
    newest = {
        quote.price.zone: quote for quote in sorted(zones, key=lambda quote: quote.observed_at)
    }
    listed = list(newest.values())
    if len({listing.price.terms for listing in listed}) == 1:
        last = max(listed, key=lambda quote: quote.observed_at)
        return [replace(last, price=replace(last.price, zone=""))]
    if listed[0].price.purchase_model is PurchaseModel.SPOT:
        return listed
    least = min(listed, key=lambda quote: (quote.price.amount, quote.price.zone))
    note = f"lowest of {len(listed)} zones: {least.price.zone}"
    return [replace(least, price=replace(least.price, zone="", note=note))]
