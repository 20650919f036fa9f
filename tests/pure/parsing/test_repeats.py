"""One repeat from the files that the target wrote, and stored texts read again by their probe."""

import hashlib
import json
import math
from dataclasses import asdict, replace

import pytest

from backend.foundation.errors import ProbeError, Reason
from backend.measure.probes import PROBES
from backend.measure.readers import ParsedSample
from backend.measure.repeats import (
    STDERR_MARK,
    RawResult,
    flags_by_sample,
    output_of,
    reparse,
    repeat_of,
    was_disturbed,
)

CMIPS = "cmips-all-x86_64"


@pytest.fixture
def made(recorded):
    """made("cmips-all-0", output, …): the repeat, with other fields in its record."""
    record = json.loads(recorded("observe-clocks"))

    def repeat(name, out="", *, err="", series="", damage="", **other):
        text = json.dumps({**record, "foreign_cpu_ratio": 0.0, **other}) + "\n"
        files = [one.encode() for one in (out, err, text, series)]
        return repeat_of(RawResult(7, f"007-{name}", *files), damage)

    return repeat


def test_repeat_has_its_samples_conditions_and_series(made, recorded):
    repeat = made("cmips-all-2", recorded(CMIPS), series=recorded("observe-series"))
    assert (repeat.probe, repeat.variant, repeat.repeat) == ("cmips", "all", 2)
    assert "cmips_score" in {sample.metric for sample in repeat.samples}
    assert repeat.conditions.wall_s == 3.408498
    assert repeat.series
    assert (repeat.reason, repeat.error, repeat.unavailable) == (None, "", "")


def test_repeat_of_the_inventory_has_facts_and_no_samples(made, recorded):
    repeat = made("inventory-host-0", recorded("inventory-debian-12-second"))
    assert repeat.facts is not None
    assert repeat.samples == ()


@pytest.mark.parametrize(
    ("record", "reason", "detail"),
    [
        ({"timed_out": True}, Reason.TIMEOUT, "took longer than allowed, 3 s"),
        ({"cancelled": True}, Reason.INTERRUPTED, "cancelled"),
        ({"signal": 9}, Reason.INTERRUPTED, "killed by signal 9"),
        ({"exit_code": 5}, Reason.DISK_FULL, "no space"),
        ({"exit_code": 2}, Reason.UNSUPPORTED, "ended with status 2: no space"),
    ],
)
def test_repeat_that_did_not_end_by_itself_names_the_reason(made, record, reason, detail):
    exit_code = None if "signal" in record else 1
    repeat = made(
        "dd-write-0", "half", err="first\nno space\n", **{"exit_code": exit_code, **record}
    )
    assert (repeat.reason, repeat.error) == (reason, f"dd write, repeat 1: {detail}")
    assert repeat.samples == ()


def test_full_disk_text_has_no_marker(made):
    repeat = made("dd-write-0", "=== failure disk_full: no space on /srv\n", exit_code=5)
    assert (repeat.reason, repeat.error) == (
        *(Reason.DISK_FULL, "dd write, repeat 1: no space on /srv"),
    )


@pytest.mark.parametrize(
    ("probe", "said", "number"),
    [("memory", "a worker process failed", 0), ("small_files", "cannot make a file", 13)],
)
def test_error_of_a_probe_is_its_words_alone(made, probe, said, number):
    line = f'{{"schema":1,"probe":"{probe}","error":"{said}","errno":{number}}}\n'
    repeat = made(f"{probe}-create-0", line, exit_code=3)
    assert repeat.error == f"{probe} create, repeat 1: ended with status 3: {said}"


def test_command_stopped_for_memory_is_unavailable_with_the_figures(made):
    figures = {"memory_available_bytes": 150 * 2**20, "memory_bytes": 1536 * 2**20}
    repeat = made("memory-bandwidth-0", signal=15, exit_code=None, memory_short=True, **figures)
    assert (repeat.reason, repeat.error) == (None, "")
    assert repeat.unavailable == (
        "stopped: only 150 of 1536 MiB of memory stayed available to other programs"
    )


def test_what_a_host_cannot_run_is_unavailable_and_no_failure(made):
    repeat = made("fio-rand_read_qd1-0", "=== failure unavailable: no fio here\n", exit_code=7)
    assert (repeat.unavailable, repeat.reason) == ("no fio here", None)
    assert made("fio-rand_read_qd1-0", exit_code=7).unavailable == "the host cannot run it"


def test_output_that_no_parser_reads_is_a_fault_of_ours(made):
    for name in ("cmips-all-0", "abacus-all-0"):
        repeat = made(name, "nonsense")
        assert repeat.reason is Reason.BUG
        assert repeat.samples == ()


def test_damaged_files_and_records_are_interrupted(made):
    assert made("cmips-all-0", damage="the hash differs").error.endswith("the hash differs")
    no_record = repeat_of(RawResult(1, "001-cmips-all-0", b"", b"", b"\xff"))
    assert (no_record.reason, no_record.is_disturbed) == (Reason.INTERRUPTED, False)


def test_series_that_cannot_be_read_is_a_warning_only(made, recorded):
    repeat = made("cmips-all-0", recorded(CMIPS), series="nonsense")
    assert (repeat.reason, repeat.series) == (None, None)
    assert repeat.error
    assert repeat.samples


@pytest.mark.parametrize(
    ("name", "record", "is_disturbed"),
    [
        ("cmips-all-0", {"foreign_cpu_ratio": 0.04}, False),
        ("cmips-all-0", {"foreign_cpu_ratio": 0.06}, True),
        # The kernel's own work for a disk test counts as foreign, that of other users does not.
        ("dd-write-0", {"foreign_cpu_ratio": 0.3, "foreign_user_ratio": 0.01}, False),
        ("dd-write-0", {"foreign_cpu_ratio": 0.3, "foreign_user_ratio": 0.08}, True),
        ("dd-write-0", {"foreign_cpu_ratio": 0.3}, True),
        # 0.4 s of two CPUs are 80 looks of the kernel: 8 % is 2 to 14 %, 20 % at least 11 %.
        ("small_files-create-0", {"foreign_user_ratio": 0.08, "wall_s": 0.4}, False),
        ("small_files-create-0", {"foreign_user_ratio": 0.2, "wall_s": 0.4}, True),
        ("small_files-create-0", {"foreign_user_ratio": 1.2, "wall_s": 0.4}, True),
        ("dd-write-0", {"foreign_user_ratio": 0.06, "wall_s": 30.0}, True),
    ],
)
def test_repeat_is_disturbed_by_other_work(made, name, record, is_disturbed):
    repeat = made(name, **record)
    assert repeat.conditions.usable_cpus == 2
    assert repeat.is_disturbed is is_disturbed
    sample = ParsedSample(metric="any", variant="", unit="1", value=1.0, flags=("cached",))
    assert repeat.flags(sample) == ["cached", *(["disturbed"] if is_disturbed else [])]


@pytest.mark.parametrize(
    ("threads", "steal_ratio", "is_disturbed"),
    [
        (2, 0.2, False),  # 20 % of both CPUs stolen from two threads
        (2, 0.0, True),
        (1, 0.1, False),  # 20 % of one CPU, which is 10 % of both
        (1, 0.05, True),
    ],
)
def test_stolen_time_disturbs_no_repeat(made, recorded, threads, steal_ratio, is_disturbed):
    """W1: every repeat of a host that steals counts, whatever thread the time is taken from."""
    line = {**json.loads(recorded(CMIPS)), "threads": threads, "cpu_s": 0.8 * threads}
    name = "cmips-single-0" if threads == 1 else "cmips-all-0"
    repeat = made(name, json.dumps(line) + "\n", steal_ratio=steal_ratio)
    assert repeat.samples
    assert repeat.is_disturbed is is_disturbed


def test_stored_conditions_give_the_flags_anew(made, recorded):
    """W1: what was stored as disturbed by steal alone counts, by its own evidence."""
    line = {**json.loads(recorded(CMIPS)), "cpu_s": 1.6}
    repeat = made("cmips-all-0", json.dumps(line) + "\n", steal_ratio=0.2)
    stored = asdict(repeat.conditions)
    key = ("cmips_score", "all")
    assert flags_by_sample("cmips", repeat.samples, stored, ["disturbed"])[key] == []
    foreign = {**stored, "foreign_cpu_ratio": 0.06}
    assert flags_by_sample("cmips", repeat.samples, foreign)[key] == ["disturbed"]
    for unknown in ({}, {"wall_s": 2.5}, {**stored, "steal_ratio": "much"}):
        assert flags_by_sample("cmips", repeat.samples, unknown)[key] == []
        flags = flags_by_sample("cmips", repeat.samples, unknown, ["disturbed"])
        assert flags[key] == ["disturbed"]


@pytest.mark.parametrize("flag", ["credit_standard", "volume_small"])
def test_how_a_machine_was_rented_is_kept_when_flags_are_made_anew(made, recorded, flag):
    repeat = made("cmips-all-0", recorded(CMIPS))
    flags = flags_by_sample("cmips", repeat.samples, {}, [flag, "of an older version"])
    assert flags["cmips_score", "all"] == [flag]


def test_hashes_are_those_of_the_four_files():
    raw = RawResult(1, "001-cmips-all-0", b"out", b"err", b"{}", b"1 2")
    assert raw.size_bytes == len(b"outerr{}1 2")
    assert raw.file_hashes == {
        suffix: hashlib.sha256(content).hexdigest()
        for suffix, content in (
            (".out", b"out"),
            (".err", b"err"),
            (".json", b"{}"),
            (".series", b"1 2"),
        )
    }


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


def test_repeat_is_judged_by_the_sample_that_states_its_share(made, recorded):
    conditions = made("cmips-all-2", recorded(CMIPS)).conditions
    short = {"cpu_share": 0.5, "threads": conditions.usable_cpus}
    assert was_disturbed("cmips", conditions, [{"threads": 1}, short])
    assert not was_disturbed("cmips", conditions, [{"threads": 1}])


@pytest.mark.parametrize(("quota", "threads"), [(0.5, 1), (1.5, 2), (2.5, 3), (3.2, 4), (1.5, 1)])
def test_quiet_repeat_under_a_fractional_limit_is_not_disturbed(made, recorded, quota, threads):
    conditions = replace(
        made("cmips-all-2", recorded(CMIPS)).conditions,
        usable_cpus=math.ceil(quota), foreign_cpu_ratio=0.0, steal_ratio=0.0,
    )  # fmt: skip
    limit = min(quota, threads)

    def sample(received_s):
        text = {**json.loads(recorded(CMIPS)), "threads": threads, "usable_cpus": threads}
        text |= {"seconds": 2.0, "cpu_s": received_s, "iterations": 10**9}
        line = json.dumps({**text, "cgroup_quota_cpus": quota}) + "\n"
        return PROBES["cmips"].parse(line, None)[0].parameters

    assert not was_disturbed("cmips", conditions, [sample(2.0 * limit)])
    assert was_disturbed("cmips", conditions, [sample(2.0 * limit * 0.9)])
    # Stolen time is added back as a share of the limit: 0.1 of all that may be used.
    stolen = replace(conditions, steal_ratio=0.1)
    if limit == quota:
        assert not was_disturbed("cmips", stolen, [sample(2.0 * limit * 0.9)])
