"""Rates and flush times in the native probe's line."""

import json

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import small_files


def _changed(text: str, **fields: object) -> str:
    return json.dumps({**json.loads(text), **fields}) + "\n"


def test_small_files_gives_rate_and_flush_time_of_a_recorded_output(recorded):
    rate, p99 = small_files.parse(recorded("small_files-ext4"))
    assert (rate.metric, rate.variant, rate.value, rate.unit) == (
        *("small_files_per_s", "standard", 1205.521, "files/s"),
    )
    assert (p99.metric, p99.variant, p99.value, p99.unit) == (
        *("fsync_p99_ns", "standard", 4_141_664, "ns"),
    )
    assert (rate.flags, p99.flags) == ((), ())
    assert rate.parameters == p99.parameters
    assert rate.parameters == {
        "files": 500,
        "directories": 100,
        "bytes": 7_687_201,
        "directory": "files",
        "filesystem": "ext",
        "settle_s": 0.006279,
        "create_s": 0.414758,
        "forget_s": 0.019223,
        "read_s": 0.050689,
        "remove_s": 0.09422,
        "write_bytes_per_s": 18_534_168,
        "read_files_per_s": 9864.112,
        "read_bytes_per_s": 151_654_817,
        "fsync_p50_ns": 218_556,
        "fsync_p99_ns": 4_141_664,
        "fsync_max_ns": 15_374_198,
        "is_cold": True,
        "arch": "x86_64",
        "build_sha256": "1a2d320f4eaae61fa95cd84984f258d5afba64d5c93a4ebd1b2dc2f3f16fa88e",
    }


def test_small_files_are_flagged_cached_when_they_never_left_memory(recorded):
    samples = small_files.parse(recorded("small_files-tmpfs"))
    assert [sample.flags for sample in samples] == [("cached",), ("cached",)]
    assert samples[0].parameters["filesystem"] == "tmpfs"
    assert samples[0].parameters["is_cold"] is False


@pytest.mark.parametrize(
    ("told", "is_cached"),
    [
        ({"is_in_memory": True, "stored_on": "tmpfs", "stored_as": "tmpfs"}, True),
        ({"is_in_memory": False, "stored_on": "vda1", "stored_as": "ext4"}, False),
        # Whatever the host says: a flush that asks no device.
        (dict.fromkeys(("fsync_p50_ns", "fsync_p99_ns", "fsync_max_ns"), 378), True),
        (dict.fromkeys(("fsync_p50_ns", "fsync_p99_ns", "fsync_max_ns"), 2_500), False),
    ],
)
def test_small_files_are_flagged_cached_when_no_disk_is_below(recorded, told, is_cached):
    samples = small_files.parse(_changed(recorded("small_files-ext4"), **told))
    assert [sample.flags for sample in samples] == [("cached",) if is_cached else ()] * 2
    assert samples[0].parameters.get("stored_on") == told.get("stored_on")


@pytest.mark.parametrize(("number", "name"), [(0x1234, "0x1234"), (0, None), (0x6969, "nfs")])
def test_small_files_names_the_file_system_when_it_can(recorded, number, name):
    text = _changed(recorded("small_files-ext4"), filesystem_type=number)
    assert small_files.parse(text)[0].parameters["filesystem"] == name


def test_small_files_is_not_cold_on_a_file_system_with_its_own_cache(recorded):
    text = _changed(recorded("small_files-ext4"), filesystem_type=0x2FC12FC1, is_cold=False)
    assert small_files.parse(text)[0].parameters["is_cold"] is False


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"checksum_ok": False}, "checksum_ok"),
        ({"files": 0}, "files"),
        ({"files": 501}, "are not"),
        ({"create_s": 0}, "create_s"),
        ({"files_per_s": 0}, "files_per_s"),
        ({"fsync_p50_ns": 4_141_665}, "order"),
        ({"fsync_max_ns": 4_141_663}, "order"),
        ({"fsync_p99_ns": 0}, "fsync_p99_ns"),
        ({"bytes": 500 * 1024 - 1}, "cannot have"),
        ({"bytes": 500 * 65536 + 1}, "cannot have"),
        ({"resident_files": 1}, "in memory"),
        ({"resident_files": 501, "is_cold": False}, "in memory"),
        ({"is_cold": 1}, "is_cold"),
        ({"directory": None}, "directory"),
        ({"filesystem_type": -1}, "filesystem_type"),
    ],
)
def test_small_files_is_refused_when_a_field_cannot_be(recorded, fields, detail):
    with pytest.raises(ProbeError, match=detail):
        small_files.parse(_changed(recorded("small_files-ext4"), **fields))


def test_small_files_is_refused_when_the_disk_was_full():
    text = '{"schema":1,"probe":"small_files","error":"cannot write a file","errno":28}\n'
    with pytest.raises(ProbeError, match="cannot write a file"):
        small_files.parse(text)


def test_small_files_is_refused_when_the_output_is_cut_anywhere(recorded):
    text = recorded("small_files-ext4")
    for length in range(len(text)):
        with pytest.raises(ProbeError):
            small_files.parse(text[:length])
