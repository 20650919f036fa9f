"""Dedicated servers of Hetzner and OVHcloud: prices of a month with a setup fee."""

import json
from decimal import Decimal

import pytest

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedPrice, ParsedType, Skipped, SkipReason
from backend.money.price_lists.collected import Collected
from backend.providers.hetzner import robot
from backend.providers.ovh import prices as ovh

GB, GIB = 10**9, 2**30


def _prices(results):
    rows = [row for row in results if isinstance(row, ParsedPrice)]
    return {
        (row.offer, row.region): (str(row.amount), row.setup_amount and str(row.setup_amount))
        for row in rows
    }


def _types(results):
    return {(row.name, row.region): row for row in results if isinstance(row, ParsedType)}


def _reasons(results):
    return {(row.offer, row.region): row.reason for row in results if isinstance(row, Skipped)}


# --- Hetzner: to order ----------------------------------------------------------------------------


def test_server_to_order_has_a_monthly_net_price_and_a_setup_fee(answer):
    found = list(robot.products([answer("hetzner-robot-products")]))
    assert _prices(found) == {
        ("DX10", "fsn1"): ("41.0000", "39.0000"),
        ("DX10", "hel1"): ("37.5000", None),
    }
    assert _reasons(found) == {("DX20", "fsn1"): SkipReason.ZERO}
    (price, *_) = [row for row in found if isinstance(row, ParsedPrice)]
    assert (price.currency, price.unit, price.purchase_model) == ("EUR", "month", "monthly")


def test_server_to_order_is_what_its_lines_say(answer):
    machine = _types(robot.products([answer("hetzner-robot-products")]))["DX10", "fsn1"]
    assert (machine.kind, machine.vcpu_kind) == ("dedicated", "dedicated")
    assert machine.cpu_model == "Synthetic Core 10-6"
    assert machine.memory_bytes == 64 * GIB
    assert (machine.disk_bytes, machine.disk_kind) == (17_024 * GB, "nvme+hdd")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"id": ""}, SkipReason.NO_TYPE),
        ({"prices": [{"price": {"net": "1"}}]}, SkipReason.NO_REGION),
        ({"prices": [{"location": "FSN1"}]}, SkipReason.NO_PRICE),
    ],
)
def test_server_to_order_is_skipped_with_its_reason_when_it_has_no_price(fields, reason):
    product = {"id": "DX1", "prices": [], **fields}
    found = list(robot.products([json.dumps([{"product": product}])]))
    assert list(_reasons(found).values()) == [reason]


def test_server_to_order_is_unknown_when_it_has_no_lines():
    price = {"location": "FSN1", "price": {"net": "1"}}
    found = robot.products([json.dumps([{"product": {"id": "DX1", "prices": [price]}}])])
    machine = _types(found)["DX1", "fsn1"]
    assert (machine.cpu_model, machine.memory_bytes, machine.disk_bytes) == ("", None, None)
    assert machine.disk_kind == ""


# --- Hetzner: the auction -------------------------------------------------------------------------


def test_auction_has_the_cheapest_of_the_servers_that_are_alike(answer):
    found = list(robot.auction([answer("hetzner-auction")]))
    alike = "Auction Synthetic i7-8, 64 GB, 2x512 GB nvme"
    large = "Auction Synthetic Xeon 12, 256 GB ECC, 1x960 GB nvme + 1x480 GB ssd + 2x16000 GB hdd"
    assert _prices(found) == {
        (alike, "fsn1"): ("38.7", None),
        (alike, "hel1"): ("36.7", None),
        (large, "fsn1"): ("90", "79"),
    }
    dearer = [row.raw_id for row in found if row.__class__ is Skipped and row.offer == alike]
    assert dearer == ["8000001", "8000003"]
    machine = _types(found)[large, "fsn1"]
    assert (machine.kind, machine.memory_bytes) == ("dedicated", 256 * GIB)
    assert (machine.disk_bytes, machine.disk_kind) == (33_440 * GB, "nvme+ssd+hdd")


def test_auction_has_a_reason_for_each_server_without_a_price(answer):
    found = list(robot.auction([answer("hetzner-auction")]))
    free = "Auction Synthetic free, 64 GB, 2x512 GB nvme"
    assert _reasons(found)[free, "fsn1"] == SkipReason.ZERO
    text = json.dumps({"server": [{"price": 1}, {"price": 1, "cpu": "i7"}]})
    reasons = [row.reason for row in robot.auction([text])]
    assert reasons == [SkipReason.NO_TYPE, SkipReason.NO_REGION]


def test_auction_of_robot_is_read_alike(answer):
    found = list(robot.market([answer("hetzner-robot-market")]))
    slow = "Auction Synthetic i7-4, 32 GB, 2x2000 GB hdd"
    fast = "Auction Synthetic Ryzen 6, 64 GB ECC, 2x512 GB nvme"
    assert _prices(found) == {
        (slow, "fsn1"): ("35.2900", None),
        (fast, "hel1"): ("44.0000", "79.0000"),
    }


def test_auction_leaves_out_disks_that_are_not_stated():
    lot = {"id": 1, "cpu": "i7", "datacenter": "FSN1-DC1", "price": "9"}
    (price,) = Collected.of(robot.market([json.dumps([{"product": lot}])])).prices["fsn1"]
    assert price.offer == "Auction i7"
    lists = {"nvme": [None, 512], "sata": None, "hdd": 2}
    text = json.dumps({"server": [{**lot, "serverDiskData": lists}]})
    (price,) = Collected.of(robot.auction([text])).prices["fsn1"]
    assert price.offer == "Auction i7, 1x512 GB nvme"


# --- OVHcloud -------------------------------------------------------------------------------------


def test_ovh_server_costs_what_it_cannot_be_ordered_without(answer):
    found = list(ovh.servers([answer("ovh-servers")]))
    assert _prices(found) == {
        # 56.99, the default memory 0, the cheapest disks 2.50
        ("99syn01", "GRA"): ("59.49000000", "46.99000000"),
        ("99syn01", "BHS"): ("59.49000000", "46.99000000"),
        # 90 and memory of 6; its setup is that of the memory
        ("99syn02", "SGP"): ("96.00000000", "1.00000000"),
    }
    assert _reasons(found) == {
        ("99syn03", "GRA"): SkipReason.NO_COMPONENT,
        ("99syn04", ""): SkipReason.NO_REGION,
    }
    (price, *_) = [row for row in found if isinstance(row, ParsedPrice)]
    assert price.raw_id == "99syn01.ram-32g-99syn.softraid-2x512nvme-99syn"
    assert (price.note, price.tax_rate) == ("SYN-1 | Synthetic Xeon 1", Decimal("0.23"))
    assert (price.currency, price.unit, price.purchase_model) == ("EUR", "month", "monthly")


def test_ovh_server_is_what_its_products_say(answer):
    types = _types(ovh.servers([answer("ovh-servers")]))
    one, two = types["99syn01", "GRA"], types["99syn02", "SGP"]
    assert (one.kind, one.cpu_model, one.vcpu_count) == ("dedicated", "Synthetic Xeon 1", 12)
    assert (one.memory_bytes, one.disk_bytes, one.disk_kind) == (32 * GIB, 1024 * GB, "nvme")
    assert (two.vcpu_count, two.disk_bytes, two.disk_kind) == (48, None, "")


def _catalogue(**parts):
    return json.dumps({"locale": {"currencyCode": "EUR"}, "products": [], "addons": [], **parts})


def _monthly(price):
    return {"capacities": ["renew"], "intervalUnit": "month", "mode": "default", "price": price}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"planCode": None}, SkipReason.NO_TYPE),
        ({"pricings": None}, SkipReason.NO_PRICE),
        ({"pricings": [_monthly(0)]}, SkipReason.ZERO),
        ({"pricings": [_monthly(None)]}, SkipReason.NO_PRICE),
        ({"configurations": [{"name": "region", "values": ["europe"]}]}, SkipReason.NO_REGION),
    ],
)
def test_ovh_server_is_skipped_with_its_reason_when_it_has_no_price(fields, reason):
    sites = {"name": "dedicated_datacenter", "values": ["gra"]}
    plan = {"planCode": "a", "configurations": [sites], "pricings": [_monthly(1)], **fields}
    found = list(ovh.servers([_catalogue(plans=[plan])]))
    assert list(_reasons(found).values()) == [reason]


def test_ovh_price_has_no_currency_when_the_catalogue_names_none():
    sites = {"name": "dedicated_datacenter", "values": ["gra"]}
    plan = {"planCode": "a", "configurations": [sites], "pricings": [_monthly(1)]}
    found = list(ovh.servers([_catalogue(plans=[plan], locale=None)]))
    assert list(_reasons(found).values()) == [SkipReason.NO_CURRENCY]


def test_ovh_disks_are_unknown_when_one_has_no_size():
    disks = [{"capacity": 512, "technology": "SSD"}, {"technology": "tape"}]
    sites = {"name": "dedicated_datacenter", "values": ["gra"]}
    plan = {
        "planCode": "a", "configurations": [sites], "pricings": [_monthly(1)],
        "blobs": {"technical": {"storage": {"disks": disks}}},
    }  # fmt: skip
    machine = _types(ovh.servers([_catalogue(plans=[plan])]))["a", "GRA"]
    assert (machine.disk_bytes, machine.disk_kind, machine.vcpu_count) == (None, "", None)


def test_ovh_instances_cost_the_hour_in_each_region_that_sells_them(answer):
    found = list(ovh.instances([answer("ovh-cloud")]))
    assert _prices(found) == {
        ("y3-8", "GRA11"): ("0.05080000", None),
        ("y3-8", "DE1"): ("0.05080000", None),
        ("y3-8", "EU-WEST-PAR"): ("0.06080000", None),
        ("y3-16", ""): ("0.10160000", None),
    }
    assert _reasons(found) == {
        ("win-y3-8", "GRA11"): SkipReason.OTHER_SYSTEM,
        ("y3-32", "GRA11"): SkipReason.NO_PRICE,
    }
    machine = _types(found)["y3-8", "DE1"]
    assert (machine.kind, machine.vcpu_count, machine.memory_bytes) == ("cloud", 2, 8 * GIB)
    assert (machine.disk_bytes, machine.disk_kind) == (50 * GB, "ssd")


def test_ovh_volume_is_no_machine():
    volume = {"planCode": "volume.consumption", "pricings": []}
    found = list(ovh.instances([_catalogue(plans=[], addons=[volume])]))
    assert list(_reasons(found).values()) == [SkipReason.NOT_A_MACHINE]


@pytest.mark.parametrize(
    ("parse", "said"),
    [
        (lambda: robot.products(["{}"]), "page 1: is missing"),
        (lambda: robot.products(["[{}]"]), "page 1 product"),
        (lambda: robot.auction(["[]"]), "page 1: is missing"),
        (lambda: ovh.servers(["{}"]), "page 1 plans"),
    ],
)
def test_pages_are_refused_when_they_have_another_shape(parse, said):
    with pytest.raises(InvalidValue, match=said):
        list(parse())
