"""Runs over SSH in a container whose memory is nearly all in use: its programs live, what is left out is said."""

import io
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connections

from backend.benchmarks.models import Run, RunState
from backend.benchmarks.selectors.hosts import fingerprint
from tests.hosts.boxes import Box, Machine, Unsupported, machine
from tests.probes.cgroups import MemoryCgroup
from tests.probes.test_memory_limits import MIB, Neighbour
from workers.remote import connections as remote

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.native,
    pytest.mark.usefixtures("queued", "built_probes"),
]

SHORT = (
    "--set", "repeats=1", "--set", "disk_s=2",
    "--probe", "memory", "--probe", "dd", "--probe", "small_files", "--probe", "cmips",
)  # fmt: skip


@contextmanager
def container(limit_mib: int, used_mib: int) -> Iterator[tuple[Machine, MemoryCgroup, Neighbour]]:
    """A machine in a cgroup with this limit, and a program in it that holds most of it."""
    groups = {"memory": {"memory.limit_in_bytes": str(limit_mib * MIB)}}
    try:
        with machine(Box(user="root", groups=groups)) as there:
            cgroup = MemoryCgroup(there.groups["memory"])
            with Neighbour(cgroup, used_mib) as neighbour:
                yield there, cgroup, neighbour
    except Unsupported as reason:
        pytest.skip(str(reason))


def measured(there: Machine, identity: str, profile: str, *words: str) -> str:
    out = io.StringIO()
    call_command(
        "benchmark", f"{there.username}@{there.address}:{there.port}", "--identity", identity,
        "--config", "/dev/null", "--fingerprint", fingerprint(there.host_key), "--quiet",
        "--profile", profile, *words, "--set", "quiet_budget_s=0",
        stdout=out, stderr=io.StringIO(),
    )  # fmt: skip
    return out.getvalue()


@pytest.fixture
def identity(settings, tmp_path):
    settings.SSH_ALLOW_PRIVATE = True
    path = tmp_path / "identity"

    def write(there: Machine) -> str:
        path.write_text(there.private_key)
        return str(path)

    return write


def assert_unharmed(there, cgroup, neighbour):
    assert neighbour.lives
    assert there.is_up
    assert cgroup.kill_count == 0


def test_container_of_150_mib_keeps_its_server_and_says_what_is_left_out(identity):
    with container(150, 90) as (there, cgroup, neighbour):
        out = measured(there, identity(there), "quick", *SHORT)
        assert_unharmed(there, cgroup, neighbour)
    assert Run.objects.get().state == RunState.DONE
    said = [line for line in out.splitlines() if "of 150 MiB of memory are available here" in line]
    assert {re.search(r"warning: (\w+)", line)[1] for line in said} == {"memory", "dd"}


def whole_run(profile: str, name: str, path: Path) -> tuple[str, str]:
    """State and words of a run of the whole profile beside a program of 1 GiB in 1.5 GiB."""
    remote.connections.cache_clear()  # the thread that an earlier test started is not forked
    with container(1536, 1000) as (there, cgroup, neighbour):
        path.write_text(there.private_key)
        out = measured(there, str(path), profile, "--name", name)
        assert_unharmed(there, cgroup, neighbour)
        assert cgroup.failure_count == 0
    return Run.objects.get(host__name=name).state, out


@pytest.mark.deep
@pytest.mark.parametrize(("profile", "at_once"), [("quick", 3), ("standard", 5)])
def test_program_of_1_gib_lives_through_ten_whole_runs_in_1536_mib(
    settings, tmp_path, note_row, profile, at_once
):
    """Side by side, in processes of their own: one after the other they would take hours."""
    settings.SSH_ALLOW_PRIVATE = True
    names = [f"{profile}-{number}" for number in range(10)]
    connections.close_all()
    with ProcessPoolExecutor(at_once, get_context("fork")) as pool:
        runs = [pool.submit(whole_run, profile, name, tmp_path / name) for name in names]
        for name, run in zip(names, runs, strict=True):
            state, out = run.result()
            note_row(f"1.5 GiB, {name}", state, out)
            assert state == RunState.DONE
