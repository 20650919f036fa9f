"""What disk and network figures are of: two targets are two quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.benchmarks.calc.targets import is_sold_volume, target

GIB = 2**30
FIO = {
    "engine": "libaio",
    "is_direct": True,
    "file_bytes": GIB,
    "stored_on": "vda1",
    "stored_as": "ext4",
}


@pytest.mark.parametrize(
    ("probe", "parameters", "peer", "words"),
    [
        ("fio", FIO, "", "vda1 ext4, libaio direct, 1 GiB"),
        ("fio", {**FIO, "is_direct": False}, "", "vda1 ext4, libaio buffered, 1 GiB"),
        ("dd", {"bytes": 3 * 2**28, "copies": 3}, "", "copies from 256 MiB"),
        ("dd", {"bytes": 143 * 2**20, "copies": 1}, "", "copies from 128 MiB"),
        ("fio", {"engine": "psync", "file_bytes": None}, "", "psync buffered"),
        ("small_files", {"files": 2000, "bytes": 4_100_000}, "", "2000 files, 4100000 bytes"),
        ("network", {"peer": "10.0.0.2", "streams": 8}, "own-nas 1f", "to own-nas 1f, 8 streams"),
        ("network", {"peer": "10.0.0.2"}, "", "to 10.0.0.2"),
        ("cmips", {"threads": 2}, "", ""),
    ],
)
def test_target_names_what_a_figure_is_of(probe, parameters, peer, words):
    assert target(probe, parameters, peer) == words


ENTERING = {
    "stored_on": st.sampled_from(["vda1", "vdb", "md/sda1+sdb1", "server/4294967295"]),
    "stored_as": st.sampled_from(["ext4", "xfs", "nfs4"]),
    "engine": st.sampled_from(["libaio", "io_uring", "psync"]),
    "is_direct": st.booleans(),
    "file_bytes": st.integers(1, 2**45),
}


@given(st.fixed_dictionaries(ENTERING), st.fixed_dictionaries(ENTERING))
def test_targets_are_equal_only_where_every_parameter_is(one, other):
    assert (target("fio", one) == target("fio", other)) == (one == other)


@pytest.mark.parametrize(
    ("stored_on", "root_on", "is_sold"),
    [
        ("sda3", "sda1", True),
        ("nvme0n1p2", "nvme0n1p1", True),
        ("nvme1n1p1", "nvme0n1p1", False),
        ("nvme0n2", "nvme0n1p1", False),
        ("md/sda2+sdb2", "md/sdb1+sda1", True),
        ("sdb1", "sda1", False),
        ("server/12345", "vda1", False),
        (None, "vda1", True),
        ("vda1", None, True),
    ],
)
def test_offer_sells_the_disk_that_its_machine_runs_from(stored_on, root_on, is_sold):
    assert is_sold_volume(stored_on, root_on) == is_sold
