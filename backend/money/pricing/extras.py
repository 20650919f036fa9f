"""Extras beside a machine: disk, public addresses and traffic, as amounts of one month."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from backend.foundation.errors import InvalidValue
from backend.foundation.units import BYTES_PER_GB, EXACT
from backend.money.pricing.billing.traffic import cost_under_tiers
from backend.money.pricing.quoted import amount_fault

DISK, IP, EGRESS = "disk", "ip", "egress"
EXTRAS = (DISK, IP, EGRESS)
# The missing input that a row names, by extra.
PRICE_MISSING: Mapping[str, str] = MappingProxyType(
    {DISK: "disk_price", IP: "ipv4_price", EGRESS: "egress_price"}
)
GB_PER_TB = Decimal(1000)
MOST_TIERS = 20
# In what a price says of itself: the seller has a cheaper price for whole months, which is not known.
LACKS_MONTH_PRICE = "lacks_month_price"

Tiers = tuple[tuple[Decimal | None, Decimal], ...]


@dataclass(frozen=True, slots=True)
class ExtraAmounts:
    """Requested amounts of one month, None = not asked for: GB of disk in all, public IPv4
    addresses, GB of traffic to the internet in all."""

    disk_gb: Decimal | None = None
    ipv4_count: int | None = None
    egress_gb: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Tariff:
    """Net amounts of one currency; the tiers are those of `cost_under_tiers`.

    Amounts are for each GB of a month (disk, egress), or for an hour of one address; a tier of
    addresses ends at so many hours of each address, which is how a cap of the month is told.
    """

    tiers: Tiers
    currency: str


@dataclass(frozen=True, slots=True)
class Included:
    """Extras in the machine's price; None = not known, which counts as nothing."""

    disk_bytes: int | None = None
    ipv4_count: int = 0
    traffic_bytes: int | None = None
    is_traffic_unlimited: bool = False
    egress: Tariff | None = None
    """The price's own terms of traffic beyond; they win over the provider's list."""


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of a month. `amount` is None where its price is not known, zero where nothing
    needs to be bought; then there is no currency either."""

    name: str
    amount: Decimal | None
    currency: str | None = None


def inclusions_of(stated: Mapping[str, Any], disk_bytes: int | None, currency: str) -> Included:
    """Extras that a price includes by its field `included`, with the disk of the machine."""
    traffic, per_tb = (
        _whole(stated.get("traffic_bytes")),
        _amount(stated.get("traffic_price_per_tb")),
    )
    tiers = None if per_tb is None else ((None, EXACT.divide(per_tb, GB_PER_TB)),)
    return Included(
        disk_bytes=disk_bytes,
        ipv4_count=_whole(stated.get("ipv4_count")) or 0,
        traffic_bytes=traffic,
        is_traffic_unlimited=stated.get("is_traffic_unlimited") is True,
        egress=None if tiers is None else Tariff(tiers, currency),
    )


def _whole(value: object) -> int | None:
    return int(str(value)) if str(value).isdecimal() else None


def _amount(value: object) -> Decimal | None:
    # Stored as JSON, where a Decimal is a string.
    return None if value is None else Decimal(str(value))


def extras_of_month(
    amounts: ExtraAmounts,
    included: Included,
    tariffs: Mapping[str, Tariff],
    hours_per_month: Decimal,
) -> list[Extra]:
    """Monthly cost of each requested extra, in the order of EXTRAS; tariffs by name of extra.

    What the machine includes is taken off first, the tiers hold for the rest.
    """
    extras = []
    if amounts.disk_gb is not None:
        rest = _rest(amounts.disk_gb, included.disk_bytes)
        extras.append(_extra_cost(DISK, rest, tariffs.get(DISK)))
    if amounts.ipv4_count is not None:
        bought_count = max(0, amounts.ipv4_count - included.ipv4_count)
        hours = hours_per_month if bought_count else Decimal(0)
        # Tiers count the hours of one address, so the price is that of one, times their number.
        address = _extra_cost(IP, hours, tariffs.get(IP))
        if address.amount is not None:
            total = EXACT.multiply(address.amount, Decimal(bought_count))
            address = Extra(IP, total, address.currency)
        extras.append(address)
    if amounts.egress_gb is not None:
        rest = _rest(amounts.egress_gb, included.traffic_bytes)
        if included.is_traffic_unlimited:
            rest = Decimal(0)
        extras.append(_extra_cost(EGRESS, rest, included.egress or tariffs.get(EGRESS)))
    return extras


def _rest(whole_gb: Decimal, included_bytes: int | None) -> Decimal:
    included_gb = EXACT.divide(Decimal(included_bytes or 0), Decimal(BYTES_PER_GB))
    return max(Decimal(0), EXACT.subtract(whole_gb, included_gb))


def _extra_cost(name: str, volume: Decimal, tariff: Tariff | None) -> Extra:
    if volume == 0:
        return Extra(name, Decimal(0))
    if tariff is None:
        return Extra(name, None)
    return Extra(name, cost_under_tiers(volume, tariff.tiers), tariff.currency)


def cap_hourly(amount: Decimal, most: Decimal | None) -> Tiers:
    """An hourly amount with a cap of the month, for one address. Raises InvalidValue for a cap
    below zero."""
    if most is None:
        return ((None, amount),)
    if most < 0:
        raise InvalidValue("monthly_cap", f"{most} is below zero")
    return ((EXACT.divide(most, amount), amount), (None, Decimal(0)))


def tiers_checked(tiers: Sequence[tuple[Decimal | None, Decimal]]) -> Tiers:
    """The tiers as they are stored. Raises InvalidValue unless their bounds ascend from above zero
    to a last one of None, and every amount fits its column; a tier may be free."""
    if not 1 <= len(tiers) <= MOST_TIERS:
        raise InvalidValue("tiers", f"{len(tiers)} tiers are not from 1 to {MOST_TIERS}")
    for _, amount in tiers:
        if fault := amount_fault(amount, is_zero_allowed=True):
            raise InvalidValue("amount", f"{amount}: {fault}")
    # For its checks alone: the bounds have to ascend.
    cost_under_tiers(Decimal(0), tiers)
    return tuple(tiers)


def tiers_document(tiers: Tiers) -> list[list[str | None]]:
    """Tiers as JSON: [[up_to, amount], …] with decimal strings, the last up_to null."""
    return [
        [None if bound is None else format(bound, "f"), format(amount, "f")]
        for bound, amount in tiers
    ]


def tiers_of(document: Sequence[Sequence[str | None]]) -> Tiers:
    """The tiers that a document made by `tiers_document` holds."""
    return tuple(
        (None if bound is None else Decimal(bound), Decimal(str(amount)))
        for bound, amount in document
    )
