"""Broker, database and beat fail under a run; it ends whole, and the next one too."""

import pytest

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import Run
from backend.benchmarks.services.hosts import host_local
from tests.e2e.chaos_form import case
from tests.e2e.stack import Stack, eventually
from tests.e2e.truth import assert_clean, assert_whole, ended, has_results

pytestmark = [pytest.mark.chaos, pytest.mark.serial, pytest.mark.native]

REPEATS = 4


@pytest.fixture
def run(stack, begin) -> Run:
    """A run on this machine of four seconds and more, with some of it measured."""
    stack.down("pump")
    stack.up("broker", "worker", "beat")
    made: Run = begin(host_local(workspace=default_workspace()), repeats=REPEATS)
    eventually(has_results(2, made), "the first results")
    return made


def assert_all_goes_on(stack: Stack, run: Run, begin) -> None:
    """The run ends whole, and so does one that begins afterwards."""
    following = begin(run.host, repeats=1)
    eventually(ended(run, following), "the end of both runs")
    assert_whole(run, repeats=REPEATS)
    assert_whole(following, repeats=1)
    assert_clean(stack.target)


def test_runs_end_done_when_the_broker_is_flushed(stack, run, begin):
    with case("broker flushed", stack.said) as done:
        done.did = "FLUSHALL three times"
        for count in (2, 3, 4):
            eventually(has_results(count, run), f"{count} results")
            stack.flush_broker()
        assert_all_goes_on(stack, run, begin)


def test_runs_end_done_when_the_broker_is_killed_and_comes_back_empty(stack, run, begin):
    with case("broker killed", stack.said) as done:
        done.did = "SIGKILL, and a start without any message"
        stack.kill("broker")
        stack.up("broker")
        assert_all_goes_on(stack, run, begin)


def test_runs_end_done_when_the_database_restarts_and_crashes(stack, run, begin):
    with case("database restarted", stack.said) as done:
        done.did = "stopped and started, SIGKILL and a start"
        stack.database.restart()
        stack.database.crash()
        assert_all_goes_on(stack, run, begin)


def test_runs_end_done_by_a_pump_alone_when_beat_and_worker_are_dead(stack, run, begin):
    with case("beat and worker dead", stack.said) as done:
        done.did = "SIGKILL for good; only `manage.py pump` is left"
        stack.kill("beat")
        stack.kill("worker")
        stack.up("pump")
        assert_all_goes_on(stack, run, begin)
