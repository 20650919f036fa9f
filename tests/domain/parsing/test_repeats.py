"""Kept texts of a run, read again by the name of their probe."""

import pytest

from backend.domain.errors import ProbeError
from backend.domain.repeats import STDERR_MARK, output_of, reparse


@pytest.mark.parametrize(
    ("probe", "variant", "name", "metric"),
    [
        ("cmips", "all", "cmips-all-x86_64", "cmips_score"),
        ("cmips", "single", "cmips-single-x86_64", "cmips_single_score"),
        ("memory", "latency", "memory-latency-x86_64", "memory_latency_ns"),
        ("dd", "write", "dd-gnu-9.1-write-direct", "disk_write_bytes_per_s"),
        ("fio", "rand_read_qd32", "fio-3.33-framed-rand-read-qd32", "disk_rand_read_iops"),
        ("fio_matrix", "read_qd32_jobs1", "fio-3.33-framed-rand-read-qd32", "disk_rand_read_iops"),
        ("network", "tcp_parallel", "network-tcp-parallel", "net_tcp_bits_per_s"),
    ],
)
def test_text_of_a_probe_gives_its_samples_again(recorded, probe, variant, name, metric):
    samples = reparse(probe, variant, recorded(name) + STDERR_MARK + "a warning")
    assert metric in {sample.metric for sample in samples}
    is_matrix = any(sample.variant.startswith("matrix") for sample in samples)
    assert is_matrix == (probe == "fio_matrix")


def test_inventory_and_packages_hold_no_samples(recorded):
    assert reparse("inventory", "host", recorded("inventory-debian-12-second")) == []
    assert reparse("packages", "install", "installed fio\n") == []


def test_text_of_an_unknown_or_another_probe_is_refused(recorded):
    with pytest.raises(ProbeError, match="does not know"):
        reparse("abacus", "all", "1\n")
    for probe in ("small_files", "sustained"):
        with pytest.raises(ProbeError):
            reparse(probe, "all", recorded("cmips-all-x86_64"))


def test_output_ends_where_the_complaints_begin():
    assert output_of("a\n") == "a\n"
    assert output_of(f"a\n{STDERR_MARK}b\n") == "a\n"
