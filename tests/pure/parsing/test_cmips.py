"""The score in the native probe's line."""

import json

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import cmips


def _changed(text: str, **fields: object) -> str:
    return json.dumps({**json.loads(text), **fields}) + "\n"


def test_cmips_scores_all_threads_when_the_output_is_recorded(recorded):
    text = recorded("cmips-all-x86_64")
    (sample,) = cmips.parse(text, variant="all")
    fields = json.loads(text)
    assert (sample.metric, sample.variant, sample.unit) == ("cmips_score", "all", "CMIPS")
    # 1 CMIPS = 1,024,000 iterations a second.
    assert sample.value == pytest.approx(fields["iterations"] / fields["seconds"] / 1_024_000)
    assert sample.parameters["threads"] == 2
    assert sample.parameters["build_sha256"] == fields["build_sha256"]
    assert sample.parameters["kernel_version"] == "1"
    assert sample.parameters["cpu_s"] == fields["cpu_s"]


def test_cmips_score_is_1000_when_1024_million_iterations_take_a_second(recorded):
    text = _changed(recorded("cmips-all-x86_64"), iterations=10_240_000_000, seconds=10.0)
    assert cmips.parse(text)[0].value == 1000


def test_cmips_gives_the_single_score_when_one_of_two_cpus_is_used(recorded):
    (sample,) = cmips.parse(recorded("cmips-single-x86_64"))
    assert (sample.metric, sample.variant) == ("cmips_single_score", "single")
    # Its share is of the one CPU it asked for, and this machine had two.
    fields = json.loads(recorded("cmips-single-x86_64"))
    assert sample.parameters["cpu_share"] == fields["cpu_s"] / fields["seconds"]


def test_cmips_reads_aarch64_when_the_output_is_recorded(recorded):
    assert cmips.parse(recorded("cmips-all-aarch64"))[0].parameters["arch"] == "aarch64"


@pytest.mark.parametrize(
    ("asked", "metric"),
    [("all", "cmips_score"), ("single", "cmips_single_score"), (None, "cmips_score")],
)
def test_cmips_follows_the_plan_when_the_host_has_one_cpu(recorded, asked, metric):
    text = _changed(recorded("cmips-single-x86_64"), usable_cpus=1)
    assert cmips.parse(text, variant=asked)[0].metric == metric


def test_cmips_names_the_thread_count_when_it_is_neither_one_nor_all(recorded):
    text = _changed(recorded("cmips-all-x86_64"), threads=200)
    (sample,) = cmips.parse(text)
    assert (sample.metric, sample.variant) == ("cmips_score", "200_threads")


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"checksum_ok": False}, "checksum_ok"),
        ({"kernel_version": "2"}, "kernel_version"),
        ({"iterations": 0}, "iterations"),
        ({"iterations": 10**15}, "impossible"),
        ({"seconds": 0}, "seconds"),
        ({"cpu_s": 0}, "cpu_s"),
        ({"threads": 0}, "threads"),
        ({"usable_cpus": None}, "usable_cpus"),
        ({"build_sha256": None}, "build_sha256"),
    ],
)
def test_cmips_is_refused_when_a_field_cannot_be(recorded, fields, detail):
    with pytest.raises(ProbeError, match=detail):
        cmips.parse(_changed(recorded("cmips-all-x86_64"), **fields))


@pytest.mark.parametrize(("asked", "threads"), [("all", 1), ("single", 2), ("other", 2)])
def test_cmips_is_refused_when_the_threads_are_not_those_of_the_plan(recorded, asked, threads):
    with pytest.raises(ProbeError, match="not the variant"):
        cmips.parse(_changed(recorded("cmips-all-x86_64"), threads=threads), variant=asked)


def test_cmips_is_refused_when_the_output_is_cut_anywhere(recorded):
    text = recorded("cmips-all-x86_64")
    for length in range(len(text)):
        with pytest.raises(ProbeError):
            cmips.parse(text[:length])


@pytest.mark.parametrize(
    ("quota", "threads", "cpu_s", "share"),
    [
        (1.5, 2, 3.0, 1.0),  # 3.0 CPU seconds of 1.5 × 2 s
        (0.5, 1, 1.0, 1.0),
        (3.2, 4, 6.4, 1.0),
        (2.5, 1, 1.0, 0.5),  # one thread never gets more than one CPU
        (1.5, 2, 1.5, 0.5),  # less than the limit allows
        (8.0, 2, 4.0, 1.0),
        (None, 2, 3.0, 0.75),
    ],
)
def test_cmips_measures_the_share_against_the_limit(recorded, quota, threads, cpu_s, share):
    text = _changed(
        recorded("cmips-all-x86_64"),
        threads=threads, usable_cpus=threads, iterations=10**9, seconds=2.0, cpu_s=cpu_s,
        cgroup_quota_cpus=quota,
    )  # fmt: skip
    assert cmips.parse(text)[0].parameters["cpu_share"] == pytest.approx(share)
