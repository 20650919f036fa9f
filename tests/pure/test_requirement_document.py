"""The document of a requirement: amounts as stated, and every fault by its pointer."""

from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from backend.foundation.documents.model import json_schema
from backend.foundation.errors import InvalidDocument
from backend.measure.metrics import METRICS
from backend.rankings.calc.requirement_document import RequirementDocument

D = Decimal
WHOLE: dict[str, Any] = {
    "targets": {"cmips_score": "16608", "coremark_score": D("2.5"), "memory_latency_ns": None},
    "ram_gib": 64,
    "disk_gb": 0,
    "egress_gb_per_month": None,
    "hours_per_month": 720,
    "max_servers": D("20.0"),
    "kinds": ["cloud", "dedicated"],
    "currency": "EUR",
    "mixed": True,
    "filters": {
        "provider": ["aws", None],
        "vcpu__gte": 4,
        "ram__lte": D("64.5"),
        "measured": False,
    },
    "limit": 10,
}


def test_document_is_read_with_zero_as_no_demand() -> None:
    read = RequirementDocument.read(WHOLE)
    assert read.targets == {"cmips_score": D(16608), "coremark_score": D("2.5")}
    assert (read.ram_gib, read.disk_gb, read.egress_gb_per_month) == (D(64), None, None)
    assert (read.max_servers, read.limit, read.mixed) == (20, 10, True)
    assert read.own == {"hours_per_month": ("720",), "currency": ("EUR",)}
    assert read.params == {
        "provider": ("aws",),
        "vcpu__gte": ("4",),
        "ram__lte": ("64.5",),
        "measured": ("0",),
        **read.own,
    }


def test_fields_left_out_or_zero_have_their_defaults() -> None:
    read = RequirementDocument.read({"disk_gb": "1", "limit": 0, "max_servers": 0})
    assert (read.limit, read.max_servers, read.kinds, read.mixed) == (25, None, (), False)
    assert (read.own, read.params) == ({}, {})


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("fsn1", ("fsn1",)),
        (" fsn1, nbg1 ,", ("fsn1", "nbg1")),
        (["fsn1", "nbg1,fsn1"], ("fsn1", "nbg1")),
        ([], ()),
        ("", ()),
    ],
)
def test_regions_are_a_list_or_one_text_with_commas(given: Any, read: tuple[str, ...]) -> None:
    document = RequirementDocument.read({"ram_gib": 1, "region": given})
    assert document.region == read
    assert document.params.get("region", ()) == read


def test_parts_of_the_world_are_those_that_are_known() -> None:
    document = RequirementDocument.read({"ram_gib": 1, "region_group": "asia,europe"})
    assert document.params == {"region_group": ("asia", "europe")}


def test_filter_of_a_huge_exponent_stays_short() -> None:
    read = RequirementDocument.read({"disk_gb": 1, "filters": {"price": D("1E+999999")}})
    assert read.params["price"] == ("1E+999999",)


@pytest.mark.parametrize(
    ("document", "pointer", "words"),
    [
        ({}, "/targets", "a target, or an amount"),
        ({"targets": []}, "/targets", "an object is needed"),
        ({"targets": {"cmips_score": "a lot"}}, "/targets/cmips_score", "not a decimal number"),
        ({"targets": {"cmips_score": -1}}, "/targets/cmips_score", "not from 0 to 10^15"),
        ({"targets": {"cmips_score": D("1e300")}}, "/targets/cmips_score", "not a decimal number"),
        ({"targets": {"bogo/mips": 1}}, "/targets/bogo~1mips", "not a metric that ranks"),
        ({"targets": {"": 1}}, "/targets", "the metric of an amount is needed"),
        ({"ram_gib": "0.0000000000000000001"}, "/ram_gib", "18 decimals"),
        ({"ram_gib": True}, "/ram_gib", "not a decimal number"),
        ({"ram_gib": 1, "max_servers": D("2.5")}, "/max_servers", "a whole number up to 100000"),
        ({"ram_gib": 1, "max_servers": "20"}, "/max_servers", "a whole number up to 100000"),
        ({"ram_gib": 1, "limit": 251}, "/limit", "a whole number up to 250"),
        ({"ram_gib": 1, "currency": " "}, "/currency", "a three-letter code"),
        ({"ram_gib": 1, "kinds": ["cloud", "ship"]}, "/kinds/1", "not one of cloud"),
        ({"ram_gib": 1, "mixed": "yes"}, "/mixed", "true or false"),
        ({"ram_gib": 1, "filters": "aws"}, "/filters", "an object is needed"),
        ({"ram_gib": 1, "filters": {"provider": {}}}, "/filters/provider", "text or a number"),
        ({"ram_gib": 1, "cpus": 4}, "/cpus", "unknown field"),
        ({"ram_gib": 1, "region": 7}, "/region", "a text or a list of texts"),
        ({"ram_gib": 1, "region": ["eu", None]}, "/region", "a text or a list of texts"),
        ({"ram_gib": 1, "region_group": "asia,mars"}, "/region_group", "mars' is not one of"),
    ],
)
def test_document_is_refused_by_pointer(document: Any, pointer: str, words: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        RequirementDocument.read(document)
    assert [field for field, _ in caught.value.errors] == [pointer]
    assert words in caught.value.errors[0][1]


def test_more_targets_than_possible_are_refused() -> None:
    ranked = [key for key, metric in METRICS.items() if metric.ranking_variants]
    with pytest.raises(InvalidDocument) as caught:
        RequirementDocument.read({"targets": dict.fromkeys(ranked[:13], 1)})
    assert caught.value.errors == [("/targets", "13 targets are more than 12")]


def test_schema_takes_the_document_and_refuses_what_is_unknown() -> None:
    validator = Draft202012Validator(json_schema(RequirementDocument))
    plain = {**WHOLE, "targets": {"cmips_score": "5"}, "max_servers": 20, "filters": {}}
    assert validator.is_valid(plain)
    assert not validator.is_valid({**plain, "surprise": 1})
