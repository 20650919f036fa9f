"""The memory program: sizes asked for are kept to, and its output parses."""

import ctypes
import json
import os
import subprocess
import zlib
from pathlib import Path

import pytest

from backend.measure.readers import memory
from tests.probes.cgroups import mounting

MIB = 1024**2
PR_SET_THP_DISABLE = 41


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
    assert ("cached" in sample.flags) == (4 * fields["last_cache_bytes"] > 3 * 4 * MIB)


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


def _with_cache(bundle, tmp_path, cache_mib, *words, available_mib=20_000):
    """What the program prints on a machine with so much last cache and memory."""
    places = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/level"))
    last = max(places, key=lambda place: int(place.read_text()), default=None)
    if last is None:
        pytest.skip("this machine does not tell its caches")
    size, table = tmp_path / "size", tmp_path / "meminfo"
    size.write_text(f"{cache_mib * 1024}K\n")
    total_mib = max(5000, available_mib)
    table.write_text(f"MemTotal: {total_mib << 10} kB\nMemAvailable: {available_mib << 10} kB\n")
    before = mounting((size, str(last.parent / "size")), (table, "/proc/meminfo"))
    command = [*before, str(bundle.binaries["memory"].path), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("cache_mib", "available_mib", "found"),
    [
        (32, 20_000, (128, False)),
        (260, 20_000, (1024, False)),
        # Twice 504 MiB are 1008: a random walk finds less than half of 1 GiB in the cache.
        (504, 20_000, (1024, False)),
        # 60 % of 2000 MiB are 1200, of 1500 MiB 900: half a GiB is the power of two below.
        (504, 2000, (1024, False)),
        (504, 1500, (512, True)),
    ],
)
def test_memory_latency_leaves_a_large_cache_behind(
    bundle, tmp_path, cache_mib, available_mib, found
):
    words = ("--test", "latency", "--threads", 1, "--rounds", 1)
    fields = _with_cache(bundle, tmp_path, cache_mib, *words, available_mib=available_mib)
    assert fields["last_cache_bytes"] == cache_mib * MIB
    assert (fields["buffer_bytes"] // MIB, fields["is_capped"]) == found


@pytest.mark.parametrize(
    ("cache_mib", "available_mib", "is_capped"),
    [
        (32, 20_000, False),
        # Three arrays of five caches together: 1300 MiB.
        (260, 20_000, False),
        # 60 % of 1800 MiB are 1080, above four times the cache: 1040.
        (260, 1800, False),
        (260, 1700, True),
    ],
)
def test_memory_bandwidth_flags_small_arrays(bundle, tmp_path, cache_mib, available_mib, is_capped):
    words = ("--test", "bandwidth", "--threads", 1, "--rounds", 1)
    fields = _with_cache(bundle, tmp_path, cache_mib, *words, available_mib=available_mib)
    assert (3 * fields["array_bytes"] < 4 * cache_mib * MIB) is is_capped
    assert fields["is_capped"] is is_capped


def test_memory_bandwidth_takes_three_rounds_and_then_stops_at_its_time(bundle, tmp_path):
    """Of a large cache a round alone takes longer than the time that is asked."""
    words = ("--test", "bandwidth", "--threads", 1, "--seconds", "0.01")
    fields = _with_cache(bundle, tmp_path, 260, *words)
    assert fields["rounds"] == 3


def _node_directory(path, *cpu_lists, memory="0-7"):
    """What /sys tells of NUMA nodes, with these CPUs."""
    (path / "has_memory").write_text(memory + "\n")
    for number, cpus in enumerate(cpu_lists):
        (path / f"node{number}").mkdir()
        (path / f"node{number}" / "cpulist").write_text(cpus + "\n")
    return path


BANDWIDTH = ("--test", "bandwidth", "--threads", "all", "--bytes", 4 * MIB, "--rounds", 2)


def test_memory_measures_each_node_when_there_are_several(probe, tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("two CPUs are needed to be two nodes")
    # Node 1 has no CPU of ours, node 3 no memory.
    nodes = _node_directory(
        tmp_path, str(cpus[0]), "8000-8191", f"{cpus[1]},{cpus[1]}", "0-7", memory="0-2"
    )
    done = probe("memory", *BANDWIDTH, "--nodes", nodes)
    whole, *each = memory.parse(done.stdout)
    assert whole.variant == "all"
    assert whole.parameters["is_pinned"] == (len(cpus) == whole.parameters["usable_cpus"])
    assert [sample.variant for sample in each] == ["node0", "node2"]


def test_memory_omits_nodes_when_there_is_one(probe, tmp_path):
    for nodes in (_node_directory(tmp_path, "0-8191"), tmp_path / "missing"):
        done = probe("memory", *BANDWIDTH, "--nodes", nodes)
        assert "nodes" not in json.loads(done.stdout)
        assert json.loads(done.stdout)["is_pinned"] is False


def test_memory_omits_nodes_when_not_all_threads_run(probe, tmp_path):
    nodes = _node_directory(tmp_path, "0", "1")
    done = probe("memory", *BANDWIDTH, "--threads", 1, "--nodes", nodes)
    assert ("nodes" in json.loads(done.stdout)) == (len(os.sched_getaffinity(0)) == 1)


def test_memory_has_the_handover_when_two_workers_have_a_cpu_each(probe):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two CPUs are needed")
    told = None
    for _ in range(10):  # beside other work both may have been on one CPU, and nothing is told
        done = probe("memory", *BANDWIDTH, "--rounds", 200)
        told = told or json.loads(done.stdout)["handover_ns"]
    # A few ns between siblings, under a microsecond between sockets; more when a worker waited.
    assert told is not None
    assert 1 < told < 10_000
    done = probe("memory", *BANDWIDTH, "--threads", 1)
    assert json.loads(done.stdout)["handover_ns"] is None


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


def test_memory_latency_says_how_much_lay_in_huge_pages(probe):
    done = probe("memory", "--test", "latency", "--threads", 1, "--bytes", 64 * MIB, "--rounds", 2)
    fields = json.loads(done.stdout)
    (sample,) = memory.parse(done.stdout)
    granted = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    if fields["huge_page_bytes"] is None:
        pytest.skip("this kernel does not say what it granted")
    assert fields["huge_page_bytes"] % (2 * MIB) == 0
    assert sample.parameters["huge_page_ratio"] == pytest.approx(
        min(1, fields["huge_page_bytes"] / (64 * MIB))
    )
    if "[never]" in granted:
        assert sample.flags[-1:] == ("small_pages",)


def test_memory_has_no_huge_pages_where_they_are_switched_off(probe):
    """What prctl forbids the program, a host with transparent_hugepage=never forbids all."""
    libc = ctypes.CDLL(None)
    done = probe(
        *("memory", "--test", "latency", "--threads", 1, "--bytes", 16 * MIB, "--rounds", 1),
        preexec_fn=lambda: libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0),
    )
    (sample,) = memory.parse(done.stdout)
    if sample.parameters["huge_page_bytes"] is None:
        pytest.skip("this kernel does not say what it granted")
    assert sample.parameters["huge_page_ratio"] == 0
    assert "small_pages" in sample.flags


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
