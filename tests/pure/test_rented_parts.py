"""Disk and address of a rented machine by the hour, and what it sends."""

from decimal import Decimal

from backend.benchmarks.calc.rented_parts import (
    LedgerKind,
    Part,
    Sending,
    hourly_price_of_parts,
    kinds_without_price,
    parts_document,
    parts_of,
    parts_of_rental,
    traffic_cost,
    traffic_part,
)
from backend.money.pricing.extras import DISK, EGRESS, IP, Included, Tariff

USD = {
    DISK: Tariff(((None, Decimal("0.073")),), "USD"),
    IP: Tariff(((None, Decimal("0.005")),), "USD"),
}


def test_disk_costs_its_share_of_a_month_and_the_address_its_hour():
    parts = parts_of_rental(USD, "USD", disk_gib=20, has_address=True)
    assert parts == (
        Part(LedgerKind.DISK, Decimal("0.002")),
        Part(LedgerKind.ADDRESS, Decimal("0.005")),
    )
    assert hourly_price_of_parts(parts) == Decimal("0.007")
    assert kinds_without_price(parts) == []
    assert parts_of(parts_document(parts)) == parts


def test_part_without_a_price_in_its_currency_is_unknown():
    for tariffs, currency in (({}, "USD"), (USD, "EUR")):
        parts = parts_of_rental(tariffs, currency, disk_gib=20, has_address=True)
        assert kinds_without_price(parts) == ["disk", "address"]
        assert hourly_price_of_parts(parts) == 0
        assert parts_of(parts_document(parts)) == parts


def test_machine_with_its_own_disk_and_without_an_address_has_no_parts():
    assert parts_of_rental(USD, "USD", disk_gib=None, has_address=False) == ()


TIERS = ((Decimal(100), Decimal(0)), (Decimal(10240), Decimal("0.09")), (None, Decimal("0.085")))
TRAFFIC = {EGRESS: Tariff(TIERS, "USD")}
OUT = Sending(50 * 10**9, is_inside=False)


def test_traffic_costs_its_dearest_tier_by_the_gb_and_nothing_by_the_hour():
    part = traffic_part(TRAFFIC, Included(), "USD", OUT)
    assert part == Part(LedgerKind.TRAFFIC, None, Decimal("0.09"), 50 * 10**9)
    assert hourly_price_of_parts((part,)) == 0
    assert kinds_without_price((part,)) == []
    assert traffic_cost((part,), None) == Decimal("4.5")
    assert traffic_cost((part,), 1_500_000_000) == Decimal("0.135")
    assert traffic_cost((part,), 0) == 0
    assert parts_of(parts_document((part,))) == (part,)


def test_price_of_traffic_that_a_machine_states_wins_over_the_list():
    stated = Included(traffic_bytes=20 * 10**12, egress=Tariff(((None, Decimal("0.001")),), "USD"))
    part = traffic_part(TRAFFIC, stated, "USD", OUT)
    # What it includes of a month is not taken off: others may have used it up.
    assert traffic_cost((part,), None) == Decimal("0.05")


def test_traffic_without_limit_costs_nothing():
    part = traffic_part({}, Included(is_traffic_unlimited=True), "USD", OUT)
    assert (part.per_gb, kinds_without_price((part,))) == (0, [])


def test_traffic_has_no_price_inside_a_region_or_in_another_currency():
    inside = Sending(50 * 10**9, is_inside=True)
    unlimited = Included(is_traffic_unlimited=True)
    parts = (
        traffic_part(TRAFFIC, unlimited, "USD", inside),
        traffic_part(TRAFFIC, Included(), "EUR", OUT),
        traffic_part({}, Included(), "USD", OUT),
    )
    assert kinds_without_price(parts) == ["traffic"] * 3
    assert traffic_cost(parts, None) == 0
    assert parts_of(parts_document(parts)) == parts
