"""Smaller hosters: hourly prices, most of them under a monthly cap."""

import json
from decimal import Decimal

import pytest

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedExtra, ParsedPrice, ParsedType, Skipped, SkipReason
from backend.providers.digitalocean import prices as digitalocean
from backend.providers.hetzner import prices as hetzner
from backend.providers.linode import prices as linode
from backend.providers.scaleway import prices as scaleway
from backend.providers.upcloud import prices as upcloud
from backend.providers.vultr import prices as vultr


def _of(kind, results):
    return [row for row in results if isinstance(row, kind)]


def _prices(results):
    return {(row.offer, row.region): row for row in _of(ParsedPrice, results)}


def _reasons(results):
    return {(row.offer, row.region): row.reason for row in _of(Skipped, results)}


@pytest.fixture(scope="module")
def cloud(answer):
    return list(hetzner.parse(answer("hetzner-pricing"), [answer("hetzner-server-types")]))


def _hetzner(pricing=None, **fields):
    price = {"location": "fsn1", "price_hourly": {"net": "0.01"}}
    told = {"name": "aa11", "id": 1, "prices": [price], **fields}
    pricing = {"currency": "EUR"} if pricing is None else pricing
    return list(
        hetzner.parse(json.dumps({"pricing": pricing}), [json.dumps({"server_types": [told]})])
    )


def test_rule_21_hetzner_is_net_in_the_currency_it_states_and_capped(cloud):
    price = _prices(cloud)["aa11", "fsn1"]
    assert (str(price.amount), price.currency, price.tax_basis) == ("0.0052000000", "EUR", "net")
    assert (price.tax_rate, price.monthly_cap) == (Decimal("0.19"), Decimal("3.29"))
    # 3.29 / 0.0052 = 632.7 hours
    assert round(price.tiers[0][0], 1) == Decimal("632.7")


def test_rule_21_no_price_is_in_euros_when_the_list_does_not_say_so():
    found = _hetzner({"primary_ips": [{"prices": [{"price_hourly": {"net": "1"}}]}]})
    assert _reasons(found) == {("aa11", "fsn1"): SkipReason.NO_CURRENCY}
    assert not _of(ParsedExtra, found)
    (price,) = _of(ParsedPrice, _hetzner({"currency": "USD"}))
    assert (price.currency, price.tax_rate) == ("USD", None)


def test_rule_23_addresses_are_prices_of_their_own(cloud):
    # Addresses of version 6 cost nothing and are no price.
    (address,) = _of(ParsedExtra, cloud)
    assert (address.name, address.region, str(address.amount)) == ("ipv4", "fsn1", "0.0008000000")
    assert {price.basis for price in _of(ParsedPrice, cloud)} == {"machine"}


def test_hetzner_type_has_its_machine_and_traffic(cloud):
    small, large = _of(ParsedType, cloud)
    assert (small.vcpu_count, small.memory_bytes, small.disk_bytes) == (1, 2 * 2**30, 20 * 10**9)
    assert (small.arch, small.vcpu_kind, small.disk_kind) == ("x86_64", "shared", "local")
    assert (large.arch, large.vcpu_kind, large.disk_kind) == ("arm64", "dedicated", "network")
    included = _prices(cloud)["aa11", "fsn1"].included
    assert included == {"traffic_bytes": 20 * 2**40, "traffic_price_per_tb": Decimal(1)}


def test_hetzner_type_is_not_offered_where_it_is_deprecated(cloud):
    assert _reasons(cloud) == {
        ("bb21", "hel1"): SkipReason.NOT_OFFERED,
        ("old1", "fsn1"): SkipReason.NOT_OFFERED,
    }
    assert ("bb21", "fsn1") in _prices(cloud)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": None}, SkipReason.NO_TYPE),
        ({"prices": []}, SkipReason.NO_PRICE),
        ({"prices": None}, SkipReason.NO_PRICE),
        ({"prices": [{"price_hourly": {"net": "0.01"}}]}, SkipReason.NO_REGION),
        ({"prices": [{"location": "fsn1"}]}, SkipReason.NO_PRICE),
        ({"prices": [{"location": "fsn1", "price_hourly": {"net": "0.0"}}]}, SkipReason.ZERO),
        ({"deprecation": {"announced": "2026-01-01"}}, SkipReason.NOT_OFFERED),
    ],
)
def test_hetzner_type_is_skipped_with_its_reason_when_it_has_no_price(fields, reason):
    assert list(_reasons(_hetzner(**fields)).values()) == [reason]


def test_unknown_words_of_a_machine_stay_unknown():
    (machine,) = _of(ParsedType, _hetzner(cpu_type="new", architecture="riscv"))
    assert (machine.arch, machine.vcpu_kind, machine.memory_bytes) == ("", "", None)
    assert _prices(_hetzner())["aa11", "fsn1"].included == {}


def test_rule_22_digitalocean_caps_at_672_hours(answer):
    found = list(digitalocean.parse([answer("digitalocean-sizes")]))
    price = _prices(found)["s-1vcpu-1gb", "nyc3"]
    # 0.00744 × 672 = 5.00
    assert (price.amount, price.monthly_cap) == (Decimal("0.00744"), Decimal("5.0"))
    assert round(price.tiers[0][0]) == 672
    assert price.included == {"traffic_bytes": 2**40}


def test_digitalocean_has_a_row_in_each_region_or_a_reason(answer):
    found = list(digitalocean.parse([answer("digitalocean-sizes")]))
    assert _prices(found).keys() == {
        ("s-1vcpu-1gb", "fra1"),
        ("s-1vcpu-1gb", "nyc3"),
        ("g-2vcpu-8gb", "fra1"),
        ("gpu-x1", "tor1"),
    }
    assert _reasons(found) == {
        ("c-2", "fra1"): SkipReason.NOT_OFFERED,
        ("m-2vcpu-16gb", ""): SkipReason.NOT_OFFERED,
    }
    kinds = {row.name: (row.vcpu_kind, row.gpu_count) for row in _of(ParsedType, found)}
    assert kinds == {
        "s-1vcpu-1gb": ("shared", None),
        "g-2vcpu-8gb": ("dedicated", None),
        "gpu-x1": ("", 1),
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"slug": ""}, SkipReason.NO_TYPE),
        ({"price_hourly": None}, SkipReason.NO_PRICE),
        ({"price_hourly": 0.0}, SkipReason.ZERO),
    ],
)
def test_digitalocean_size_without_a_price_is_skipped_with_its_reason(fields, reason):
    size = {"slug": "s-1", "regions": ["fra1"], "price_hourly": 0.01, **fields}
    found = list(digitalocean.parse([json.dumps({"sizes": [size]})]))
    assert list(_reasons(found).values()) == [reason]


def test_digitalocean_price_has_no_cap_when_none_is_given():
    size = {"slug": "s-1", "regions": ["fra1"], "price_hourly": 0.01}
    (price,) = _of(ParsedPrice, digitalocean.parse([json.dumps({"sizes": [size]})]))
    assert (price.monthly_cap, price.included) == (None, {})


def test_linode_has_one_row_and_those_of_regions_that_differ(answer):
    found = list(linode.parse([answer("linode-types")]))
    assert {
        key: (str(row.amount), str(row.monthly_cap)) for key, row in _prices(found).items()
    } == {
        ("g6-nanode-1", ""): ("0.0075", "5.0"),
        ("g6-nanode-1", "br-gru"): ("0.0105", "7.0"),
        ("g6-dedicated-2", ""): ("0.054", "36.0"),
    }
    assert _reasons(found) == {("g6-later-1", ""): SkipReason.NO_PRICE}
    # 5.0 / 0.0075 = 666.7 hours
    assert round(_prices(found)["g6-nanode-1", ""].tiers[0][0], 1) == Decimal("666.7")


def test_linode_has_a_row_for_each_region_when_they_are_named(answer):
    found = list(linode.parse([answer("linode-types")], regions=["us-ord", "br-gru"]))
    amounts = {key: str(row.amount) for key, row in _prices(found).items()}
    assert amounts["g6-nanode-1", "us-ord"] == "0.0075"
    assert amounts["g6-nanode-1", "br-gru"] == "0.0105"
    (machine, *_) = _of(ParsedType, found)
    assert (machine.memory_bytes, machine.disk_bytes) == (2**30, 25 * 2**30)
    assert (machine.vcpu_kind, machine.gpu_count) == ("shared", None)


def test_linode_type_is_skipped_when_it_has_no_name():
    found = list(linode.parse(['{"data": [{"price": {"hourly": 0.01}}]}']))
    assert list(_reasons(found).values()) == [SkipReason.NO_TYPE]


def test_linode_includes_nothing_when_nothing_is_given():
    (price,) = _of(ParsedPrice, linode.parse(['{"data": [{"id": "a", "price": {"hourly": 1}}]}']))
    assert price.included == {}


def test_vultr_has_a_price_in_each_region_and_its_own_where_it_differs(answer):
    found = list(vultr.parse([answer("vultr-plans")], [answer("vultr-plans-metal")]))
    assert {
        key: (str(row.amount), str(row.monthly_cap)) for key, row in _prices(found).items()
    } == {
        ("vc2-9c-9gb", "fra"): ("0.009", "6"),
        ("vc2-9c-9gb", "sao"): ("0.013", "9"),
        ("voc-8c-9gb", "fra"): ("0.09", "60"),
        ("vbm-9c-99gb", "fra"): ("0.521", "350"),
    }
    assert _reasons(found) == {
        ("vx9-old", "fra"): SkipReason.NOT_OFFERED,
        ("vcg-none", ""): SkipReason.NOT_OFFERED,
    }
    small, _, dedicated, metal = _of(ParsedType, found)
    assert (small.kind, small.vcpu_kind, dedicated.vcpu_kind) == ("", "shared", "dedicated")
    assert (small.memory_bytes, small.disk_bytes, small.disk_kind) == (2**30, 25 * 10**9, "ssd")
    assert (metal.kind, metal.cpu_model, metal.vcpu_count) == ("dedicated", "Synthetic E-9", 16)
    assert (metal.disk_bytes, metal.disk_kind) == (3_800 * 10**9, "nvme")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"id": ""}, SkipReason.NO_TYPE), ({"hourly_cost": None}, SkipReason.NO_PRICE)],
)
def test_vultr_plan_without_a_price_is_skipped_with_its_reason(fields, reason):
    plan = {"id": "a", "locations": ["fra"], "hourly_cost": 1, **fields}
    found = list(vultr.parse([json.dumps({"plans": [plan]})], []))
    assert list(_reasons(found).values()) == [reason]


def test_vultr_plan_states_no_more_than_it_says():
    plan = {"id": "a-1", "locations": ["fra"], "hourly_cost": 1}
    found = list(vultr.parse([json.dumps({"plans": [plan]})], []))
    (machine,) = _of(ParsedType, found)
    assert (machine.disk_bytes, machine.disk_kind, machine.vcpu_kind) == (None, "", "")
    assert _prices(found)["a-1", "fra"].included == {}


def _upcloud(answer, **changed):
    names = ("price", "plan", "account")
    texts = {name: changed.get(name) or answer(f"upcloud-{name}") for name in names}
    return list(upcloud.parse(*texts.values()))


def test_upcloud_has_cents_in_the_currency_of_the_account(answer):
    found = _upcloud(answer)
    assert {key: (str(row.amount), row.currency) for key, row in _prices(found).items()} == {
        ("9xCPU-9GB", "de-fra1"): ("0.00744", "EUR"),
        # 29.76 cents for ten of them
        ("9xCPU-99GB", "de-fra1"): ("0.02976", "EUR"),
        ("9xCPU-9GB", "fi-hel1"): ("0.00833", "EUR"),
    }
    assert _reasons(found) == {("9xCPU-99GB", "fi-hel1"): SkipReason.ZERO}
    # One plan is priced and not described.
    assert [row.name for row in _of(ParsedType, found)] == ["9xCPU-9GB"] * 2
    (machine, _) = _of(ParsedType, found)
    assert (machine.kind, machine.vcpu_count, machine.memory_bytes) == ("cloud", 1, 2**30)
    assert (machine.disk_bytes, machine.disk_kind) == (25 * 10**9, "maxiops")
    included = {key: row.included for key, row in _prices(found).items()}
    assert included["9xCPU-9GB", "de-fra1"] == {"traffic_bytes": 1024 * 10**9}
    assert included["9xCPU-99GB", "de-fra1"] == {}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"account": "{}"}, SkipReason.NO_CURRENCY),
        (
            {"price": '{"prices": {"zone": [{"server_plan_a": {"price": 1}}]}}'},
            SkipReason.NO_REGION,
        ),
    ],
)
def test_upcloud_plan_is_skipped_when_currency_or_zone_is_unknown(answer, changed, reason):
    assert set(_reasons(_upcloud(answer, **changed)).values()) >= {reason}


def test_scaleway_has_the_hourly_prices_of_a_zone(answer):
    found = list(scaleway.parse([answer("scaleway-servers")], zone="fr-par-1"))
    assert {key: str(row.amount) for key, row in _prices(found).items()} == {
        ("SYN2-S", "fr-par-1"): "0.0154",
        ("SYN2-ARM", "fr-par-1"): "0.0308",
        ("SYN-GPU", "fr-par-1"): "0.7875",
    }
    assert _reasons(found) == {
        ("SYN2-S-WIN", "fr-par-1"): SkipReason.OTHER_SYSTEM,
        ("SYN1-OLD", "fr-par-1"): SkipReason.NOT_OFFERED,
        ("SYN2-FREE", "fr-par-1"): SkipReason.ZERO,
    }
    kinds = {row.name: (row.kind, row.arch, row.gpu_count) for row in _of(ParsedType, found)}
    assert kinds == {
        "SYN2-S": ("cloud", "x86_64", None),
        "SYN2-ARM": ("cloud", "arm64", None),
        "SYN-GPU": ("cloud", "x86_64", 1),
    }


@pytest.mark.parametrize(
    ("parse", "said"),
    [
        (lambda: digitalocean.parse(["{}"]), "page 1 sizes"),
        (lambda: linode.parse(["[]"]), "page 1: is missing"),
        (lambda: linode.parse(["{}"]), "page 1 data"),
        (lambda: linode.parse(['{"data": [{"id": "a", "region_prices": 7}]}']), "region_prices"),
        (lambda: vultr.parse(["{}"], []), "page 1 plans"),
        (lambda: scaleway.parse(["{}"], zone="fr-par-1"), "page 1 servers"),
        (lambda: upcloud.parse("{}", "{}", "{}"), "plans.plan"),
        (lambda: hetzner.parse("{}", []), "pricing.pricing"),
        (lambda: hetzner.parse('{"pricing": {}}', ["{}"]), "page 1 server_types"),
    ],
)
def test_pages_are_refused_when_they_have_another_shape(parse, said):
    with pytest.raises(InvalidValue, match=said):
        list(parse())
