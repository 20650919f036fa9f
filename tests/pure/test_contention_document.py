"""The document of shared links: the worked shares, and every fault by its pointer."""

import copy
import json
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from backend.calculators.calc.links import ContentionDocument, ContentionResult
from backend.foundation.documents.model import json_schema
from tests.pure.storage_documents import contention, faults

NAS: dict[str, Any] = {
    "schema": 1,
    "links": [{"name": "nas", "capacity_bytes_per_s": 100_000_000}],
    "flows": [
        {"name": "web", "count": 70, "demand_bytes_per_s": 100_000, "path": ["nas"]},
        {"name": "bulk", "count": 10, "demand_bytes_per_s": None, "path": ["nas"]},
    ],
    "transfer_bytes": 1_000_000_000,
}


def test_ten_greedy_flows_get_what_seventy_small_ones_leave() -> None:
    # (100 − 70 × 0.1) / 10 = 9.3 MB/s; 1,000 MB at 9.3 MB/s take 107.53 s
    web, bulk = contention(NAS)["flows"]
    assert web == {
        "name": "web",
        "rate_bytes_per_s": 100_000.0,
        "bottleneck": None,
        "transfer_s": 10_000.0,
    }
    assert (bulk["rate_bytes_per_s"], bulk["bottleneck"]) == (9_300_000.0, "nas")
    assert bulk["transfer_s"] == pytest.approx(107.526, abs=1e-3)
    assert contention(NAS)["links"] == [
        {"name": "nas", "used_bytes_per_s": 100_000_000.0, "utilisation": 1.0}
    ]


def test_numbers_may_be_decimal_strings_and_counts_left_out() -> None:
    document = {
        "schema": 1,
        "links": [{"name": " a ", "capacity_bytes_per_s": "100.5"}],
        "flows": [{"name": "f", "path": ["a "], "demand_bytes_per_s": Decimal("0.5")}],
    }
    (flow,) = contention(document)["flows"]
    assert (flow["rate_bytes_per_s"], flow["transfer_s"]) == (0.5, None)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/schema", 2),
        ("/surprise", 1),
        ("/links/0/capacity_bytes_per_s", 0),
        ("/links/0/capacity_bytes_per_s", "fast"),
        ("/links/0/name", ""),
        ("/flows/0/count", 0),
        ("/flows/0/count", "70"),
        ("/flows/0/demand_bytes_per_s", -1),
        ("/flows/0/path/0", 7),
        ("/flows/0/path/0", "san"),
        ("/flows/0/path", "nas"),
        ("/flows/1/path", []),
        ("/flows", []),
        ("/transfer_bytes", "1e9"),
    ],
)
def test_fault_names_its_field(pointer: str, value: Any) -> None:
    document = copy.deepcopy(NAS)
    *places, last = pointer.strip("/").split("/")
    at: Any = document
    for place in places:
        at = at[int(place)] if isinstance(at, list) else at[place]
    at[int(last) if isinstance(at, list) else last] = value
    assert pointer in faults(contention, document)


def test_every_fault_is_listed_at_once() -> None:
    assert list(faults(contention, {"schema": 3, "links": [7], "flows": 3})) == [
        "/flows",
        "/links/0",
        "/schema",
    ]
    assert faults(contention, "no object")[""] == "an object is needed"


def test_more_links_and_flows_than_can_be_calculated_are_refused() -> None:
    links = [{"name": f"l{n}", "capacity_bytes_per_s": 1} for n in range(600)]
    flows = [{"name": "f", "path": ["l1"]} for _ in range(600)]
    assert "too many" in faults(contention, {"schema": 1, "links": links, "flows": flows})["/flows"]


def test_answer_fits_its_schema() -> None:
    schema = json_schema(ContentionResult)
    Draft202012Validator(schema).validate(contention(NAS))
    assert "title" not in json.dumps(schema)
    assert schema["properties"]["flows"]["items"]["required"] == [
        "name", "rate_bytes_per_s", "bottleneck", "transfer_s",
    ]  # fmt: skip


def test_link_name_is_one_fault_when_it_occurs_twice() -> None:
    twice = {**NAS, "links": [*NAS["links"], *NAS["links"]]}
    assert faults(contention, twice) == {"/links/1/name": "'nas' occurs twice"}


def test_schema_takes_the_document_and_refuses_what_is_unknown() -> None:
    validator = Draft202012Validator(json_schema(ContentionDocument))
    assert validator.is_valid(NAS)
    assert not validator.is_valid({**NAS, "surprise": 1})
