"""The memory program: sizes asked for are kept to, and its output parses."""

import json
import subprocess
import zlib

import pytest

from backend.domain.parsing import memory

MIB = 1024**2


@pytest.mark.parametrize("threads", ["1", "2", "all"])
def test_memory_prints_the_bandwidth_when_arrays_are_small(probe, threads):
    done = probe(
        "memory", "--test", "bandwidth", "--threads", threads, "--bytes", 4 * MIB, "--rounds", 3
    )
    assert (done.returncode, done.stderr) == (0, "")
    fields = json.loads(done.stdout)
    (sample,) = memory.parse(done.stdout)
    assert sample.metric == "memory_bandwidth_bytes_per_s"
    assert fields["rounds"] == 3
    assert fields["array_bytes"] == 4 * MIB
    assert ("cached" in sample.flags) == (4 * fields["last_cache_bytes"] > 4 * MIB)


def test_memory_adds_rounds_until_its_time_is_over(probe):
    options = ("--threads", 2, "--bytes", 8 * MIB, "--rounds", 1, "--seconds", "0.2")
    done = probe("memory", "--test", "bandwidth", *options)
    fields = json.loads(done.stdout)
    assert fields["checksum_ok"] is True
    assert fields["rounds"] > 1


def test_memory_keeps_below_the_cap_when_one_is_given(probe):
    done = probe(
        "memory", "--test", "bandwidth", "--threads", 2, "--bytes-max", 3 * MIB, "--rounds", 1
    )
    fields = json.loads(done.stdout)
    assert 0 < 3 * fields["array_bytes"] <= 3 * MIB
    assert fields["is_capped"] is True


def test_memory_latency_rises_when_the_buffer_leaves_the_caches(probe):
    def latency_ns(size):
        done = probe("memory", "--test", "latency", "--threads", 1, "--bytes", size, "--rounds", 3)
        assert done.returncode == 0
        assert json.loads(done.stdout)["buffer_bytes"] == size
        (sample,) = memory.parse(done.stdout)
        assert sample.metric == "memory_latency_ns"
        return sample.value

    # 16 KiB stays in the first cache anywhere; 64 MiB does not. Real ratios are 20 to 100.
    assert latency_ns(64 * MIB) > 2 * latency_ns(16384)


def test_memory_writes_incompressible_bytes_when_asked_for_random(bundle):
    outputs = [
        subprocess.run(
            [bundle.binaries["memory"].path, "--test", "random", "--bytes", str(MIB + 7)],
            capture_output=True,
            timeout=20,
        ).stdout
        for _ in range(2)
    ]
    assert [len(output) for output in outputs] == [MIB + 7, MIB + 7]
    assert outputs[0] != outputs[1]
    assert len(zlib.compress(outputs[0])) > 0.999 * MIB


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--test", "bandwidth"],
        ["--test", "latency", "--threads", "2"],
        ["--test", "other", "--threads", "1"],
        ["--test", "bandwidth", "--threads", "1", "--rounds", "1025"],
        ["--test", "bandwidth", "--threads", "1", "--bytes", "-1"],
    ],
)
def test_memory_exits_2_with_an_error_line_when_the_arguments_are_wrong(probe, arguments):
    done = probe("memory", *arguments)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]


def test_memory_exits_3_when_the_memory_is_too_small(probe):
    done = probe("memory", "--test", "bandwidth", "--threads", 1, "--bytes-max", 1024)
    assert done.returncode == 3
    assert "not enough memory" in json.loads(done.stdout)["error"]
