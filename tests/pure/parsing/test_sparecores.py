import datetime as dt
import json
from decimal import Decimal

import pytest

from backend.catalog.calc.sparecores import (
    ListedPrice,
    is_ordered,
    moment,
    provider,
    quote,
    region_code,
    server,
    settle_quotes,
)
from backend.money.price_lists import NoPrice
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

SOURCE = "Spare Cores, CC BY-SA 4.0"
AT = dt.datetime(2026, 8, 20, 10, 15, tzinfo=dt.UTC)
SERVER = {
    "vendor_id": "aws",
    "server_id": "m5.large",
    "name": "m5.large",
    "api_reference": "m5.large",
    "vcpus": 2,
    "memory_amount": 8192,
    "cpu_architecture": "X86_64",
    "cpu_allocation": "DEDICATED",
    "cpu_manufacturer": "Intel",
    "cpu_family": "Xeon",
    "cpu_model": "8175M",
    "storage_size": 0,
    "storage_type": None,
    "outbound_traffic": 0.0,
}
PRICE = {
    "zone_id": "use1-az1",
    "operating_system": "Linux",
    "allocation": "ONDEMAND",
    "unit": "HOUR",
    "price": 0.0076,
    "price_upfront": 0.0,
    "price_tiered": "[]",
    "currency": "USD",
    "observed_at": "2026-08-20 10:15:00.000000",
}


def of(**given):
    found = server({**SERVER, **given})
    assert found is not None
    return found


def quoted(**given):
    return quote({**PRICE, **given}, of(), "us-east-1", SOURCE)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("ACTIVE", True),
        ("active", True),
        ("PLANNED_FOR_RETIREMENT", True),
        ("INACTIVE", False),
        ("RETIRED", False),
        # A file without the column says nothing against its rows.
        (None, True),
    ],
)
def test_status_says_whether_a_row_can_be_ordered(status, expected):
    assert is_ordered(status) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-20 10:15:00.000000", AT),
        ("2026-08-20T12:15:00+02:00", AT),
        ("2026-08-20", AT.replace(hour=0, minute=0)),
        ("yesterday", None),
        (None, None),
        (1_755_684_900, None),
    ],
)
def test_time_is_utc_where_it_does_not_say(text, expected):
    assert moment(text) == expected


def test_provider_keeps_its_own_slug_where_ours_is_the_same():
    assert (provider("hcloud"), provider("aws")) == ("hetzner", "aws")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"vendor_id": "aws", "region_id": "eu-west-1", "api_reference": "eu-west-1"}, "eu-west-1"),
        ({"vendor_id": "gcp", "region_id": "1220", "api_reference": "us-east1"}, "us-east1"),
        ({"vendor_id": "hcloud", "region_id": "2", "api_reference": "nbg1-dc3"}, "nbg1"),
        ({"vendor_id": "aws", "region_id": "eu-west-1", "api_reference": None}, "eu-west-1"),
    ],
)
def test_region_goes_by_the_name_that_price_lists_use(row, expected):
    assert region_code({"name": None, **row}) == expected


def test_server_figures_come_in_our_units():
    machine = of(storage_size=50, storage_type="NVME_SSD").machine
    assert (machine.provider, machine.region, machine.name) == ("aws", "", "m5.large")
    assert (machine.arch, machine.vcpu_kind, machine.vcpu_count) == ("x86_64", "dedicated", 2)
    assert machine.memory_bytes == 8 * 2**30
    assert (machine.disk_bytes, machine.disk_kind) == (50 * 10**9, "nvme ssd")
    assert machine.cpu_model == "Intel Xeon 8175M"


def test_server_figures_that_are_not_known_are_none_and_never_zero():
    found = of(vcpus=0, memory_amount=None, cpu_manufacturer=None, cpu_family=None, cpu_model=None)
    machine = found.machine
    assert (machine.vcpu_count, machine.memory_bytes, machine.disk_bytes) == (None, None, None)
    assert (machine.cpu_model, machine.disk_kind) == ("", "")
    assert found.traffic_bytes is None
    assert of(cpu_allocation="Whole", vcpus=float("inf")).machine.vcpu_kind == ""


@pytest.mark.parametrize("name", ["", "x" * 151])
def test_server_without_a_name_that_can_be_kept_is_none(name):
    assert server({**SERVER, "api_reference": name, "name": name, "server_id": name}) is None


@pytest.mark.parametrize(
    ("vendor", "told", "expected"),
    [("vultr", 1000.0, 10**12), ("hcloud", 20480.0, 20 * 2**40)],
)
def test_included_traffic_is_counted_in_the_units_that_the_vendor_means(vendor, told, expected):
    found = of(vendor_id=vendor, outbound_traffic=told)
    row = quote(dict(PRICE), found, "somewhere", SOURCE)
    assert found.traffic_bytes == expected
    assert row.price.included == {"traffic_bytes": expected}


def test_price_is_the_decimal_that_the_float_stands_for():
    found = quoted(price=0.1 + 0.2).price
    assert found.amount == Decimal("0.30000000000000004")
    assert (found.currency, found.unit, found.purchase_model) == ("USD", "hour", "on_demand")
    assert (found.operating_system, found.tenancy, found.term) == ("linux", "shared", "")
    assert (found.region, found.zone, found.offer) == ("us-east-1", "use1-az1", "m5.large")
    assert (found.source, found.included, found.setup_amount) == (SOURCE, {}, None)
    assert quoted().observed_at == AT


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({"allocation": "SPOT"}, "purchase_model", PurchaseModel.SPOT),
        ({"allocation": "spot"}, "purchase_model", PurchaseModel.SPOT),
        ({"unit": "MONTH"}, "purchase_model", PurchaseModel.MONTHLY),
        ({"unit": "year"}, "unit", PriceUnit.YEAR),
        ({"price": 3}, "amount", Decimal(3)),
        ({"price_upfront": 12.5}, "setup_amount", Decimal("12.5")),
        ({"operating_system": "Windows"}, "operating_system", "windows"),
        ({"operating_system": None}, "operating_system", "linux"),
    ],
)
def test_price_says_how_it_is_bought(given, name, expected):
    assert getattr(quoted(**given).price, name) == expected


@pytest.mark.parametrize(
    ("tiers", "expected"),
    [
        (None, None),
        ("null", None),
        ([], None),
        # 672 hours at 0.0076.
        (
            [
                {"lower": 0, "upper": 672, "price": 0.0076},
                {"lower": 673, "upper": "Infinity", "price": 0},
            ],
            Decimal("5.1072"),
        ),
        # Their price is rounded to four decimals, the tier is not: 730 × 0.00762.
        (
            [
                {"lower": 0, "upper": 730.0, "price": 0.00762},
                {"lower": 730, "upper": "Infinity", "price": 0},
            ],
            Decimal("5.5626"),
        ),
    ],
)
def test_price_has_a_cap_where_hours_beyond_are_free(tiers, expected):
    told = tiers if tiers is None or isinstance(tiers, str) else json.dumps(tiers)
    assert quoted(price_tiered=told).price.monthly_cap == expected


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"allocation": "RESERVED"}, "other_terms"),
        ({"unit": "GB_MONTH"}, "other_unit"),
        ({"observed_at": "never"}, "unexpected_shape"),
        ({"price": 0.0}, "zero"),
        ({"price": -1.0}, "negative"),
        ({"price": None}, "no_price"),
        ({"price": float("inf")}, "no_price"),
        ({"price": "cheap"}, "not_a_number"),
        ({"price": 1e-20}, "too_precise"),
        ({"currency": "dollars"}, "no_currency"),
        ({"price_tiered": "[1]"}, "tiered"),
        ({"price_tiered": "{"}, "tiered"),
        ({"price_tiered": '[{"lower": 0, "upper": 9, "price": 0.0076}]'}, "tiered"),
        (
            {
                "price_tiered": '[{"lower": 0, "upper": 9, "price": 0.0076},'
                ' {"lower": 9, "upper": "Infinity", "price": 0.001}]'
            },
            "tiered",
        ),
        (
            {
                "price_tiered": '[{"lower": 0, "upper": "Infinity", "price": 0.0076},'
                ' {"lower": 9, "upper": "Infinity", "price": 0}]'
            },
            "tiered",
        ),
    ],
)
def test_price_that_is_none_says_why(given, reason):
    with pytest.raises(NoPrice) as caught:
        quoted(**given)
    assert caught.value.reason == reason


def zones(allocation, *told):
    return [
        quoted(allocation=allocation, zone_id=zone, price=price, observed_at=f"2026-08-{day} 00:00")
        for zone, price, day in told
    ]


def test_zones_that_agree_are_one_price_of_the_newest_day():
    for allocation in ("ONDEMAND", "SPOT"):
        [one] = settle_quotes(zones(allocation, ("a", 0.1, 20), ("b", 0.1, 22), ("c", 0.1, 21)))
        assert (one.price.zone, one.price.amount, one.price.note) == ("", Decimal("0.1"), "")
        assert one.observed_at == dt.datetime(2026, 8, 22, tzinfo=dt.UTC)


def test_spot_prices_stay_those_of_their_zone_where_zones_differ():
    found = settle_quotes(zones("SPOT", ("a", 0.1, 20), ("b", 0.09, 20)))
    assert {one.price.zone: one.price.amount for one in found} == {
        "a": Decimal("0.1"),
        "b": Decimal("0.09"),
    }


def test_on_demand_price_is_the_lowest_and_says_so_where_zones_differ():
    [one] = settle_quotes(zones("ONDEMAND", ("a", 0.1, 20), ("b", 0.09, 20), ("c", 0.2, 20)))
    assert (one.price.zone, one.price.amount) == ("", Decimal("0.09"))
    assert one.price.note == "lowest of 3 zones: b"


def test_purchase_models_are_never_merged():
    found = settle_quotes([*zones("SPOT", ("a", 0.1, 20)), *zones("ONDEMAND", ("a", 0.2, 20))])
    assert {str(one.price.purchase_model) for one in found} == {"spot", "on_demand"}


def test_newest_price_counts_when_a_zone_is_doubled():
    [one] = settle_quotes(zones("ONDEMAND", ("a", 0.1, 22), ("a", 0.2, 20)))
    assert isinstance(one, ListedPrice)
    assert one.price.amount == Decimal("0.1")
