"""What a run does on its target, on this machine and with the real runner and probes."""

import asyncio
import hashlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from backend.foundation.errors import DriverError, ProbeError, Reason
from backend.measure.profiles import PROFILES
from backend.measure.readers import observe
from backend.measure.repeats import RawResult, repeat_of
from workers.remote import pipeline, scripts
from workers.remote.driver import Output, Target
from workers.remote.local import LocalTransport
from workers.remote.pipeline import Snapshot
from workers.remote.probes import build
from workers.remote.probes.plan import plan, plan_script
from workers.remote.registry import driver

SUFFIXES = (".out", ".err", ".json")
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/probes"
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


async def test_identify_describes_the_machine_and_leaves_nothing(transport, tmp_path):
    found = await pipeline.identify(transport, "1234")
    assert found.arch == build.host_arch()
    assert found.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found.directory == f"{tmp_path}/rackrate-1234"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ("arch riscv64", Reason.UNSUPPORTED, "a riscv64 machine, only for x86_64 and aarch64"),
        (
            "system FreeBSD\narch amd64\nmissing sha256sum",
            Reason.UNSUPPORTED,
            "the host runs FreeBSD, and the probes are programs for Linux",
        ),
        ("arch x86_64\nfree_kib 100", Reason.DISK_FULL, "/tmp has 100 KiB free"),
        ("arch x86_64\nnoexec /tmp /var", Reason.UNSUPPORTED, "run from any of /tmp /var"),
        ("arch x86_64\nmissing sha256sum", Reason.UNSUPPORTED, "the host has no sha256sum"),
    ],
)
async def test_identify_names_why_a_host_cannot_carry_a_run(said, reason, words):
    class Answering(LocalTransport):
        async def run(self, command, **_):
            said_all = f"{scripts.BEGIN}\ndirectory /tmp/rackrate-1\n{said}\n"
            return Output(0, said_all.encode(), b"")

    with pytest.raises(DriverError, match=words) as raised:
        await pipeline.identify(Answering(), "1")
    assert (raised.value.reason, raised.value.retryable) == (reason, False)


@pytest.mark.native
async def test_prepare_sends_only_what_is_not_there(transport, tmp_path, monkeypatch):
    directory = f"{tmp_path}/rackrate-1"
    files = await files_of(directory)
    scripts = {path.name for path in build.NATIVE.glob("*.sh")}
    assert set(files) == {"bin/cmips", "bin/observe", "plan.sh", *scripts}
    await pipeline.prepare(transport, directory, files)
    assert os.stat(directory).st_mode & 0o777 == 0o700
    Path(directory, "bin/observe").write_bytes(b"damaged")

    sent = []
    put = LocalTransport.put

    async def counted(self, content, path, **rest):
        sent.append(content)
        await put(self, content, path, **rest)

    monkeypatch.setattr(LocalTransport, "put", counted)
    await pipeline.prepare(transport, directory, files)
    assert sent == [files["bin/observe"]]
    assert not list(Path(directory).glob("pack-*"))
    for name, content in files.items():
        assert Path(directory, name).read_bytes() == content


@pytest.mark.native
async def test_prepare_refuses_a_directory_of_somebody_else(transport, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("giving a directory away needs root")
    directory = tmp_path / "rackrate-1"
    directory.mkdir()
    os.chown(directory, 12345, 12345)
    with pytest.raises(DriverError, match="belongs to somebody else"):
        await pipeline.prepare(transport, str(directory), await files_of(str(directory)))


@pytest.mark.native
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
    assert pipeline.find_damage(snapshot) == {}
    readings = [repeat_of(result) for result in snapshot.results]
    assert [found.error for found in readings] == ["", "", ""]
    assert getattr(readings[0].facts, "vcpu_count", None) == os.cpu_count()
    assert readings[1].samples[0].metric == "cmips_score"
    await pipeline.teardown(transport, directory)
    assert list(tmp_path.iterdir()) == []
    await pipeline.teardown(transport, directory)  # twice is fine


@pytest.mark.native
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


@pytest.mark.native
async def test_prepare_leaves_the_files_of_a_runner_that_has_begun(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    files = await files_of(directory, seconds=30)
    assert await pipeline.prepare(transport, directory, files) is None
    await pipeline.start(transport, directory)
    newer = {**files, "bin/cmips": b"another version"}
    hashes = await pipeline.prepare(transport, directory, newer)
    assert hashes == {name: hashlib.sha256(files[name]).hexdigest() for name in files}
    assert Path(directory, "bin/cmips").read_bytes() == files["bin/cmips"]
    await pipeline.teardown(transport, directory)


@pytest.mark.native
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


class AfterStartUp(LocalTransport):
    """A login shell that does something before it runs the command."""

    def __init__(self, does):
        self.does = does

    async def run(self, command, **options):
        return await super().run(f"{self.does}\n{command}", **options)


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("read -r answer", "start-up file reads standard input"),
        ("cat >/dev/null", "it said nothing; its start-up file may read standard input"),
        ("exec /bin/sh", "start-up file starts another shell in place of the command"),
    ],
)
async def test_start_up_file_that_takes_our_script_is_named(transport, does, words):
    with pytest.raises(DriverError, match=words) as raised:
        await pipeline.identify(AfterStartUp(does), "1")
    assert (raised.value.reason, raised.value.retryable) == (Reason.UNSUPPORTED, False)


async def test_host_is_known_where_its_path_lacks_the_tools(transport):
    known = await pipeline.identify(AfterStartUp("PATH=/nowhere; export PATH"), "1")
    assert known == replace(await pipeline.identify(transport, "1"), clock_s=known.clock_s)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        # Without `uname` the system has no name: the tools are what is missing.
        ("system \narch \nmissing uname\nmissing readlink", "the host has no uname, readlink"),
        ("system FreeBSD\narch amd64\nmissing sha256sum", "the host runs FreeBSD"),
        ("system Linux\narch riscv64", "no probes for a riscv64 machine, only for x86_64"),
        ("system Linux\narch x86_64\nmissing nohup or setsid", "the host has no nohup or setsid"),
    ],
)
async def test_missing_tools_are_named(lines, words):
    class Answering(LocalTransport):
        async def run(self, command, **_):
            return Output(0, f"{scripts.BEGIN}\ndirectory /tmp/x\n{lines}\n".encode(), b"")

    with pytest.raises(DriverError, match=words):
        await pipeline.identify(Answering(), "1")


class Lacking(LocalTransport):
    """A machine on which `command -v` does not find a tool."""

    def __init__(self, tool):
        self.tool = tool

    async def run(self, command, *, stdin=b"", **options):
        lookup = f'command() {{ [ "$2" != {self.tool} ] && type "$2" >/dev/null; }}\n'
        return await super().run(command, stdin=lookup.encode() + stdin, **options)


@pytest.mark.parametrize("tool", ["nohup", "setsid"])
async def test_host_with_either_tool_can_carry_a_run(transport, tool):
    """Debian's busybox has setsid and no nohup."""
    known = await pipeline.identify(Lacking(tool), "1")
    assert known == replace(await pipeline.identify(transport, "1"), clock_s=known.clock_s)


async def test_host_without_a_needed_tool_is_refused():
    with pytest.raises(DriverError, match="the host has no sha256sum"):
        await pipeline.identify(Lacking("sha256sum"), "1")


@pytest.mark.native
@pytest.mark.parametrize("lacking", ["nohup", "setsid"])
async def test_run_outlives_the_connection_with_either_tool(
    transport, tmp_path, monkeypatch, lacking
):
    """Debian's busybox has setsid and no nohup."""
    start = scripts.START.replace("command -v $tool", f"[ $tool != {lacking} ] && command -v $tool")
    monkeypatch.setattr(scripts, "START", start)
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=30))
    assert await pipeline.start(transport, directory) is None
    assert (await pipeline.read(transport, directory)).is_alive
    await pipeline.teardown(transport, directory)


class AsUser(LocalTransport):
    """Another user of the same machine."""

    def __init__(self, uid):
        super().__init__()
        self.uid = uid

    async def run(self, command, **options):
        words = f"setpriv --reuid={self.uid} --regid={self.uid} --clear-groups sh -c"
        return await super().run(f"{words} {shlex.quote(command)}", **options)


@pytest.fixture
def two_users(monkeypatch):
    """A directory for temporary files as /tmp is, and two users without rights on each other."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("becoming other users needs root and setpriv")
    place = tempfile.mkdtemp(dir="/tmp")
    os.chmod(place, 0o1777)
    monkeypatch.setenv("TMPDIR", place)
    yield Path(place), AsUser(65533), AsUser(65532)
    shutil.rmtree(place)


async def as_user(transport, directory, files):
    """The directory of a run with its files, which belong to that user."""
    await pipeline.prepare(LocalTransport(), directory, files)
    subprocess.run(["chown", "-R", f"{transport.uid}:{transport.uid}", directory], check=True)


@pytest.mark.native
async def test_lock_of_the_machine_holds_between_users(two_users):
    place, first_user, second_user = two_users
    first, second = f"{place}/rackrate-1", f"{place}/rackrate-2"
    await as_user(first_user, first, await files_of(first, seconds=30))
    await as_user(second_user, second, await files_of(second, seconds=30))
    assert await pipeline.start(first_user, first) is None
    # Its status was not written for a minute, as where a clock was set back: the process is seen.
    os.utime(first, (0, 0))
    assert await pipeline.start(second_user, second) == first
    assert not Path(second, "pid").exists()
    await pipeline.teardown(first_user, first)
    assert await pipeline.start(second_user, second) is None
    await pipeline.teardown(second_user, second)
    assert list(place.iterdir()) == []


@pytest.mark.native
async def test_lock_that_a_dead_run_of_another_user_left_stops_nobody(two_users):
    """Its link cannot be taken away: the lock is then beside it, and holds against everybody."""
    place, first_user, second_user = two_users
    link, first, second = place / "rackrate-host.lock", f"{place}/rackrate-1", f"{place}/rackrate-2"
    link.symlink_to(place / "rackrate-gone")
    os.chown(link, 65531, 65531, follow_symlinks=False)
    await as_user(first_user, first, await files_of(first, seconds=30))
    await as_user(second_user, second, await files_of(second, seconds=30))
    assert await pipeline.start(first_user, first) is None
    assert os.readlink(place / "rackrate-host.lock.65533") == first
    assert await pipeline.start(second_user, second) == first
    await pipeline.teardown(first_user, first)
    await pipeline.teardown(second_user, second)
    assert [path.name for path in place.iterdir()] == ["rackrate-host.lock"]


@pytest.mark.native
async def test_lock_holds_for_a_run_whose_processes_are_not_seen(transport, tmp_path):
    """As in another container with the same /tmp: what it writes every second is seen."""
    other, directory = tmp_path / "rackrate-2", f"{tmp_path}/rackrate-1"
    other.mkdir()
    (tmp_path / "rackrate-host.lock").symlink_to(other)
    await pipeline.prepare(transport, directory, await files_of(directory))
    assert await pipeline.start(transport, directory) == str(other)
    os.utime(other, (time.time() - 60,) * 2)
    assert await pipeline.start(transport, directory) is None
    await pipeline.teardown(transport, directory)


@pytest.mark.native
async def test_start_takes_over_the_lock_of_a_dead_run(transport, tmp_path):
    (tmp_path / "rackrate-host.lock").symlink_to(tmp_path / "rackrate-gone")
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory))
    assert await pipeline.start(transport, directory) is None
    assert os.readlink(tmp_path / "rackrate-host.lock") == directory
    await pipeline.teardown(transport, directory)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.native
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


@pytest.mark.native
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
    assert pipeline.find_damage(await pipeline.read_all(transport, directory)) == {}
    await pipeline.teardown(transport, directory)


@pytest.mark.native
async def test_teardown_ends_a_runner_in_the_middle(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=60))
    await pipeline.start(transport, directory)
    assert len(_processes_below(directory)) > 1
    await pipeline.teardown(transport, directory)
    assert not _processes_below(directory)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.native
async def test_teardown_unmounts_what_a_killed_step_left(transport, tmp_path):
    """A local disk that is formatted for the run is mounted within its directory."""
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory))
    Path(directory, "local").mkdir()
    mount = ["mount", "-t", "tmpfs", "tmpfs", f"{directory}/local"]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr.strip()}")
    await pipeline.teardown(transport, directory)
    assert directory not in Path("/proc/mounts").read_text()
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


@pytest.mark.native
async def test_altered_result_is_named_and_gives_no_sample(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory))
    await pipeline.start(transport, directory)
    await until_over(transport, directory)
    Path(directory, "results/002-cmips-all-0.out").write_text("{}\n")
    snapshot = await pipeline.read_all(transport, directory)
    assert pipeline.find_damage(snapshot) == {
        "002-cmips-all-0": "002-cmips-all-0.out does not match its checksum"
    }
    found = repeat_of(snapshot.results[1], "does not match its checksum")
    assert (found.samples, found.reason) == ((), Reason.INTERRUPTED)
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
        await pipeline._script(transport, "echo x | cat >/dev/full", "-")
    assert raised.value.reason == Reason.DISK_FULL


async def test_scripts_need_nothing_but_busybox_or_dash(tmp_path):
    shells = [s for s in (["dash"], ["busybox", "sh"]) if shutil.which(s[0])]
    if not shells:
        pytest.skip("neither dash nor busybox is installed")
    for shell in shells:
        for script in (
            scripts.IDENTIFY, scripts.HASHES, scripts.UNPACK, scripts.START, scripts.SERVE,
            scripts.READ, scripts.TEARDOWN,
        ):  # fmt: skip
            text = scripts.WRAPPER.format(script)
            done = subprocess.run([*shell, "-n"], input=text, capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")


async def test_read_fetches_the_series_of_finished_and_running_repeats(transport, tmp_path):
    results = tmp_path / "rackrate-1" / "results"
    results.mkdir(parents=True)
    series = (FIXTURES / "observe-series.txt").read_bytes()
    (results / "001-cmips-all-0.out").write_bytes(b"x\n")
    (results / "001-cmips-all-0.series").write_bytes(series)
    (results / "001-cmips-all-0.json").write_bytes(b"{}\n")
    header, row = series.splitlines(keepends=True)[:2]
    rows = [row.replace(b"1.000", b"%d.000" % second) for second in range(1, 101)]
    (results / "002-cmips-all-1.series").write_bytes(b"".join([header, *rows, b"101.0 0."]))
    directory = str(tmp_path / "rackrate-1")
    assert (await pipeline.read(transport, directory)).live is None
    snapshot = await pipeline.read(transport, directory, is_live=True)
    assert [result.series for result in snapshot.results] == [series]
    assert snapshot.live is not None
    assert snapshot.live.startswith(header.decode())
    shown = observe.series(snapshot.live)
    # the last sixty lines, of which the one that is being written does not count
    assert (len(shown["t_s"]), shown["t_s"][-1]) == (59, 100.0)


async def test_live_rows_of_a_short_series_have_the_header_once(transport, tmp_path):
    results = tmp_path / "rackrate-1" / "results"
    results.mkdir(parents=True)
    series = (FIXTURES / "observe-series.txt").read_bytes()
    (results / "001-cmips-all-0.series").write_bytes(series)
    snapshot = await pipeline.read(transport, str(tmp_path / "rackrate-1"), is_live=True)
    assert snapshot.live == series.decode()


async def test_read_goes_on_after_a_full_answer(transport, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "MAX_READ_BYTES", 5000)
    results = tmp_path / "rackrate-1" / "results"
    results.mkdir(parents=True)
    numbers = [1, 2, 99, 100, 101, 999, 1000, 1001]
    for number in numbers:
        (results / f"{number:03d}-cmips-all-0.out").write_bytes(b"x" * 3000)
        (results / f"{number:03d}-cmips-all-0.json").write_bytes(b"{}\n")
    directory = str(tmp_path / "rackrate-1")
    assert [r.number for r in (await pipeline.read(transport, directory)).results] == [1, 2]
    assert [r.number for r in (await pipeline.read_all(transport, directory)).results] == numbers


@pytest.fixture
def listed(tmp_path):
    """A directory of five results with their manifest; returns the hashes of each by number."""
    results = tmp_path / "rackrate-1" / "results"
    results.mkdir(parents=True)
    for number in range(1, 6):
        name = f"{number:03d}-cmips-all-0"
        (results / f"{name}.out").write_bytes(b"%d\n" % number)
        (results / f"{name}.err").write_bytes(b"")
        (results / f"{name}.json").write_bytes(b"{}\n")
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in results.iterdir()}
    lines = [f"{sha256}  {name}\n" for name, sha256 in sums.items()]
    (results / "manifest.sha256").write_text("".join(lines))
    return {
        number: {
            **{suffix: sums[f"{number:03d}-cmips-all-0{suffix}"] for suffix in SUFFIXES},
            ".series": pipeline.EMPTY_SHA256,
        }
        for number in range(1, 6)
    }


@pytest.fixture
def commands(monkeypatch):
    """What is run on the target."""
    sent = []
    run = LocalTransport.run

    async def counted(self, command, **rest):
        sent.append(command)
        return await run(self, command, **rest)

    monkeypatch.setattr(LocalTransport, "run", counted)
    return sent


async def test_read_missing_fetches_nothing_that_is_stored(transport, tmp_path, listed, commands):
    snapshot = await pipeline.read_missing(transport, f"{tmp_path}/rackrate-1", listed)
    assert snapshot.results == ()
    assert snapshot.manifest is not None
    assert len(commands) == 1


@pytest.mark.parametrize(
    ("gone", "altered", "calls"),
    [((2,), (), 2), ((4, 5), (), 2), ((1, 2), (4,), 3), ((), (3,), 2), ((1, 2, 3, 4, 5), (), 2)],
)
async def test_read_missing_fetches_what_is_missing_or_differs(
    transport, tmp_path, listed, commands, *, gone, altered, calls
):
    stored = {number: dict(hashes) for number, hashes in listed.items() if number not in gone}
    for number in altered:
        stored[number][".json"] = "0" * 64
    snapshot = await pipeline.read_missing(transport, f"{tmp_path}/rackrate-1", stored)
    assert [result.number for result in snapshot.results] == sorted([*gone, *altered])
    assert {r.number: r.file_hashes for r in snapshot.results} == {
        number: listed[number] for number in [*gone, *altered]
    }
    assert pipeline.find_damage(snapshot) == {}
    assert len(commands) == calls


async def test_read_missing_ends_where_a_listed_result_is_gone(transport, tmp_path, listed):
    for path in (tmp_path / "rackrate-1/results").glob("00[245]-*"):
        path.unlink()
    snapshot = await pipeline.read_missing(transport, f"{tmp_path}/rackrate-1", {1: listed[1]})
    assert [result.number for result in snapshot.results] == [3]


async def test_read_missing_fetches_all_without_a_manifest(transport, tmp_path, listed):
    (tmp_path / "rackrate-1/results/manifest.sha256").unlink()
    snapshot = await pipeline.read_missing(transport, f"{tmp_path}/rackrate-1", listed)
    assert [result.number for result in snapshot.results] == [1, 2, 3, 4, 5]


async def test_altered_series_is_named(transport, tmp_path):
    raw = RawResult(1, "001-cmips-all-0", b"", b"", b"{}", series=b"t_s\n1\n")
    empty = hashlib.sha256(b"").hexdigest()
    manifest = {
        "001-cmips-all-0.out": empty, "001-cmips-all-0.err": empty,
        "001-cmips-all-0.json": hashlib.sha256(b"{}").hexdigest(),
        "001-cmips-all-0.series": empty,
    }  # fmt: skip
    wrong = "001-cmips-all-0.series does not match its checksum"
    snapshot = Snapshot("b", True, False, None, (), (raw,), manifest)
    assert pipeline.find_damage(snapshot) == {"001-cmips-all-0": wrong}
    gone = replace(snapshot, results=(replace(raw, series=b""),))
    assert pipeline.find_damage(gone) == {}  # an empty one is as good as none
    manifest["001-cmips-all-0.series"] = hashlib.sha256(raw.series).hexdigest()
    assert pipeline.find_damage(snapshot) == {}


def finished(out, **record):
    """A repeat as the target wrote it, with these fields of its record changed."""
    said = {**json.loads((FIXTURES / "observe-complete.txt").read_text()), **record}
    return RawResult(3, "003-fio-rand_read_qd1-0", out, b"", f"{json.dumps(said)}\n".encode())


def test_what_is_not_available_here_is_no_failure():
    found = repeat_of(finished(b"=== failure unavailable: fio is not there\n", exit_code=7))
    assert (found.reason, found.error, found.unavailable) == (None, "", "fio is not there")
    assert repeat_of(finished(b"", exit_code=7)).unavailable == "the host cannot run it"
    # only the exit code says so
    assert repeat_of(finished(b"=== failure unavailable: x\n", exit_code=2)).reason is not None


def test_disk_is_disturbed_by_what_others_compute_and_not_by_the_kernel():
    out = (FIXTURES / "fio-3.33-framed-rand-read-qd1.txt").read_bytes()

    def is_disturbed(**shares):
        return repeat_of(finished(out, **shares)).is_disturbed

    assert not is_disturbed(foreign_cpu_ratio=0.2, foreign_user_ratio=0.01)
    assert is_disturbed(foreign_cpu_ratio=0.2, foreign_user_ratio=0.2)
    assert is_disturbed(foreign_cpu_ratio=0.2)  # of an observer that did not tell them apart
    cpu = replace(
        finished((FIXTURES / "cmips-all-x86_64.txt").read_bytes()), name="001-cmips-all-0"
    )
    kernel = {**json.loads(cpu.record), "foreign_cpu_ratio": 0.2, "foreign_user_ratio": 0.01}
    assert repeat_of(replace(cpu, record=f"{json.dumps(kernel)}\n".encode())).is_disturbed


def test_series_that_cannot_be_read_is_a_warning_and_the_repeat_counts():
    out = (FIXTURES / "fio-3.33-framed-rand-read-qd1.txt").read_bytes()
    found = repeat_of(replace(finished(out), series=b"t_s cpu\n1 x\n"))
    assert (found.reason, found.series) == (None, None)
    assert found.error.startswith("fio rand_read_qd1, repeat 1: observe")
    assert found.samples
    good = (FIXTURES / "observe-series.txt").read_bytes()
    shown = repeat_of(replace(finished(out), series=good)).series
    assert shown is not None
    assert shown["t_s"][:2] == [1.0, 2.0]


LEFT = "rackrate-00000000-0000-4000-8000-00000000000"


async def test_identify_names_what_dead_runs_left_a_day_ago(transport, tmp_path):
    old = time.time() - 2 * 86_400
    for name in (f"{LEFT}1", f"{LEFT}2-peer", f"{LEFT}3", f"{LEFT}4", "rackrate-host.lock"):
        (tmp_path / name).mkdir()
    (tmp_path / f"{LEFT}3" / "pid").write_text("x")
    os.symlink(tmp_path, tmp_path / f"{LEFT}5")
    sleeper = subprocess.Popen(["sleep", "60"], cwd=tmp_path / f"{LEFT}3")
    (tmp_path / f"{LEFT}3" / "pid").write_text(f"{sleeper.pid}\n")
    for name in (f"{LEFT}1", f"{LEFT}2-peer", f"{LEFT}3", "rackrate-host.lock"):
        os.utime(tmp_path / name, (old, old))
    try:
        found = await pipeline.identify(transport, "1234")
    finally:
        sleeper.kill()
        sleeper.wait()
    # one is in use, one is young, one is a link, one has another name
    assert found.leftovers == (f"{tmp_path}/{LEFT}1", f"{tmp_path}/{LEFT}2-peer")


async def test_teardown_removes_test_files_of_ours_only(transport, tmp_path):
    directory = tmp_path / "rackrate-1"
    directory.mkdir()
    ours, small = tmp_path / "disk" / "rackrate-1.dd", tmp_path / "disk" / "rackrate-1.small"
    small.mkdir(parents=True)
    (small / "a").write_text("x")
    ours.write_text("x")
    foreign = tmp_path / "disk" / "kept"
    foreign.write_text("x")
    (directory / "files").write_text(f"{ours}\n{small}\n{foreign}\n/\n")
    await pipeline.teardown(transport, str(directory))
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "disk", foreign]


async def test_teardown_has_what_was_installed_removed(transport, tmp_path):
    directory = tmp_path / "rackrate-1"
    directory.mkdir()
    (directory / "installed").write_text("fio\n")
    (directory / "packages.sh").write_text(f'echo "$@" >{tmp_path}/asked\n')
    await pipeline.teardown(transport, str(directory))
    assert (tmp_path / "asked").read_text() == "remove 40\n"
    assert not directory.exists()


@pytest.mark.native
async def test_runner_is_a_unit_where_systemd_lets_us(transport, tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root starts units")
    tools, running = tmp_path / "tools", tmp_path / "running"
    tools.mkdir()
    running.mkdir()
    stand_in = tools / "systemd-run"
    stand_in.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/asked\n'
        'while [ "${1#--}" != "$1" ]; do shift; done\n"$@" &\n'
    )
    stand_in.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(
        scripts, "START", scripts.START.replace("/run/systemd/system", str(running))
    )
    directory = f"{tmp_path}/rackrate-1"
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=60))
    assert await pipeline.start(transport, directory) is None
    asked = (tmp_path / "asked").read_text().splitlines()
    assert "--unit=rackrate-1" in asked
    assert f"--working-directory={directory}" in asked
    assert (await pipeline.read(transport, directory)).is_alive
    await pipeline.teardown(transport, directory)
    assert not _processes_below(directory)

    stand_in.write_text("#!/bin/sh\nexit 1\n")  # a systemd that does not take it
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=60))
    assert await pipeline.start(transport, directory) is None
    assert (await pipeline.read(transport, directory)).is_alive
    await pipeline.teardown(transport, directory)


# --- the other end of the network tests -----------------------------------------------------------


async def served(transport, directory, **files):
    await pipeline.prepare(transport, directory, {**pipeline.peer_files(), **files})
    return await pipeline.serve(transport, directory, seconds=60, is_installing=False)


@pytest.mark.skipif(not shutil.which("iperf3"), reason="needs iperf3")
async def test_peer_listens_is_adopted_and_ends_with_its_directory(transport, tmp_path):
    directory = f"{tmp_path}/rackrate-1-peer"
    first = await served(transport, directory)
    assert first.port is not None
    with socket.create_connection(("127.0.0.1", first.port), timeout=5):
        pass
    assert (await served(transport, directory)).port == first.port
    other = await served(transport, f"{tmp_path}/rackrate-2-peer")
    assert (other.port, other.busy) == (None, directory)
    await pipeline.teardown(transport, f"{tmp_path}/rackrate-2-peer")
    await pipeline.teardown(transport, directory)
    assert list(tmp_path.iterdir()) == []
    assert not _processes_below(directory)


async def test_peer_says_why_it_cannot_serve(transport, tmp_path):
    script = b"echo '=== failure unavailable: iperf3 is not installed'\nexit 7\n"
    found = await served(transport, f"{tmp_path}/rackrate-1-peer", **{"network.sh": script})
    assert found == pipeline.Serving(unavailable="iperf3 is not installed")
    broken = b"echo oops >&2\nexit 3\n"
    with pytest.raises(DriverError, match="oops"):
        await served(transport, f"{tmp_path}/rackrate-1-peer", **{"network.sh": broken})


async def test_peer_that_still_installs_is_waited_for(transport, tmp_path, monkeypatch):
    monkeypatch.setattr(scripts, "SERVE", scripts.SERVE.replace("-ge 100", "-ge 3"))
    directory = f"{tmp_path}/rackrate-1-peer"
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    files = {
        "packages.sh": f'echo "$@" >asked\nread -r _ <{gate}\n'.encode(),
        "network.sh": b"touch ready\nexec sleep 60\n",
    }
    await pipeline.prepare(transport, directory, {**pipeline.peer_files(), **files})
    found = await pipeline.serve(transport, directory, seconds=60, is_installing=True)
    assert found == pipeline.Serving()
    assert Path(directory, "asked").read_text() == "install iperf3\n"
    gate.write_text("go\n")
    while (found := await pipeline.serve(transport, directory, seconds=60, is_installing=True)) == (
        pipeline.Serving()
    ):
        pass
    assert found.port is not None
    await pipeline.teardown(transport, directory)


@pytest.mark.native
async def test_one_machine_can_be_both_ends_of_a_run(transport, tmp_path):
    peer, directory = f"{tmp_path}/rackrate-1-peer", f"{tmp_path}/rackrate-1"
    stand_in = {"network.sh": b"touch ready\nexec sleep 60\n"}
    assert (await served(transport, peer, **stand_in)).port is not None
    await pipeline.prepare(transport, directory, await files_of(directory, seconds=60))
    assert await pipeline.start(transport, directory) is None
    assert os.readlink(tmp_path / "rackrate-host.lock") == directory
    assert (await served(transport, peer, **stand_in)).port is not None
    await pipeline.teardown(transport, peer)
    assert (await pipeline.read(transport, directory)).is_alive
    await pipeline.teardown(transport, directory)
    assert list(tmp_path.iterdir()) == []


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
