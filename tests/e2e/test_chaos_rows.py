"""The rest of what may befall a service under a run: a part of it, all at once, or for long."""

import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import Run, RunState
from backend.benchmarks.services.hosts import host_local
from tests.e2e.chaos_form import FORM, case
from tests.e2e.stack import Stack, eventually
from tests.e2e.truth import assert_clean, assert_whole, ended, has_results

pytestmark = [pytest.mark.chaos, pytest.mark.serial, pytest.mark.native]

REPEATS = 4
SERVICES = ("broker", "worker", "beat")


@pytest.fixture
def run(stack, begin) -> Run:
    """A run on this machine with some of it measured."""
    for name in ("pump", "second beat"):
        stack.down(name)
    stack.up(*SERVICES)
    made: Run = begin(host_local(workspace=default_workspace()), repeats=REPEATS)
    eventually(has_results(2, made), "the first results")
    return made


def assert_goes_on(stack: Stack, *runs: Run) -> None:
    eventually(ended(*runs), "the end of the runs")
    for run in runs:
        assert_whole(run, repeats=REPEATS)
    assert_clean(stack.target)


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def status_of(stack: Stack, path: str) -> int:
    """Of the web's answer; 0 while there is none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{stack.web_port}{path}", timeout=60) as got:
            return int(got.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_run_ends_done_when_children_die_and_workers_are_replaced(stack, run):
    with case("children killed, worker replaced", stack.said) as done:
        pool = children(stack.pid("worker"))
        done.did = f"SIGKILL to {len(pool)} children of the worker, SIGTERM to it and another one"
        for child in pool:
            os.kill(child, signal.SIGKILL)
        stack.stop("worker", signal.SIGTERM)
        stack.up("worker")
        assert pool
        assert_goes_on(stack, run)


def test_runs_end_done_when_beat_is_frozen_and_when_there_are_two(stack, run, begin):
    with case("beat frozen, beat doubled", stack.said) as done:
        done.did = "SIGSTOP while a pump takes over, then SIGCONT beside a second beat"
        stack.send("beat", signal.SIGSTOP)
        stack.up("pump")
        assert_goes_on(stack, run)
        stack.kill("pump")
        stack.send("beat", signal.SIGCONT)
        stack.up("second beat")
        assert_goes_on(stack, begin(run.host, repeats=REPEATS))
        stack.kill("second beat")


def test_run_ends_done_when_everything_is_killed_at_once(stack, run):
    with case("all killed", stack.said) as done:
        done.did = "SIGKILL to broker, worker, beat and PostgreSQL"
        for name in SERVICES:
            stack.kill(name)
        stack.database.crash()
        stack.up(*SERVICES)
        assert_goes_on(stack, run)


def test_web_says_503_and_workers_recover_when_the_database_is_away(stack, run):
    with case("database away", stack.said) as done:
        done.did = f"PostgreSQL stopped for {FORM.away_s:g} s; the web asked meanwhile"
        stack.up("web")
        eventually(lambda: status_of(stack, "/healthz") == 200, "the web")
        stack.database.stop()
        back_at = time.monotonic() + FORM.away_s
        asked = {path: status_of(stack, path) for path in ("/", "/api/v1/metrics", "/healthz")}
        time.sleep(max(0, back_at - time.monotonic()))
        stack.database.start()
        assert_goes_on(stack, run)
        assert asked == {"/": 503, "/api/v1/metrics": 503, "/healthz": 200}
        assert all(stack.is_running(name) for name in (*SERVICES, "web"))  # none was restarted
        eventually(lambda: status_of(stack, "/readyz") == 200, "a web that is ready again")
        assert run.state == RunState.DONE
        stack.kill("web")
