"""Memory that belongs to others is left alone: limits of cgroups, and what is taken below them."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from backend.measure.profiles import PROFILES
from backend.measure.repeats import RawResult, repeat_of
from tests.probes.cgroups import memory_cgroup, seen_from_cgroup, write_files
from workers.remote.probes.plan import plan, plan_script

MIB = 2**20
GIB = 2**30
# A program that holds so many MiB, says so, and ends with its standard input.
HOLDER = (
    "import sys; held = bytearray(int(sys.argv[1]) << 20); held[::4096] = b'x' * len(held[::4096]);"
    " print('held', flush=True); sys.stdin.read()"
)


def machine_bytes(name):
    lines = Path("/proc/meminfo").read_text().split("\n")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def memory_figures(bundle, root, own):
    words = seen_from_cgroup(bundle.binaries["observe"].path, "--memory", root=root, own=own)
    return [int(word) for word in words.split()]


def level(limit, used, cached, *, version):
    """The files of one level; a limit of None is none."""
    if version == 2:
        return {
            "memory.max": f"{'max' if limit is None else limit}\n",
            "memory.current": f"{used}\n",
            "memory.stat": f"anon 1\nfile 7\nactive_file 9\ninactive_file {cached}\nslab 4\n",
        }
    return {
        "memory.limit_in_bytes": f"{9223372036854771712 if limit is None else limit}\n",
        "memory.usage_in_bytes": f"{used}\n",
        "memory.stat": f"cache 3\ninactive_file 5\ntotal_rss 1\ntotal_inactive_file {cached}\n",
    }


def tree(version, levels):
    """Files of nested cgroups /, /a, /a/b …, and what /proc/self/cgroup says within the innermost."""
    path = "/".join("abcdefgh"[: len(levels) - 1])
    top = "" if version == 2 else "memory/"
    files = {}
    for depth, values in enumerate(levels):
        place = top + "".join(f"{name}/" for name in path.split("/")[:depth] if name)
        files |= {f"{place}{k}": v for k, v in level(*values, version=version).items()}
    return files, f"0::/{path}\n" if version == 2 else f"4:memory:/{path}\n1:cpu:/else\n"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("levels", "told"),
    [
        # Limit - used + what is cached: 1536 - 1100 + 100 MiB.
        ([(None, 9, 0), (1536 * MIB, 1100 * MIB, 100 * MIB)], (536 * MIB, 1536 * MIB)),
        # A neighbour below the same parent has used most of what the parent may have: 2048 - 1900.
        ([(2048 * MIB, 1900 * MIB, 0), (1024 * MIB, 100 * MIB, 0)], (148 * MIB, 1024 * MIB)),
        # Lowered below what is used already.
        ([(512 * MIB, 600 * MIB, 0)], (0, 512 * MIB)),
        # No more can be cached than is used: both are read at different times.
        ([(512 * MIB, 10 * MIB, 20 * MIB)], (512 * MIB, 512 * MIB)),
    ],
)
def test_available_memory_is_what_the_tightest_level_leaves(
    bundle, tmp_path, version, levels, told
):
    files, own = tree(version, levels)
    root = write_files(tmp_path / "cgroup", files)
    available, total, _ = memory_figures(bundle, root, own)
    assert (available, total) == told


@pytest.mark.parametrize("seed", range(20))
def test_available_memory_is_the_least_over_all_levels_of_any_tree(bundle, tmp_path, seed):
    """Oracle: min over levels of max(0, limit - used + min(cached, used)), and of MemAvailable."""
    draw = random.Random(seed)
    version = draw.choice([1, 2])
    levels = []
    for _ in range(draw.randrange(1, 7)):
        limit = draw.choice([None, draw.randrange(1, 4 * GIB)])
        used = draw.randrange(0, 4 * GIB)
        levels.append((limit, used, draw.randrange(0, 2 * used + 1)))
    files, own = tree(version, levels)
    root = write_files(tmp_path / "cgroup", files)
    left = [max(0, limit - used + min(cached, used)) for limit, used, cached in levels if limit]
    limits = [limit for limit, _, _ in levels if limit]
    available, total, spare = memory_figures(bundle, root, own)
    if left:
        assert available == min(left)
    assert total == min([*limits, machine_bytes("MemTotal")])
    # A tenth stays, from 64 MiB to 1 GiB.
    assert spare == max(0, available - min(max(total // 10, 64 * MIB), GIB))


def test_memory_high_limits_available_memory(bundle, tmp_path):
    files, own = tree(2, [(None, 0, 0), (GIB, 300 * MIB, 0)])
    root = write_files(tmp_path / "cgroup", {**files, "a/memory.high": f"{512 * MIB}\n"})
    assert memory_figures(bundle, root, own)[:2] == [212 * MIB, 512 * MIB]


@pytest.mark.parametrize(
    ("files", "own", "quota_milli"),
    [
        ({"cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, "0::/a\n", 1500),
        ({"a/cpu.max": "50000 100000\n", "a/b/cpu.max": "200000 100000\n"}, "0::/a/b\n", 500),
        # Version 1, with a limit above a level that has none of its own.
        (
            {
                "cpu/cpu.cfs_quota_us": "-1\n",
                "cpu/a/cpu.cfs_quota_us": "125000\n",
                "cpu/a/cpu.cfs_period_us": "50000\n",
                "cpu/a/b/cpu.cfs_quota_us": "-1\n",
                "cpu/a/b/cpu.cfs_period_us": "100000\n",
            },
            "2:cpu,cpuacct:/a/b\n",
            2500,
        ),
        ({"cpu.max": "max 100000\n"}, "0::/\n", 0),
    ],
)
def test_inventory_has_the_lowest_cpu_limit_of_all_levels(
    bundle, tmp_path, files, own, quota_milli
):
    root = write_files(tmp_path / "cgroup", files)
    program = bundle.binaries["observe"].path
    assert seen_from_cgroup(program, "--quota", root=root, own=own) == f"{quota_milli}\n"


def test_memory_probe_says_how_much_is_free_when_it_is_too_little(bundle, tmp_path):
    files, own = tree(2, [(150 * MIB, 100 * MIB, 0)])
    root = write_files(tmp_path / "cgroup", files)
    words = ("--test", "bandwidth", "--threads", "1")
    said = seen_from_cgroup(bundle.binaries["memory"].path, *words, root=root, own=own)
    assert said == (
        "=== failure unavailable: only 50 MiB of 150 MiB of memory are available here, "
        "and 64 MiB stay free for other programs\n"
    )


@pytest.mark.parametrize("test", ["bandwidth", "latency"])
def test_memory_probe_leaves_a_reserve_below_the_limit(bundle, tmp_path, test):
    files, own = tree(2, [(1536 * MIB, 1100 * MIB, 0)])
    root = write_files(tmp_path / "cgroup", files)
    words = ("--test", test, "--threads", "1", "--rounds", "1")
    said = seen_from_cgroup(bundle.binaries["memory"].path, *words, root=root, own=own)
    fields = json.loads(said)
    taken = fields["buffer_bytes"] if test == "latency" else 3 * fields["array_bytes"]
    # 436 MiB are available: 60 % of them are 261.6 MiB, less than all but a tenth of 1536 MiB.
    assert fields["available_bytes"] == 436 * MIB
    assert 100 * MIB < taken <= 261.6 * MIB


class Neighbour:
    """A program in the same cgroup that holds most of its memory."""

    def __init__(self, cgroup, mib):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(mib)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=cgroup.joining,  # noqa: PLW1509
        )
        assert self.process.stdout.readline() == b"held\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(b"", timeout=20)

    @property
    def lives(self):
        return self.process.poll() is None


def run_in(cgroup, run_directory):
    """A runner in the cgroup, its steps recorded."""
    done = subprocess.run(
        ["sh", str(run_directory.path / "runner.sh")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=cgroup.joining,
    )
    results = run_directory.path / "results"
    return done, {
        name: repeat_of(
            RawResult(
                number=int(name[:3]),
                name=name,
                out=(results / f"{name}.out").read_bytes(),
                err=(results / f"{name}.err").read_bytes(),
                record=(results / f"{name}.json").read_bytes(),
            )
        )
        for name in run_directory.finished()
    }


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_run_beside_a_program_that_fills_the_cgroup_ends_nobody(run_directory, target, profile):
    """1.5 GiB with a program of 1 GiB in it: probes of memory and disk, as the profile has them."""
    made = plan(
        PROFILES[profile],
        ["memory", "dd", "small_files"],
        {"repeats": 1, "quiet_budget_s": 0, "directory": str(target)},
        run_directory=str(run_directory.path),
    )
    (run_directory.path / "plan.sh").write_text(plan_script(made))
    with memory_cgroup(1536 * MIB) as cgroup, Neighbour(cgroup, 1000) as neighbour:
        done, repeats = run_in(cgroup, run_directory)
        assert neighbour.lives
        assert cgroup.kill_count == 0
    assert done.returncode == 0
    assert [repeat.error for repeat in repeats.values() if repeat.error] == []
    measured = {sample.metric for repeat in repeats.values() for sample in repeat.samples}
    assert {"memory_latency_ns", "disk_write_bytes_per_s", "small_files_per_s"} <= measured


def test_run_in_a_very_small_cgroup_says_what_it_left_out(run_directory, target):
    made = plan(
        PROFILES["quick"],
        ["cmips", "memory", "dd"],
        {"repeats": 1, "quiet_budget_s": 0, "seconds": 0.2, "directory": str(target)},
        run_directory=str(run_directory.path),
    )
    (run_directory.path / "plan.sh").write_text(plan_script(made))
    with memory_cgroup(150 * MIB) as cgroup, Neighbour(cgroup, 90) as neighbour:
        done, repeats = run_in(cgroup, run_directory)
        assert neighbour.lives
        assert cgroup.kill_count == 0
    assert done.returncode == 0
    assert [repeat.error for repeat in repeats.values() if repeat.error] == []
    left_out = {(one.probe, one.variant): one.unavailable for one in repeats.values()}
    assert "of 150 MiB of memory are available here" in left_out["memory", "bandwidth"]
    assert "of 150 MiB of memory are available here" in left_out["dd", "write"]
    assert left_out["cmips", "all"] == ""


def _put_eater(run_directory):
    """A program that takes 64 MiB a second."""
    (run_directory.path / "eat.py").write_text(
        "import time\nheld = []\nwhile True:\n"
        " held.append(bytearray(16 << 20)); held[-1][::4096] = b'x' * 4096; time.sleep(0.25)"
    )


def test_command_that_eats_the_memory_is_stopped_before_others_lack_it(run_directory):
    """64 MiB a second from 700 MiB: at 70 MiB available the command is ended."""
    _put_eater(run_directory)
    script = f"{sys.executable} {run_directory.path}/eat.py"
    run_directory.plan(
        f"step openssl all 0 60 {script}",
        "step cmips single 0 20 bin/cmips --threads 1 --seconds 0.2",
    )
    with memory_cgroup(700 * MIB) as cgroup, Neighbour(cgroup, 100) as neighbour:
        done, repeats = run_in(cgroup, run_directory)
        assert neighbour.lives
        assert cgroup.kill_count == 0
        assert cgroup.failure_count == 0
    assert done.returncode == 0
    eaten, measured = repeats.values()
    assert eaten.error == ""
    assert "of 700 MiB of memory stayed available to other programs" in eaten.unavailable
    assert measured.samples


def test_command_ends_before_any_other_program_when_memory_runs_out(run_directory):
    """The kernel takes the command first, whoever holds more; where it eats slowly we see it before."""
    eater = "held = bytearray(900 << 20)\nheld[::4096] = b'x' * len(held[::4096])"
    (run_directory.path / "eat.py").write_text(eater)
    run_directory.plan(f"step openssl all 0 60 {sys.executable} {run_directory.path}/eat.py")
    with memory_cgroup(700 * MIB) as cgroup, Neighbour(cgroup, 400) as neighbour:
        _, repeats = run_in(cgroup, run_directory)
        assert neighbour.lives
        kill_count = cgroup.kill_count
    (repeat,) = repeats.values()
    assert kill_count == (0 if repeat.conditions.is_memory_short else 1)
    assert repeat.conditions.is_memory_short or repeat.conditions.signal == 9


def test_careful_command_looks_at_the_limit_and_not_at_the_machine(run_directory):
    """A quarter of 700 MiB has to stay available: beside 600 MiB nothing is begun."""
    words = ["sh", str(run_directory.path / "careful.sh"), "bin/cmips", "--threads", "1"]
    with memory_cgroup(700 * MIB) as cgroup, Neighbour(cgroup, 600):
        done = subprocess.run(words, capture_output=True, text=True, preexec_fn=cgroup.joining)
    assert done.returncode == 7
    assert "a quarter of the memory has to stay available: of 700 MiB only" in done.stdout


def test_careful_command_stops_at_a_fifth(run_directory):
    """Of 700 MiB 140 have to stay; the command would go on to 70 in a run that is not careful."""
    _put_eater(run_directory)
    files = ("--out", "out", "--err", "err", "--json", "json")
    bounds = ("--timeout", "60", "--quiet-budget", "0", "--memory-percent", "20")
    options = ("--probe", "openssl", "--variant", "all", "--repeat", "0", *bounds, *files, "--")
    command = [run_directory.path / "bin/observe", *options, sys.executable, "eat.py"]
    with memory_cgroup(700 * MIB) as cgroup, Neighbour(cgroup, 100):
        subprocess.run(
            command, cwd=run_directory.path, preexec_fn=cgroup.joining, check=True, timeout=60
        )
    record = json.loads((run_directory.path / "json").read_text())
    assert record["memory_short"] is True
    # It takes 64 MiB a second, and is looked at every second.
    assert 60 * MIB < record["memory_available_bytes"] < 140 * MIB
