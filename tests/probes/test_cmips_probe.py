"""The cmips program: what it prints parses, and what cannot work says so."""

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import cmips, sustained
from workers.remote.probes import build

NOBODY = 65534


def test_cmips_prints_a_score_when_one_thread_runs(probe, bundle):
    done = probe("cmips", "--threads", 1, "--seconds", 0.2)
    assert (done.returncode, done.stderr) == (0, "")
    (sample,) = cmips.parse(done.stdout, variant="single")
    assert sample.parameters["build_sha256"] == bundle.binaries["cmips"].sha256
    assert sample.parameters["seconds"] == 0.2
    assert json.loads(done.stdout)["iterations"] % 50 == 0


def test_cmips_uses_every_cpu_when_all_threads_run(probe):
    done = probe("cmips", "--threads", "all", "--seconds", 0.2)
    (sample,) = cmips.parse(done.stdout, variant="all")
    fields = json.loads(done.stdout)
    assert fields["threads"] == fields["usable_cpus"]
    assert fields["affinity_cpus"] == len(os.sched_getaffinity(0))
    # CPU time bounds the work: no worker counts beyond the common window.
    assert sample.parameters["cpu_s"] <= 0.2 * fields["threads"] + 0.1


def test_cmips_per_cpu_second_is_alike_when_the_thread_count_differs(probe):
    rates = []
    for threads in (1, 2, 5):
        fields = json.loads(probe("cmips", "--threads", threads, "--seconds", 0.3).stdout)
        rates.append(fields["iterations"] / fields["cpu_s"])
    # Sanity only: a worker that counted twice, or not at all, would be off by far more.
    assert max(rates) / min(rates) < 2.5


def test_cmips_takes_one_cpu_when_the_affinity_leaves_one(probe):
    cpu = min(os.sched_getaffinity(0))
    done = probe(
        "cmips",
        "--threads",
        "all",
        "--seconds",
        0.05,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    fields = json.loads(done.stdout)
    assert (fields["usable_cpus"], fields["affinity_cpus"], fields["threads"]) == (1, 1, 1)


def test_cmips_counts_each_window_when_asked(probe):
    done = probe("cmips", "--threads", "all", "--seconds", 0.5, "--window", 0.1)
    (sample,) = sustained.parse(done.stdout)
    assert (sample.metric, sample.variant) == ("cmips_sustained_ratio", "all")
    fields = json.loads(done.stdout)
    assert len(fields["windows"]) == 5
    # Nothing is lost between windows: they add up to all iterations, but for their rounding.
    iterations = sum(fields["windows"]) * 0.1 * 1_024_000
    assert iterations == pytest.approx(fields["iterations"], abs=5 * 0.0005 * 0.1 * 1_024_000)


def test_cmips_counts_only_whole_windows_when_the_time_is_no_multiple(probe):
    fields = json.loads(probe("cmips", "--threads", 1, "--seconds", 0.25, "--window", 0.1).stdout)
    assert len(fields["windows"]) == 2
    assert sum(fields["windows"]) * 0.1 * 1_024_000 < fields["iterations"]


def test_cmips_prints_every_window_when_there_are_as_many_as_can_be(probe):
    seconds = 2880 * 0.01
    if os.environ.get("HYPOTHESIS_PROFILE") != "deep":
        pytest.skip(f"takes {seconds:.0f} s; runs with --deep")
    done = probe("cmips", "--threads", 1, "--seconds", seconds, "--window", 0.01)
    assert len(json.loads(done.stdout)["windows"]) == 2880
    assert sustained.parse(done.stdout)[0].value > 0


@pytest.mark.parametrize("window", ["0", "0.001", "0.6", "x"])
def test_cmips_exits_2_when_the_windows_do_not_fit_the_time(probe, window):
    done = probe("cmips", "--threads", 1, "--seconds", 1, "--window", window)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]


def test_cmips_exits_2_when_the_windows_are_too_many(probe):
    done = probe("cmips", "--threads", 1, "--seconds", 28.82, "--window", 0.01)
    assert done.returncode == 2
    assert "2880" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--threads"],
        ["--threads", "0", "--seconds", "1"],
        ["--threads", "8193", "--seconds", "1"],
        ["--threads", "1", "--seconds", "0"],
        ["--threads", "1", "--seconds", "1e3"],
        ["--threads", "99999999999999999999", "--seconds", "1"],
        ["--threads", "1x", "--seconds", "1"],
        ["--threads", "1", "--seconds", "1", "--other", "1"],
    ],
)
def test_cmips_exits_2_with_an_error_line_when_the_arguments_are_wrong(probe, arguments):
    done = probe("cmips", *arguments)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]
    with pytest.raises(ProbeError, match="cmips"):
        cmips.parse(done.stdout)


def test_cmips_exits_3_when_a_worker_had_no_cpu(probe):
    done = probe("cmips", "--threads", 512, "--seconds", 0.01)
    assert done.returncode == 3
    assert "had no CPU" in json.loads(done.stdout)["error"]


def test_cmips_exits_3_and_leaves_no_worker_when_a_fork_fails(bundle):
    # Root has no process limit, so root's test runs as nobody.
    is_root = os.geteuid() == 0
    limit = 3 if is_root else 1
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        program = shutil.copy(bundle.binaries["cmips"].path, directory)
        done = subprocess.run(
            [program, "--threads", "64", "--seconds", "5"],
            capture_output=True,
            text=True,
            timeout=20,
            user=NOBODY if is_root else None,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit)),
        )
    assert done.returncode == 3
    fields = json.loads(done.stdout)
    assert fields["error"] == "cannot start a worker process"
    assert fields["errno"] == 11


def test_cmips_exits_3_at_once_when_a_worker_is_killed(bundle):
    command = [str(bundle.binaries["cmips"].path), "--threads", "2", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while len(workers := children.read_text().split()) < 2:
            os.sched_yield()
        os.kill(int(workers[0]), signal.SIGKILL)
        printed, _ = running.communicate(timeout=20)
    assert running.returncode == 3
    assert json.loads(printed)["error"] == "a worker process failed"
    assert not Path(f"/proc/{workers[1]}").exists()


def test_cmips_workers_end_when_their_parent_is_killed(bundle):
    command = [str(bundle.binaries["cmips"].path), "--threads", "2", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while len(workers := children.read_text().split()) < 2:
            os.sched_yield()
        handles = [os.pidfd_open(int(worker)) for worker in workers]
        running.kill()
    for handle in handles:
        # Readable = the process has ended.
        assert select.select([handle], [], [], 10)[0]
        os.close(handle)


def test_cmips_exits_5_when_the_output_is_full(bundle):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            # Long enough to have a processor now and then on a busy machine: without one it exits 3.
            [bundle.binaries["cmips"].path, "--threads", "1", "--seconds", "0.5"],
            stdout=full,
            timeout=20,
        )
    assert done.returncode == 5


def test_cmips_runs_on_aarch64_when_an_emulator_is_there(compiler):
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("no qemu-aarch64 on this machine: the aarch64 probe was built but not run")
    program = build.build("aarch64", zig=compiler).binaries["cmips"].path
    done = subprocess.run(
        [emulator, program, "--threads", "2", "--seconds", "0.2"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0
    assert cmips.parse(done.stdout)[0].parameters["arch"] == "aarch64"
