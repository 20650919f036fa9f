"""What is charged by the hour beside a rented machine: its disk, its public address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from backend.domain.pricing.billing.traffic import tiered
from backend.domain.pricing.extras import DISK, IP, Tariff
from backend.domain.rentals import stored
from backend.domain.units import EXACT, HOURS_PER_MONTH


class LedgerKind(StrEnum):
    """What an entry of the ledger is for."""

    MACHINE = "machine"
    DISK = "disk"
    ADDRESS = "address"


@dataclass(frozen=True)
class Part:
    """A disk or an address that is charged beside the machine."""

    kind: LedgerKind
    hourly: Decimal | None
    """Of all of it; None where its price is not known."""


def rented_parts(
    tariffs: Mapping[str, Tariff], currency: str, *, disk_gib: int | None, has_address: bool
) -> tuple[Part, ...]:
    """Parts of a machine whose own price is in that currency; `disk_gib` None = it has no disk
    that is charged for. A tariff in another currency counts as not known."""
    parts = []
    if disk_gib is not None:
        # Providers write GB and charge GiB of a month (docs.aws.amazon.com/ebs/latest/userguide/
        # ebs-volume-types.html; cloud.google.com/compute/disks-image-pricing, read 2026-11-24).
        month = _amount(tariffs.get(DISK), currency, Decimal(disk_gib))
        hourly = None if month is None else stored(EXACT.divide(month, Decimal(HOURS_PER_MONTH)))
        parts.append(Part(LedgerKind.DISK, hourly))
    if has_address:
        parts.append(Part(LedgerKind.ADDRESS, _amount(tariffs.get(IP), currency, Decimal(1))))
    return tuple(parts)


def _amount(tariff: Tariff | None, currency: str, volume: Decimal) -> Decimal | None:
    if tariff is None or tariff.currency != currency:
        return None
    return tiered(volume, tariff.tiers)


def parts_document(parts: Sequence[Part]) -> list[dict[str, str | None]]:
    """As they are stored: amounts as decimal strings."""
    return [
        {"kind": one.kind, "hourly": None if one.hourly is None else f"{one.hourly:f}"}
        for one in parts
    ]


def parts_of(document: Sequence[Mapping[str, str | None]]) -> tuple[Part, ...]:
    """The parts that a document made by `parts_document` holds."""
    return tuple(
        Part(
            LedgerKind(str(one["kind"])), None if one["hourly"] is None else Decimal(one["hourly"])
        )
        for one in document
    )


def known_hourly(parts: Sequence[Part]) -> Decimal:
    """What all parts together cost an hour, as far as that is known."""
    return sum((one.hourly for one in parts if one.hourly is not None), Decimal(0))


def unpriced(parts: Sequence[Part]) -> list[str]:
    """Kinds of the parts whose price is not known."""
    return [one.kind for one in parts if one.hourly is None]
