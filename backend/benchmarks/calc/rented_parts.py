"""Charges beside a rented machine: its disk and public address by the hour, and what it sends in
network tests by the GB."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from backend.foundation.units import BYTES_PER_GB, EXACT, HOURS_PER_MONTH
from backend.money.pricing.billing.traffic import cost_under_tiers
from backend.money.pricing.extras import DISK, EGRESS, IP, Included, Tariff
from backend.providers.rentals import round_to_column


class LedgerKind(StrEnum):
    """Purpose of a ledger entry."""

    MACHINE = "machine"
    DISK = "disk"
    ADDRESS = "address"
    TRAFFIC = "traffic"
    SURPLUS = "surplus"
    """Machines that the provider made of a launch beside the first, until they were ended."""


@dataclass(frozen=True)
class Part:
    """A charge beside the machine. None where its price is not known."""

    kind: LedgerKind
    hourly: Decimal | None
    """Price of an hour of all of it; None also for traffic, which is not charged by the hour."""
    per_gb: Decimal | None = None
    """Price of traffic."""
    most_bytes: int = 0
    """Limit of traffic that the machine may send."""

    @property
    def is_priced(self) -> bool:
        return (self.per_gb if self.kind == LedgerKind.TRAFFIC else self.hourly) is not None


@dataclass(frozen=True)
class Sending:
    """Traffic that a machine may send in its run's network tests."""

    most_bytes: int
    is_inside: bool
    """The other machine is in the same region of the same account, where no price of traffic to the
    internet holds."""


def traffic_part(
    tariffs: Mapping[str, Tariff], included: Included, currency: str, sending: Sending
) -> Part:
    """At the dearest tier: what an account may send for less, it may have sent already. So nothing is
    taken off for what a machine's price includes of a month either, unless that has no limit."""
    tariff = included.egress or tariffs.get(EGRESS)
    per_gb = None
    if not sending.is_inside and included.is_traffic_unlimited:
        per_gb = Decimal(0)
    elif not sending.is_inside and tariff is not None and tariff.currency == currency:
        per_gb = max(price for _, price in tariff.tiers)
    return Part(LedgerKind.TRAFFIC, None, per_gb, sending.most_bytes)


def traffic_cost(parts: Sequence[Part], sent_bytes: int | None) -> Decimal:
    """Cost of so many bytes, None = of the limit; as far as it is known."""
    total = Decimal(0)
    for part in parts:
        if part.per_gb is not None:
            count = part.most_bytes if sent_bytes is None else sent_bytes
            gb = EXACT.divide(Decimal(count), Decimal(BYTES_PER_GB))
            total = EXACT.add(total, EXACT.multiply(part.per_gb, gb))
    return total


def parts_of_rental(
    tariffs: Mapping[str, Tariff], currency: str, *, disk_gib: int | None, has_address: bool
) -> tuple[Part, ...]:
    """Parts of a machine whose own price is in that currency; `disk_gib` None = it has no disk
    that is charged for. A tariff in another currency counts as not known."""
    parts = []
    if disk_gib is not None:
        # Providers write GB and charge GiB of a month (docs.aws.amazon.com/ebs/latest/userguide/
        # ebs-volume-types.html; cloud.google.com/compute/disks-image-pricing, read 2026-11-24).
        month = _amount(tariffs.get(DISK), currency, Decimal(disk_gib))
        hourly = (
            None
            if month is None
            else round_to_column(EXACT.divide(month, Decimal(HOURS_PER_MONTH)))
        )
        parts.append(Part(LedgerKind.DISK, hourly))
    if has_address:
        parts.append(Part(LedgerKind.ADDRESS, _amount(tariffs.get(IP), currency, Decimal(1))))
    return tuple(parts)


def _amount(tariff: Tariff | None, currency: str, volume: Decimal) -> Decimal | None:
    if tariff is None or tariff.currency != currency:
        return None
    return cost_under_tiers(volume, tariff.tiers)


def parts_document(parts: Sequence[Part]) -> list[dict[str, str | int | None]]:
    """As they are stored: amounts as decimal strings."""
    return [
        {
            "kind": part.kind,
            "hourly": _text(part.hourly),
            **(
                {"per_gb": _text(part.per_gb), "most_bytes": part.most_bytes}
                if part.kind == LedgerKind.TRAFFIC
                else {}
            ),
        }
        for part in parts
    ]


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


def parts_of(document: Sequence[Mapping[str, str | int | None]]) -> tuple[Part, ...]:
    """The parts that a document made by `parts_document` holds."""
    return tuple(
        Part(
            LedgerKind(str(row["kind"])),
            _decimal(row["hourly"]),
            _decimal(row.get("per_gb")),
            int(row.get("most_bytes") or 0),
        )
        for row in document
    )


def _decimal(text: str | int | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def hourly_price_of_parts(parts: Sequence[Part]) -> Decimal:
    """Hourly price of all parts together, as far as that is known."""
    return sum((part.hourly for part in parts if part.hourly is not None), Decimal(0))


def kinds_without_price(parts: Sequence[Part]) -> list[str]:
    """Kinds of the parts whose price is not known."""
    return [part.kind for part in parts if not part.is_priced]
