"""Google machine types: sums of components, exact to the last nano."""

import datetime as dt
import json
from decimal import Decimal

import pytest

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedPrice, ParsedType, Skipped, SkipReason
from backend.money.price_lists.collected import Coverage
from backend.providers.gcp import prices as gcp
from backend.providers.gcp import skus as gcp_skus


@pytest.fixture(scope="module")
def results(answer):
    return list(gcp.parse([answer("gcp-skus")], gcp.shapes([answer("gcp-machine-types")])))


def _prices(results, model="on_demand"):
    return {
        row.offer: row
        for row in results
        if isinstance(row, ParsedPrice) and row.purchase_model == model
    }


def _sku(description="N2 Instance Core running in Americas", nanos=1, unit="h", **fields):
    price = {"currencyCode": "USD", "units": "0", "nanos": nanos}
    expression = {"usageUnit": unit, "tieredRates": [{"startUsageAmount": 0, "unitPrice": price}]}
    return {
        "skuId": description,
        "description": description,
        "category": {"resourceFamily": "Compute", "usageType": "OnDemand"},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [{"pricingExpression": expression, "effectiveTime": "2026-01-01"}],
        **fields,
    }


def _components(*skus):
    return list(gcp_skus.components([json.dumps({"skus": skus})]))


def _shape(name="n2-standard-2", **fields):
    told = {"name": name, "guestCpus": 2, "memoryMb": 8192, **fields}
    page = {"items": {"zones/us-central1-a": {"machineTypes": [told]}}}
    return list(gcp.shapes([json.dumps(page)]))


def test_rule_10_price_is_vcpus_times_core_and_gib_times_ram(results):
    # 4 × 0.031611 + 16 × 0.004237 = 0.126444 + 0.067792 = 0.194236
    price = _prices(results)["n2-standard-4"]
    assert price.amount == Decimal("0.194236")
    assert (price.raw_id, price.region) == ("C-N2+R-N2", "us-central1")
    # 4 × 0.00765 + 16 × 0.001025 = 0.0306 + 0.0164
    assert _prices(results, "spot")["n2-standard-4"].amount == Decimal("0.047")


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("N2 Custom Instance Core running in Americas", SkipReason.CUSTOM),
        ("N2 Sole Tenancy Instance Core running in Americas", SkipReason.OTHER_TENANCY),
        ("Commitment v1: N2 Cpu in Americas for 1 Year", SkipReason.OTHER_TERMS),
        ("Reserved N2 Instance Core in Americas", SkipReason.OTHER_TERMS),
        ("N2 Instance Core running in Americas for DWS Flex Start", SkipReason.OTHER_MARKET),
        ("Licensing Fee for something", SkipReason.NOT_A_MACHINE),
        ("Some optimized Core running in Americas", SkipReason.NOT_A_MACHINE),
    ],
)
def test_rule_10_a_component_sold_otherwise_is_no_part_of_a_machine(description, reason):
    assert [row.reason for row in _components(_sku(description))] == [reason]


def test_rule_10_regions_are_codes_and_not_words():
    found = _components(_sku(serviceRegions=["us-east1", "us-west1"]))
    assert [one.region for one in found] == ["us-east1", "us-west1"]
    assert [row.reason for row in _components(_sku(serviceRegions=[]))] == [SkipReason.NO_REGION]


@pytest.mark.parametrize(
    ("description", "meaning"),
    [
        ("N1 Predefined Instance Core running in Americas", ("n1", "core")),
        ("N2D AMD Instance Ram running in Paris", ("n2d", "ram")),
        ("T2A Arm Instance Core running in Iowa", ("t2a", "core")),
        ("M3 Memory-optimized Instance Ram running in Tokyo", ("m3", "ram")),
        ("Compute optimized Core running in Japan", ("c2", "core")),
        ("Memory-optimized Instance Core running in Americas", ("m1", "core")),
        ("Spot Preemptible A3Plus Instance Ram running in Tokyo", ("a3plus", "ram")),
        ("Small Instance with 1 VCPU running in Americas", ("", "g1-small")),
        (
            "Nvidia Tesla A100 80GB GPU attached to Spot Preemptible VMs running in Iowa",
            ("", "nvidia-a100-80gb"),
        ),
    ],
)
def test_rule_10_family_is_read_from_the_description(description, meaning):
    unit = "GiBy.h" if meaning[1] == "ram" else "h"
    (found,) = _components(_sku(description, unit=unit))
    assert (found.family, found.part) == meaning


@pytest.mark.parametrize(
    ("units", "nanos", "amount"),
    [
        ("2", 933908000, "2.933908000"),
        ("0", 1, "0.000000001"),
        (None, 5, "0.000000005"),
        ("3", None, "3"),
        # The sign of a negative amount is in both parts.
        ("-1", -750000000, "-1.750000000"),
        (None, None, None),
        ("x", 0, None),
        ("1", "x", None),
        ("1.5", 0, None),
        ("1", Decimal("0.5"), None),
    ],
)
def test_rule_11_amount_is_units_and_nanos(units, nanos, amount):
    found = gcp_skus.money(units, nanos)
    assert found == (None if amount is None else Decimal(amount))


def test_rule_12_accelerators_are_part_of_the_price(results):
    # 12 × 0.031611 + 85 × 0.004237 + 2.933908 = 0.379332 + 0.360145 + 2.933908 = 3.673385
    price = _prices(results)["a2-highgpu-1g"]
    assert price.amount == Decimal("3.673385")
    assert price.included == {"accelerators": {"nvidia-tesla-a100": 1}}
    machine = next(
        row for row in results if isinstance(row, ParsedType) and row.name == "a2-highgpu-1g"
    )
    assert machine.gpu_count == 1


def test_rule_12_machine_with_unknown_accelerators_has_no_price():
    parts = [
        _sku(f"A2 Instance {part} running in Americas", unit=unit)
        for part, unit in (("Core", "h"), ("Ram", "GiBy.h"))
    ]
    page = json.dumps({"skus": parts})
    found = list(gcp.parse([page], _shape("a2-highgpu-1g")))
    assert [row.reason for row in found if isinstance(row, Skipped)][:1] == [
        SkipReason.NO_COMPONENT
    ]
    assert not [row for row in found if isinstance(row, ParsedPrice)]
    assert "accelerators" in next(row.detail for row in found if isinstance(row, Skipped))


def test_machine_of_no_family_is_skipped():
    found = list(gcp.parse(['{"skus": []}'], _shape("-standard-2")))
    assert {row.reason for row in found if isinstance(row, Skipped)} == {SkipReason.NO_COMPONENT}
    assert not [row for row in found if isinstance(row, ParsedPrice)]


def test_rule_13_sustained_use_is_named_and_never_in_the_price_of_an_hour(results):
    marks = {name: price.sustained_use for name, price in _prices(results).items()}
    assert marks == {
        "n2-standard-4": "n2",
        "c2-standard-4": "n2",
        "n1-highcpu-2": "n1",
        "f1-micro": "n1",
        "m2-ultramem-208": "n1",
        "e2-micro": "",
        "a2-highgpu-1g": "",
    }
    assert {price.sustained_use for price in _prices(results, "spot").values()} == {""}


def test_rule_14_m2_is_a_premium_on_m1(results):
    # 208 × (0.0348 + 0.01153) + 5888 × (0.00511 + 0.00169) = 9.63664 + 40.0384 = 49.67504
    assert _prices(results)["m2-ultramem-208"].amount == Decimal("49.67504")


def test_rule_14_shared_cores_are_billed_by_their_share(results):
    # 0.25 × 0.02181159 + 1 × 0.00292353 = 0.0054528975 + 0.00292353 = 0.0083764275
    assert _prices(results)["e2-micro"].amount == Decimal("0.0083764275")
    assert _prices(results)["f1-micro"].amount == Decimal("0.0076")
    kinds = {row.name: row.vcpu_kind for row in results if isinstance(row, ParsedType)}
    assert (kinds["e2-micro"], kinds["n2-standard-4"]) == ("shared", "dedicated")


def test_rule_14_every_type_has_a_price_or_a_reason(results):
    coverage = Coverage()
    list(coverage.seen(results))
    types = {row.name for row in results if isinstance(row, ParsedType)}
    (unpriced,) = coverage.unpriced()
    # The catalogue has no RAM of T2A: its price is unknown, and neither zero nor the core's.
    assert (unpriced.offer, unpriced.reason) == ("t2a-standard-1", SkipReason.NO_COMPONENT)
    assert types == {*_prices(results), "t2a-standard-1"}


def test_memory_is_billed_as_stated_when_cut_to_whole_mib(results):
    # 1843 MiB is 1.8 GiB cut: 2 × 0.031611 + 1.8 × 0.004237 = 0.0708486
    assert _prices(results)["n1-highcpu-2"].amount == Decimal("0.0708486")


def test_memory_is_that_of_the_interface_when_the_words_say_otherwise():
    (shape,) = _shape(description="2 vCPUs, 16 GB RAM")
    assert shape.memory_gib == 8
    (shape,) = _shape(description="2 vCPUs")
    assert (shape.memory_gib, shape.memory_bytes) == (8, 8 * 2**30)


@pytest.mark.parametrize(
    ("skus", "fields", "reason"),
    [
        ([], {"bundledLocalSsds": {"partitionCount": 1}}, SkipReason.NO_COMPONENT),
        ([], {"accelerators": [{"guestAcceleratorType": "x"}]}, SkipReason.NO_COMPONENT),
        ([_sku(nanos=2, skuId="other")], {}, SkipReason.AMBIGUOUS),
    ],
)
def test_type_has_no_price_when_a_component_is_not_known(skus, fields, reason):
    ram = _sku("N2 Instance Ram running in Americas", unit="GiBy.h")
    page = json.dumps({"skus": [_sku(), ram, *skus]})
    found = list(gcp.parse([page], _shape(**fields)))
    assert not _prices(found)
    assert [row.reason for row in found if isinstance(row, Skipped)] == [
        reason,
        SkipReason.NO_COMPONENT,
    ]


def test_type_has_no_price_when_its_components_are_in_two_currencies():
    ram = json.loads(
        json.dumps(_sku("N2 Instance Ram running in Americas", unit="GiBy.h")).replace("USD", "IDR")
    )
    found = list(gcp.parse([json.dumps({"skus": [_sku(), ram]})], _shape()))
    assert SkipReason.MIXED_CURRENCY in {row.reason for row in found if isinstance(row, Skipped)}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"category": {"resourceFamily": "Storage"}}, SkipReason.NOT_A_MACHINE),
        (
            {"category": {"resourceFamily": "Compute", "usageType": "Commit1Yr"}},
            SkipReason.OTHER_TERMS,
        ),
        ({"pricingInfo": []}, SkipReason.NO_PRICE),
        ({"pricingInfo": [{"pricingExpression": {"usageUnit": "h"}}]}, SkipReason.NO_PRICE),
        ({"pricingInfo": [{"pricingExpression": {"usageUnit": "mo"}}]}, SkipReason.OTHER_UNIT),
        (
            {"pricingInfo": [{"pricingExpression": {"usageUnit": "h", "tieredRates": [{}, {}]}}]},
            SkipReason.TIERED,
        ),
    ],
)
def test_sku_is_skipped_with_its_reason_when_it_is_no_component(fields, reason):
    assert [row.reason for row in _components(_sku(**fields))] == [reason]


def test_sku_has_no_price_when_it_is_zero():
    assert [row.reason for row in _components(_sku(nanos=0))] == [SkipReason.ZERO]


def test_each_price_of_a_sku_has_its_first_day():
    (older,), (newer,) = _sku()["pricingInfo"], _sku(nanos=2)["pricingInfo"]
    newer["effectiveTime"] = "2026-02-01T08:00:00Z"
    first, found = _components(_sku(pricingInfo=[newer, older]))
    assert (first.amount, first.valid_from) == (Decimal("0.000000001"), dt.date(2026, 1, 1))
    assert found.valid_from == dt.date(2026, 2, 1)
    assert found.amount == Decimal("2E-9")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ""}, SkipReason.NO_TYPE),
        ({"memoryMb": None}, SkipReason.UNEXPECTED_SHAPE),
        ({"deprecated": {"state": "OBSOLETE"}}, SkipReason.NOT_OFFERED),
    ],
)
def test_machine_type_is_skipped_with_its_reason_when_it_cannot_be_priced(fields, reason):
    (found,) = _shape(**fields)
    assert found.reason is reason
    assert list(gcp.parse([], [found])) == [found]


def test_kinds_of_a3_are_not_priced_by_the_components_of_another():
    assert [_shape(name)[0].family for name in ("a3-highgpu-8g", "a3-megagpu-8g")] == [
        "a3",
        "a3-megagpu",
    ]


@pytest.mark.parametrize(
    ("parse", "page"),
    [(gcp_skus.components, "{}"), (gcp.shapes, "{}"), (gcp.shapes, '{"items": {"zones/a-b": 1}}')],
)
def test_pages_are_refused_when_they_have_another_shape(parse, page):
    with pytest.raises(InvalidValue, match="page 1"):
        list(parse([page]))
