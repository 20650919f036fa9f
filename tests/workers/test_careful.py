"""Runs on hosts in production: they give way to everybody else."""

import ctypes
import mmap
import os
import tempfile
import threading
import time
from pathlib import Path

import pytest
from django.db import connection

from backend.benchmarks.models import RunState
from backend.benchmarks.services.runs import run_cancel
from backend.foundation.errors import InvalidValue
from backend.measure.probes import PROBES
from backend.measure.profiles import PROFILES
from tests.workers.conftest import driven, tiny_run
from workers.engine import poller
from workers.engine.pump import Pump
from workers.remote.probes.plan import plan

pytestmark = pytest.mark.django_db(transaction=True)


def memory_bytes(name):
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(name)


def cached_share(path):
    """How much of the file is in the page cache (mincore(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
        count = -(-len(pages) // mmap.PAGESIZE)
        seen = (ctypes.c_ubyte * count)()
        begin = ctypes.c_ubyte.from_buffer(pages)
        failed = libc.mincore(ctypes.byref(begin), ctypes.c_size_t(len(pages)), seen)
        del begin
    assert not failed, os.strerror(ctypes.get_errno())
    return sum(one & 1 for one in seen) / count


class Watcher(threading.Thread):
    """The least memory that was available meanwhile."""

    def __init__(self):
        super().__init__(daemon=True)
        self.is_over = threading.Event()
        self.least_bytes = memory_bytes("MemAvailable")

    def run(self):
        while not self.is_over.wait(0.05):
            self.least_bytes = min(self.least_bytes, memory_bytes("MemAvailable"))


def test_careful_run_leaves_a_fifth_of_the_memory_to_others(ssh_host):
    watcher = Watcher()
    watcher.start()
    run = driven(tiny_run(ssh_host, probes=["cmips", "memory"], careful=True, repeats=1))
    watcher.is_over.set()
    watcher.join()
    assert (run.state, run.failure_detail) == (RunState.DONE, "")
    assert watcher.least_bytes >= memory_bytes("MemTotal") / 5
    probes = set(run.evidence.values_list("probe", flat=True))
    assert probes == {"inventory", "cmips", "memory"}
    commands = [one.command for one in run.evidence.exclude(probe="inventory")]
    assert all("careful.sh bin/" in command or "not idle" in command for command in commands)


def test_careful_run_leaves_what_others_read_in_the_page_cache(ssh_host):
    # Of the repository's file system: a temporary directory may be in memory, where all is cached.
    with tempfile.NamedTemporaryFile(dir=Path(__file__).parent) as others:
        path = Path(others.name)
        path.write_bytes(os.urandom(32 << 20))
        os.fsync(others.fileno())
        assert len(path.read_bytes()) == 32 << 20
        run = driven(tiny_run(ssh_host, probes=["cmips", "memory"], careful=True, repeats=1))
        assert run.state == RunState.DONE
        # Some kernels take back what nobody reads for seconds; a run that drops caches leaves none.
        assert cached_share(path) > 0.75
        os.posix_fadvise(others.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert cached_share(path) < 0.25


def test_careful_profile_leaves_out_the_disk_and_refuses_what_needs_it(ssh_host):
    planned = plan(PROFILES["full"], None, {"careful": True}, run_directory="/tmp/r")
    assert {PROBES[probe].io for probe, _ in planned.series} == {""}
    with pytest.raises(InvalidValue, match="dd uses the disk") as refusal:
        tiny_run(ssh_host, probes=["cmips", "dd"], careful=True)
    assert refusal.value.field == "/probes/1"
    with pytest.raises(InvalidValue, match="nothing is installed"):
        tiny_run(ssh_host, careful=True, install_tools=True)


def measures_in(directory):
    """Whether a program of the run works on the host."""
    programs = (Path(directory) / "bin").as_posix()
    for process in Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(process).startswith(programs):
                return True
        except OSError:  # it has ended since
            continue
    return False


def wait_until(is_so, *, within_s):
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < within_s
        time.sleep(0.02)


def test_host_is_free_within_two_seconds_of_the_stop_button(ssh_host):
    run = tiny_run(ssh_host, seconds=60)
    Pump().steps(wait_s=0)
    run.refresh_from_db()
    directory, is_over = run.live["directory"], threading.Event()

    def followed():
        poller.follow(lambda claim: None, window_s=90, is_needed=lambda: not is_over.is_set())
        connection.close()

    follower = threading.Thread(target=followed)
    follower.start()
    try:
        followers = run.steps.filter(state="running", lease_until__isnull=False)
        wait_until(followers.exists, within_s=60)
        wait_until(lambda: measures_in(directory), within_s=60)
        run_cancel(run=run, actor="tester")
        wait_until(lambda: not measures_in(directory), within_s=2)
    finally:
        is_over.set()
        follower.join()
    assert driven(run).state == RunState.CANCELLED
