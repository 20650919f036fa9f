"""Disk and address of a rented machine by the hour."""

from decimal import Decimal

from backend.domain.pricing.extras import DISK, IP, Tariff
from backend.domain.rented_parts import (
    LedgerKind,
    Part,
    known_hourly,
    parts_document,
    parts_of,
    rented_parts,
    unpriced,
)

USD = {
    DISK: Tariff(((None, Decimal("0.073")),), "USD"),
    IP: Tariff(((None, Decimal("0.005")),), "USD"),
}


def test_disk_costs_its_share_of_a_month_and_the_address_its_hour():
    parts = rented_parts(USD, "USD", disk_gib=20, has_address=True)
    assert parts == (
        Part(LedgerKind.DISK, Decimal("0.002")),
        Part(LedgerKind.ADDRESS, Decimal("0.005")),
    )
    assert known_hourly(parts) == Decimal("0.007")
    assert unpriced(parts) == []
    assert parts_of(parts_document(parts)) == parts


def test_part_without_a_price_in_its_currency_is_unknown():
    for tariffs, currency in (({}, "USD"), (USD, "EUR")):
        parts = rented_parts(tariffs, currency, disk_gib=20, has_address=True)
        assert unpriced(parts) == ["disk", "address"]
        assert known_hourly(parts) == 0
        assert parts_of(parts_document(parts)) == parts


def test_machine_with_its_own_disk_and_without_an_address_has_no_parts():
    assert rented_parts(USD, "USD", disk_gib=None, has_address=False) == ()
