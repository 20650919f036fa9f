"""Runs on hosts in production: they give way to everybody else."""

import ctypes
import mmap
import os
import tempfile
import threading
from pathlib import Path

import pytest

from backend.benchmarks.models import RunState
from backend.domain.errors import InvalidValue
from backend.domain.probes import PROBES
from backend.domain.profiles import PROFILES
from tests.workers.conftest import driven, tiny_run
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
