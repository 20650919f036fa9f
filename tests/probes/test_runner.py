"""The runner, end to end, under every shell that it must work with."""

import hashlib
import itertools
import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import cmips, dd, inventory, memory, observe, runner_status
from tests.probes.cgroups import mounting
from tests.probes.conftest import RunDirectory, needs

MIB = 1024**2
# Tells the test that it runs, then waits to be ended.
WAIT = "sh -c 'echo $$ > started; exec sleep 60'"


def _finish(running, code=0):
    output, _ = running.communicate(timeout=30)
    assert running.returncode == code, output
    return output


def _manifest_is_right(path):
    lines = (path / "results" / "manifest.sha256").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    found = {file.name for file in (path / "results").iterdir()} - {"manifest.sha256"}
    assert set(listed) == found
    for name, digest in listed.items():
        assert hashlib.sha256((path / "results" / name).read_bytes()).hexdigest() == digest


def _nothing_is_left(path):
    assert not list(Path("/dev/shm").glob(f"{path.name}*"))
    assert not (path / "reserve").exists()


def test_runner_measures_everything_when_the_plan_is_whole(run_directory, shell, target):
    run_directory.plan(
        f"step inventory host 0 20 inventory.sh inventory '{target}'",
        "step cmips all 0 20 bin/cmips --threads all --seconds 0.5",
        "step cmips single 0 20 bin/cmips --threads 1 --seconds 0.1",
        f"step memory bandwidth 0 20 bin/memory --test bandwidth --threads 1 --bytes {MIB} --rounds 1",
        f"step dd write 0 60 disk.sh dd_write '{target}' {32 * MIB}",
        f"step dd read 0 60 disk.sh dd_read '{target}' {32 * MIB}",
        "step cmips all 1 20 bin/cmips --threads all --seconds 0.5",
    )
    _finish(run_directory.start(shell))
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.step, status.steps, status.progress) == ("finished", 7, 7, 1.0)
    result = run_directory.result
    facts = inventory.parse(result("001-inventory-host-0.out"))
    assert facts.vcpu_count == os.cpu_count()
    assert cmips.parse(result("002-cmips-all-0.out"), variant="all")[0].value > 0
    assert cmips.parse(result("003-cmips-single-0.out"), variant="single")[0].value > 0
    assert memory.parse(result("004-memory-bandwidth-0.out"))[0].value > 0
    for number, direction in ((5, "write"), (6, "read")):
        (sample,) = dd.parse(result(f"00{number}-dd-{direction}-0.out"))
        assert sample.metric == f"disk_{direction}_bytes_per_s"
        assert sample.parameters["bytes"] == 32 * MIB
        assert sample.parameters["directory"] == str(target)
    conditions = [
        observe.parse(file.read_text())
        for file in sorted((run_directory.path / "results").glob("*.json"))
    ]
    assert [(item.probe, item.variant, item.repeat) for item in conditions][-1] == (
        "cmips",
        "all",
        1,
    )
    assert [item for item in conditions if not item.is_complete] == []
    starts = [item.started_s for item in conditions]
    assert starts == sorted(starts)
    _manifest_is_right(run_directory.path)
    _nothing_is_left(run_directory.path)


def test_runner_reads_a_file_of_its_own_when_nothing_was_written(run_directory, target):
    run_directory.plan(f"step dd read 0 60 disk.sh dd_read '{target}' {16 * MIB}")
    _finish(run_directory.start(["sh"]))
    (sample,) = dd.parse(run_directory.result("001-dd-read-0.out"))
    assert (sample.metric, sample.parameters["bytes"]) == ("disk_read_bytes_per_s", 16 * MIB)


def test_runner_skips_the_rest_of_a_series_when_stopped(run_directory, shell):
    run_directory.plan(
        "step cmips all 0 20 bin/cmips --threads 1 --seconds 0.5",
        "step cmips single 0 20 bin/cmips --threads 1 --seconds 0.2",
        "step cmips all 1 20 bin/cmips --threads 1 --seconds 0.2",
    )
    (run_directory.path / "stop").mkdir()
    (run_directory.path / "stop" / "cmips-all").touch()
    _finish(run_directory.start(shell))
    assert run_directory.finished() == ["002-cmips-single-0"]
    assert runner_status.parse(run_directory.status()).state == "finished"


def test_runner_ends_the_step_and_keeps_results_when_cancelled(run_directory, shell):
    run_directory.plan(
        "step cmips all 0 20 bin/cmips --threads 1 --seconds 0.5",
        f"step cmips all 1 60 {WAIT}",
        "step cmips all 2 20 bin/cmips --threads 1 --seconds 0.2",
    )
    running = run_directory.start(shell)
    run_directory.wait_until_step_runs()
    (run_directory.path / "cancel").touch()
    _finish(running)
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("cancelled", None)
    assert status.progress < 1
    assert cmips.parse(run_directory.result("001-cmips-all-0.out"))[0].value > 0
    assert observe.parse(run_directory.result("002-cmips-all-1.json")).is_cancelled
    assert not (run_directory.path / "results" / "003-cmips-all-2.json").exists()
    _manifest_is_right(run_directory.path)


def test_runner_removes_test_files_and_fails_when_terminated(run_directory, shell, target):
    run_directory.plan(
        f"step dd write 0 60 disk.sh dd_write '{target}' {16 * MIB}",
        f"step cmips all 0 60 {WAIT}",
    )
    running = run_directory.start(shell)
    run_directory.wait_until_step_runs()
    assert [file.name for file in target.iterdir()] == [f"{run_directory.path.name}.dd"]
    running.terminate()
    _finish(running, 1)
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("failed", "killed")
    _manifest_is_right(run_directory.path)
    _nothing_is_left(run_directory.path)


def test_runner_adopts_the_first_when_started_twice(run_directory, shell):
    run_directory.plan(f"step cmips all 0 60 {WAIT}")
    running = run_directory.start(shell)
    run_directory.wait_until_step_runs()
    before = runner_status.parse(run_directory.status())
    assert _finish(run_directory.start(shell)) == "already running\n"
    assert runner_status.parse(run_directory.status()).pid == before.pid
    (run_directory.path / "cancel").touch()
    _finish(running)
    assert _finish(run_directory.start(shell)) == "already finished\n"


def test_runner_clears_up_and_says_killed_when_the_first_was_killed(run_directory, shell, target):
    run_directory.plan(
        f"step dd write 0 60 disk.sh dd_write '{target}' {16 * MIB}",
        f"step cmips all 0 60 {WAIT}",
    )
    running = run_directory.start(shell)
    run_directory.wait_until_step_runs()
    before = runner_status.parse(run_directory.status())
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=20)
    assert _finish(run_directory.start(shell), 1) == "the runner was killed\n"
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("failed", "killed")
    assert status.progress >= before.progress
    assert status.monotonic_s >= before.monotonic_s
    _manifest_is_right(run_directory.path)
    _nothing_is_left(run_directory.path)


def test_runner_writes_its_status_every_second_when_a_step_is_long(run_directory, shell):
    run_directory.plan(
        "expected cmips all 4",
        f"step cmips all 0 60 {WAIT}",
    )
    running = run_directory.start(shell)
    run_directory.wait_until_step_runs()
    status = runner_status.parse(run_directory.status())
    seen = [status]
    while seen[-1].monotonic_s < 2:
        select.select([], [], [], 0.02)
        status = runner_status.parse(run_directory.status())
        if status != seen[-1]:
            seen.append(status)
    running.terminate()
    _finish(running, 1)
    assert [status.state for status in seen] == ["running"] * len(seen)
    assert (status.probe, status.variant, status.repeat, status.step) == ("cmips", "all", 0, 1)
    progress = [status.progress for status in seen]
    assert progress == sorted(progress)
    # Two of 4.5 planned seconds have passed; the plan's whole is never reached before the end.
    assert 0.2 < progress[-1] < 0.9
    gaps = [later.monotonic_s - earlier.monotonic_s for earlier, later in itertools.pairwise(seen)]
    # About a second; a busy machine may hold one back.
    assert len(gaps) >= 2
    assert max(gaps) < 3


def test_runner_measures_on_when_a_probe_fails(run_directory):
    run_directory.plan(
        "step cmips all 0 20 bin/no-such-probe",
        "step cmips all 1 20 bin/cmips --threads 1 --seconds 0.2",
    )
    _finish(run_directory.start(["sh"]))
    assert observe.parse(run_directory.result("001-cmips-all-0.json")).exit_code == 127
    assert observe.parse(run_directory.result("002-cmips-all-1.json")).exit_code == 0


def test_runner_goes_on_without_a_series_when_it_is_not_available(run_directory, shell):
    run_directory.plan(
        "step fio rand_read_qd1 0 20 sh -c 'echo \"=== failure unavailable: no tool\"; exit 7'",
        "step cmips all 0 20 bin/cmips --threads 1 --seconds 0.5",
        "step fio rand_read_qd1 1 20 sh -c 'exit 7'",
        "step fio rand_read_qd32 1 20 sh -c 'exit 0'",
    )
    _finish(run_directory.start(shell))
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure, status.progress) == ("finished", None, 1.0)
    assert run_directory.finished() == [
        "001-fio-rand_read_qd1-0",
        "002-cmips-all-0",
        "004-fio-rand_read_qd32-1",
    ]


def test_runner_removes_only_what_is_named_after_the_run_when_it_ends(
    run_directory, shell, tmp_path
):
    ours = tmp_path / f"{run_directory.path.name}.small"
    (ours / "sub directory").mkdir(parents=True)
    (ours / "sub directory" / "file").touch()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    run_directory.plan("step cmips all 0 20 bin/cmips --threads 1 --seconds 0.5")
    (run_directory.path / "files").write_text(f"{foreign}\n{ours}\n{tmp_path}\n{ours}/..\n")
    _finish(run_directory.start(shell))
    assert list(tmp_path.iterdir()) == [foreign]


def test_runner_records_a_series_of_each_step_when_it_runs(run_directory, shell):
    run_directory.plan("step cmips all 0 20 bin/cmips --threads 1 --seconds 0.5")
    _finish(run_directory.start(shell))
    lines = run_directory.result("001-cmips-all-0.series").splitlines()
    assert lines[0].startswith("t_s cpu_ratio ")
    assert all(len(line.split()) == len(lines[0].split()) for line in lines)
    _manifest_is_right(run_directory.path)


def test_runner_measures_when_it_is_not_root(run_directory, shell, target):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    for path in (target, run_directory.path, *run_directory.path.rglob("*")):
        os.chown(path, 65534, 65534)
    target.chmod(0o700)
    run_directory.plan(
        f"step inventory host 0 20 inventory.sh inventory '{target}'",
        f"step dd write 0 60 disk.sh dd_write '{target}' {16 * MIB}",
        f"step dd read 0 60 disk.sh dd_read '{target}' {16 * MIB}",
    )
    _finish(run_directory.start(shell, user=65534))
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("finished", None)
    assert inventory.parse(run_directory.result("001-inventory-host-0.out")).vcpu_count
    assert dd.parse(run_directory.result("003-dd-read-0.out"))[0].value > 0


def test_runner_measures_when_there_is_nothing_but_busybox(run_directory, busybox_programs, target):
    needs("fio", "ping")
    fio = f"fio_run '{target}' {16 * MIB} randread 4k 4 1 0.2 0"
    run_directory.plan(
        "step packages install 0 20 packages.sh install iperf3",
        f"step inventory host 0 20 inventory.sh inventory '{target}'",
        f"step dd write 0 60 disk.sh dd_write '{target}' {16 * MIB} 5",
        f"step dd read 0 60 disk.sh dd_read '{target}' {16 * MIB} 5",
        f"step dd write_parallel 0 60 disk.sh dd_parallel write {16 * MIB} 5 '{target}' /dev/shm",
        f"step small_files create 0 60 disk.sh small_files '{target}' 20",
        f"step fio rand_read_qd32 0 60 disk.sh {fio}",
        "step network ping 0 60 network.sh ping 127.0.0.1 3",
    )
    _finish(run_directory.start(["busybox", "sh"], path=busybox_programs))
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("finished", None)
    assert inventory.parse(run_directory.result("002-inventory-host-0.out")).vcpu_count
    records = [run_directory.result(f"{name}.json") for name in run_directory.finished()]
    assert [observe.parse(record).exit_code for record in records[1:]] == [0] * 7
    assert dd.parse(run_directory.result("004-dd-read-0.out"))[0].value > 0
    _manifest_is_right(run_directory.path)


def test_runner_is_unsupported_when_the_probes_cannot_run(run_directory):
    run_directory.plan("step cmips all 0 20 bin/cmips --threads 1 --seconds 0.5")
    (run_directory.path / "bin" / "observe").write_bytes(b"\x7fELF of another machine")
    _finish(run_directory.start(["sh"]), 1)
    assert runner_status.parse(run_directory.status()).failure == "unsupported"


def test_runner_goes_on_when_the_target_is_too_small(run_directory, shell, small_disk):
    run_directory.plan(
        f"step dd write 0 60 disk.sh dd_write {small_disk} {512 * MIB}",
        "step cmips single 0 20 bin/cmips --threads 1 --seconds 0.5",
        f"step small_files create 0 60 disk.sh small_files {small_disk} 10",
    )
    _finish(run_directory.start(shell))
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("finished", None)
    for name in ("001-dd-write-0", "003-small_files-create-0"):
        said = run_directory.result(f"{name}.out")
        assert said.startswith(f"=== failure unavailable: {small_disk} has 8 MiB free")
    assert cmips.parse(run_directory.result("002-cmips-single-0.out"))[0].value > 0
    assert list(small_disk.iterdir()) == []


def test_runner_skips_disk_tests_when_full(run_directory, shell):
    """As where somebody else, or a quota, takes the room while a test writes."""
    full = 'sh -c "echo === failure disk_full: dd found no space on /srv; exit 5"'
    run_directory.plan(
        f"step dd write 0 60 {full}",
        "step dd read 0 60 echo never",
        "step cmips single 0 20 bin/cmips --threads 1 --seconds 0.5",
        "step small_files create 0 60 echo never",
        "step fio rand_read_qd1 0 60 echo never",
        "step fio_matrix read_qd1_jobs1 0 60 echo never",
    )
    _finish(run_directory.start(shell), 1)
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("failed", "disk_full")
    with pytest.raises(ProbeError, match="disk_full"):
        dd.parse(run_directory.result("001-dd-write-0.out"))
    assert run_directory.finished() == ["001-dd-write-0", "003-cmips-single-0"]
    assert cmips.parse(run_directory.result("003-cmips-single-0.out"))[0].value > 0


@pytest.mark.parametrize("then", ["", "sleep 3; cat /dev/zero > more;"])
def test_runner_says_disk_full_when_nothing_can_be_stored(bundle, shell, small_disk, then):
    """Also where the runner has said so before, and the room for that is taken in turn."""
    directory = small_disk / "rackrate-full"
    directory.mkdir()
    run = RunDirectory(directory, bundle)
    os.mkfifo(directory / "started")
    run.plan(
        "step cmips all 0 20 bin/cmips --threads 1 --seconds 0.5",
        f"step cmips all 1 20 sh -c 'cat /dev/zero > filler; {then} exec bin/cmips --threads 1 --seconds 0.2'",
        "step cmips all 2 20 bin/cmips --threads 1 --seconds 0.2",
    )
    _finish(run.start(shell), 1)
    status = runner_status.parse(run.status())
    assert (status.state, status.failure, status.step) == ("failed", "disk_full", 3)
    assert not (directory / "results" / "003-cmips-all-2.json").exists()
    assert cmips.parse(run.result("001-cmips-all-0.out"))[0].value > 0


# --- a host in production -----------------------------------------------------------------------


CAREFUL = ("careful", "step cmips single 0 20 bin/cmips --threads 1 --seconds 0.1")


def _with_memory(run_directory, available_mib, total_mib=1000):
    """Words before a command that see another table of the memory in place of the kernel's."""
    table = run_directory.path / "meminfo"
    _write_memory(run_directory, available_mib, total_mib)
    return mounting((table, "/proc/meminfo"))


def _write_memory(run_directory, available_mib, total_mib=1000):
    table = run_directory.path / "meminfo"
    table.write_text(f"MemTotal: {total_mib * 1024} kB\nMemAvailable: {available_mib * 1024} kB\n")


def test_careful_runner_leaves_a_busy_host_alone(run_directory, shell):
    run_directory.plan(*CAREFUL)
    busy = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)
    ]
    try:
        _finish(run_directory.start(shell))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert "unavailable: the host was not idle" in run_directory.result("001-cmips-single-0.out")
    assert runner_status.parse(run_directory.status()).state == "finished"


def test_careful_runner_takes_no_memory_that_others_may_need(run_directory):
    before = _with_memory(run_directory, available_mib=300)
    words = ("careful.sh", "bin/memory", "--test", "random")
    output = _finish(run_directory.start(["sh"], *words, before=before), code=7)
    assert "a quarter of the memory has to stay available: of 1000 MiB only 300 MiB are" in output
    _write_memory(run_directory, available_mib=900)
    assert _finish(run_directory.start(["sh"], "careful.sh", "nice", before=before)) == "19\n"


@pytest.mark.parametrize("kind", [(), ("careful",)])
def test_command_is_the_first_to_be_ended_when_memory_runs_out(run_directory, kind):
    run_directory.plan(*kind, "step inventory host 0 20 cat /proc/self/oom_score_adj")
    run_directory.run(["sh"])
    assert run_directory.result("001-inventory-host-0.out") == "1000\n"


def test_careful_runner_ends_when_others_need_the_memory(run_directory, shell):
    before = _with_memory(run_directory, available_mib=900)
    run_directory.plan("careful", f"step inventory host 0 60 {WAIT}")
    running = run_directory.start(shell, before=before)
    run_directory.wait_until_step_runs()
    _write_memory(run_directory, available_mib=199)
    _finish(running, code=1)
    status = runner_status.parse(run_directory.status())
    assert (status.state, status.failure) == ("failed", "memory")
