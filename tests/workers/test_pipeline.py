"""What a run does on its target, on this machine and with the real runner and probes."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from backend.domain.errors import ProbeError, Reason
from backend.domain.profiles import PROFILES
from workers import pipeline
from workers.driver import DriverError, Output, Target
from workers.drivers.local import LocalTransport
from workers.probes import build
from workers.probes.registry import plan, plan_script
from workers.registry import driver

PARAMETERS = {"seconds": 0.2, "repeats": 1, "quiet_budget_s": 0}


@pytest.fixture
def transport(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return LocalTransport()


async def files_of(directory, probes=("cmips",), **parameters):
    planned = plan(PROFILES["quick"], probes, {**PARAMETERS, **parameters}, run_directory=directory)
    return await pipeline.bundle(
        build.host_arch(), planned.programs, plan_script(planned), build_dir=build.BUILD_DIR
    )


async def until_over(transport, directory):
    while True:
        snapshot = await pipeline.read(transport, directory)
        if snapshot.status is not None and snapshot.status.is_over:
            return snapshot
        await asyncio.sleep(0.05)


async def test_identify_tells_the_machine_and_leaves_nothing(transport, tmp_path):
    found = await pipeline.identify(transport, "1234")
    assert found.arch == build.host_arch()
    assert found.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found.directory == f"{tmp_path}/rackrate-1234"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ("arch riscv64", Reason.UNSUPPORTED, "no probes for a riscv64 machine"),
        ("arch x86_64\nfree_kib 100", Reason.DISK_FULL, "/tmp has 100 KiB free"),
        ("arch x86_64\nnoexec yes", Reason.UNSUPPORTED, "cannot be run from /tmp"),
        ("arch x86_64\nmissing sha256sum", Reason.UNSUPPORTED, "the host has no sha256sum"),
    ],
)
async def test_identify_names_why_a_host_cannot_carry_a_run(said, reason, words):
    class Told(LocalTransport):
        async def run(self, command, **_):
            return Output(0, f"directory /tmp/rackrate-1\n{said}\n".encode(), b"")

    with pytest.raises(DriverError, match=words) as raised:
        await pipeline.identify(Told(), "1")
    assert (raised.value.reason, raised.value.retryable) == (reason, False)


async def test_prepare_sends_only_what_is_not_there(transport, tmp_path, monkeypatch):
    directory = f"{tmp_path}/rackrate-1"
    files = await files_of(directory)
    assert set(files) == {"bin/cmips", "bin/observe", "runner.sh", "plan.sh"}
    await pipeline.prepare(transport, directory, files)
    assert os.stat(directory).st_mode & 0o777 == 0o700
    Path(directory, "bin/observe").write_bytes(b"damaged")

    sent = []
    put = LocalTransport.put

    async def counted(self, content, path, **rest):
        sent.append(Path(path).name)
        await put(self, content, path, **rest)

    monkeypatch.setattr(LocalTransport, "put", counted)
    await pipeline.prepare(transport, directory, files)
    assert sent == ["observe"]
    for name, content in files.items():
        assert Path(directory, name).read_bytes() == content


async def test_prepare_refuses_a_directory_of_somebody_else(transport, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("giving a directory away needs root")
    directory = tmp_path / "rackrate-1"
    directory.mkdir()
    os.chown(directory, 12345, 12345)
    with pytest.raises(DriverError, match="belongs to somebody else"):
        await pipeline.prepare(transport, str(directory), await files_of(str(directory)))


async def test_run_leaves_verified_results_and_then_nothing(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory))
    assert await pipeline.start(transport, directory) is None
    await until_over(transport, directory)
    snapshot = await pipeline.read_all(transport, directory)
    assert snapshot.status is not None
    assert snapshot.status.state == "finished"
    assert [result.name for result in snapshot.results] == [
        "001-inventory-host-0", "002-cmips-all-0", "003-cmips-single-0",
    ]  # fmt: skip
    assert pipeline.damaged(snapshot) == {}
    readings = [pipeline.reading(result) for result in snapshot.results]
    assert [reading.error for reading in readings] == ["", "", ""]
    assert getattr(readings[0].facts, "vcpu_count", None) == os.cpu_count()
    assert readings[1].samples[0].metric == "cmips_score"
    await pipeline.teardown(transport, directory)
    assert list(tmp_path.iterdir()) == []
    await pipeline.teardown(transport, directory)  # twice is fine


async def test_start_adopts_a_runner_that_runs(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=30))
    await pipeline.start(transport, directory)
    pid = Path(directory, "pid").read_text()
    assert await pipeline.start(transport, directory) is None
    snapshot = await pipeline.read(transport, directory)
    assert snapshot.is_alive
    assert Path(directory, "pid").read_text() == pid
    while "already running" not in Path(directory, "runner.log").read_text():
        await asyncio.sleep(0.02)
    await pipeline.teardown(transport, directory)


async def test_start_names_another_run_that_measures_on_the_machine(transport, tmp_path):
    first, second = f"{tmp_path}/rackrate-1", f"{tmp_path}/rackrate-2"
    for directory in (first, second):
        await pipeline.prepare(transport, directory, await files_of(directory, seconds=30))
    await pipeline.start(transport, first)
    assert await pipeline.start(transport, second) == first
    assert not Path(second, "pid").exists()
    await pipeline.teardown(transport, first)
    assert await pipeline.start(transport, second) is None
    await pipeline.teardown(transport, second)


async def test_start_takes_over_the_lock_of_a_dead_run(transport, tmp_path):
    (tmp_path / "rackrate-host.lock").symlink_to(tmp_path / "rackrate-gone")
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory))
    assert await pipeline.start(transport, directory) is None
    assert os.readlink(tmp_path / "rackrate-host.lock") == directory
    await pipeline.teardown(transport, directory)
    assert list(tmp_path.iterdir()) == []


async def test_orders_reach_the_runner(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory, repeats=20))
    await pipeline.start(transport, directory)
    await pipeline.read(transport, directory, orders=["stop/cmips-single", "stop/cmips-all"])
    await until_over(transport, directory)
    snapshot = await pipeline.read_all(transport, directory)
    assert snapshot.status is not None
    assert snapshot.status.state == "finished"
    assert len(snapshot.results) < 10
    await pipeline.teardown(transport, directory)


async def test_cancel_ends_the_runner_and_keeps_its_results(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=30))
    await pipeline.start(transport, directory)
    while not (await pipeline.read(transport, directory)).results:
        await asyncio.sleep(0.05)
    await pipeline.read(transport, directory, orders=["cancel"])
    snapshot = await until_over(transport, directory)
    assert snapshot.status is not None
    assert snapshot.status.state == "cancelled"
    assert snapshot.manifest is not None
    assert pipeline.damaged(await pipeline.read_all(transport, directory)) == {}
    await pipeline.teardown(transport, directory)


async def test_teardown_ends_a_runner_in_the_middle(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=60))
    await pipeline.start(transport, directory)
    assert len(_processes_below(directory)) > 1
    await pipeline.teardown(transport, directory)
    assert not _processes_below(directory)
    assert list(tmp_path.iterdir()) == []


def _processes_below(directory):
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "cwd").startswith(directory):
                found.append(process.name)
        except OSError:
            continue
    return found


async def test_altered_result_is_named_and_gives_no_sample(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory))
    await pipeline.start(transport, directory)
    await until_over(transport, directory)
    Path(directory, "results/002-cmips-all-0.out").write_text("{}\n")
    snapshot = await pipeline.read_all(transport, directory)
    assert pipeline.damaged(snapshot) == {
        "002-cmips-all-0": "002-cmips-all-0.out does not match its checksum"
    }
    reading = pipeline.reading(snapshot.results[1], "does not match its checksum")
    assert (reading.samples, reading.reason) == ((), Reason.INTERRUPTED)
    await pipeline.teardown(transport, directory)


async def test_read_of_a_vanished_directory_says_so(transport, tmp_path):
    snapshot = await pipeline.read(transport, f"{tmp_path}/rackrate-none")
    assert (snapshot.has_directory, snapshot.status, snapshot.results) == (False, None, ())


@pytest.mark.parametrize(
    "output", [b"@ status 10\nshort", b"status\n", b"@ status x\n", b"@ a 1\nb\n@"]
)
def test_cut_off_answer_is_an_error(output):
    with pytest.raises(ProbeError):
        pipeline._frames(output)


async def test_script_that_finds_no_space_is_disk_full(transport):
    with pytest.raises(DriverError) as raised:
        await pipeline._script(transport, "echo x | cat >/dev/full")
    assert raised.value.reason == Reason.DISK_FULL


async def test_scripts_need_nothing_but_busybox_or_dash(tmp_path):
    shells = [s for s in (["dash"], ["busybox", "sh"]) if shutil.which(s[0])]
    if not shells:
        pytest.skip("neither dash nor busybox is installed")
    for shell in shells:
        for script in (
            pipeline.IDENTIFY, pipeline.HASHES, pipeline.START, pipeline.READ, pipeline.TEARDOWN,
        ):  # fmt: skip
            text = pipeline.WRAPPER.format(script)
            done = subprocess.run([*shell, "-n"], input=text, capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")


# --- this machine ---------------------------------------------------------------------------------


async def test_local_machine_shows_no_secret_to_what_it_runs(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hidden")
    transport = await driver("local").connect(Target())
    output = await transport.run("env", timeout_s=5)
    assert b"PATH=" in output.stdout
    assert b"hidden" not in output.stdout
    assert b"SECRET_KEY" not in output.stdout


async def test_local_command_over_its_time_is_ended_with_its_children(transport, tmp_path):
    with pytest.raises(DriverError) as raised:
        await transport.run(f"cd {tmp_path} && sleep 60 & sleep 60", timeout_s=0.3)
    assert (raised.value.reason, raised.value.retryable) == (Reason.TIMEOUT, True)
    while _processes_below(str(tmp_path)):  # killed, perhaps not yet reaped
        await asyncio.sleep(0.01)


async def test_local_endless_output_is_cut_off(transport):
    with pytest.raises(DriverError, match="over 1000 bytes"):
        await transport.run("head -c 5000 /dev/zero", timeout_s=5, limit_bytes=1000)


async def test_local_put_and_get_carry_bytes_and_mode(transport, tmp_path):
    await transport.put(b"\0x", str(tmp_path / "a"), mode=0o700, timeout_s=5)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert await transport.get(str(tmp_path / "a"), timeout_s=5) == b"\0x"
    with pytest.raises(DriverError, match="No such file"):
        await transport.put(b"", str(tmp_path / "none" / "a"), mode=0o600, timeout_s=5)
    with pytest.raises(DriverError, match="No such file"):
        await transport.get(str(tmp_path / "none"), timeout_s=5)
