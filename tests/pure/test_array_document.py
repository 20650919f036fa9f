"""The document of an array: the published capacities, and every fault by its pointer."""

from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from backend.calculators.calc.arrays import ArrayDocument, ArrayResult, estimate
from backend.foundation.documents.model import json_schema
from tests.pure.storage_documents import faults

TIB = 2**40
DRAID: dict[str, Any] = {
    "schema": 1,
    "level": "draid3",
    "disks": 58,
    "disk": {"bytes": 10_000_000_000_000, "read_bytes_per_s": "145e6"},
    "spares": 1,
    "data_disks": 16,
    "zfs": "2019",
}


def array_estimate(document: object) -> dict[str, Any]:
    return estimate(ArrayDocument.read(document)).model_dump()


def test_document_comes_to_the_published_capacity() -> None:
    answer = array_estimate(DRAID)
    assert round(answer["capacity"]["reported_bytes"] / TIB) == 421
    # 57 disks · 145 MB/s · 32 of 38 sectors
    assert answer["throughput"]["write_bytes_per_s"] == pytest.approx(57 * 145e6 * 32 / 38)
    assert answer["throughput"]["read_iops"] is None
    assert answer["survived_failures"] == 3
    Draft202012Validator(json_schema(ArrayDocument)).validate(DRAID)
    Draft202012Validator(json_schema(ArrayResult)).validate(answer)


def test_document_takes_every_field() -> None:
    disk = {
        "bytes": 4 * 10**12, "read_bytes_per_s": 160e6, "write_bytes_per_s": Decimal(100_000_000),
        "read_iops": 200, "write_iops": "100",
    }  # fmt: skip
    stated = {
        "schema": 1, "level": "raidz2", "disks": 13, "disk": disk, "groups": 2, "spares": 1,
        "record_bytes": 8192, "ashift": 9, "controller_bytes_per_s": "6e8", "used_ratio": "0.5",
    }  # fmt: skip
    answer = array_estimate(stated)
    # 16 sectors of 512 B in rows of 4 with 2 parity: 16 of 24, and 12 disks of 100 MB/s through 600
    assert answer["throughput"]["write_bytes_per_s"] == pytest.approx(600e6 * 16 / 24)
    assert answer["rebuild_s"] == pytest.approx(0.5 * 4e12 / 100e6)
    for name, value in (("used_ratio", 1), ("ashift", 12), ("zfs", "2013"), ("groups", 1)):
        assert array_estimate({**stated, name: value}) != answer


@pytest.mark.parametrize(
    ("pointer", "change"),
    [
        ("/schema", {"schema": 2}),
        ("/level", {"level": "raid7"}),
        ("/disks", {"disks": 0}),
        ("/disk/bytes", {"disk": {"bytes": 1, "read_bytes_per_s": 1}}),
        ("/disk/read_bytes_per_s", {"disk": {"bytes": 10**12}}),
        ("/spares", {"spares": 58}),
        ("/data_disks", {"data_disks": 57}),
        ("/zfs", {"zfs": "1999"}),
        ("/used_ratio", {"used_ratio": "1.1"}),
        ("/controller_bytes_per_s", {"controller_bytes_per_s": 0}),
        ("/surprise", {"surprise": 1}),
    ],
)
def test_fault_of_an_array_document_has_its_pointer(pointer: str, change: dict[str, Any]) -> None:
    assert list(faults(array_estimate, {**DRAID, **change})) == [pointer]
