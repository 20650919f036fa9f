"""Broker, database and beat fail under a run; it ends whole, and the next one too."""

import signal
import time
from collections.abc import Callable

import pytest
from django.core.management import CommandError
from django.db.models import QuerySet

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import Host, Run
from backend.benchmarks.services.hosts import host_local
from backend.benchmarks.services.runs import run_cancel
from backend.config.messages import BROKER_S
from tests.backend.campaigns import campaign
from tests.e2e.chaos_form import case
from tests.e2e.stack import MANAGED, Stack, eventually
from tests.e2e.truth import assert_clean, assert_whole, ended, has_results
from workers.engine import in_process

pytestmark = [pytest.mark.chaos, pytest.mark.serial, pytest.mark.native]

REPEATS = 4


@pytest.fixture
def run(stack, begin) -> Run:
    """A run on this machine of four seconds and more, with some of it measured."""
    stack.database.start()  # a test that failed may have left it stopped
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


def test_runs_end_done_when_the_broker_is_silent_for_a_while(stack, run, begin):
    with case("broker silent", stack.said) as done:
        done.did = f"SIGSTOP for {2 * BROKER_S} s: it takes connections and does not answer"
        stack.send("broker", signal.SIGSTOP)
        time.sleep(2 * BROKER_S)
        stack.send("broker", signal.SIGCONT)
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


# --- commands that follow a run without a worker ----------------------------------------------------

AWAY = "the database is away, waiting up to 300 s for it"
CANCELLING = "cancelling; a second Ctrl-C ends this command at once"
SMALL = {"seconds": 0.5, "repeats": REPEATS, "quiet_budget_s": 0}
ENDLESS = {**SMALL, "repeats": 50}


@pytest.fixture
def alone(stack) -> Stack:
    """The stack without anybody who works on runs."""
    stack.database.start()
    stack.up("broker")
    for name in ("worker", "beat", "pump"):
        stack.down(name)
    return stack


def start(stack: Stack, name: str, *arguments: str) -> None:
    stack.start(name, [*MANAGED, *arguments], env=stack.environment)


def start_benchmark(stack: Stack, name: str, parameters: dict[str, float]) -> None:
    given = [f"--set={key}={value}" for key, value in parameters.items()]
    start(stack, name, "benchmark", "local", "--probe", "cmips", *given)


def new_runs(host: Host) -> QuerySet[Run]:
    """Those that are made from now on: the tests of a module share a database."""
    return host.runs.exclude(pk__in=list(host.runs.values_list("pk", flat=True)))


def has_ended(stack: Stack, name: str) -> Callable[[], bool]:
    return lambda: stack.status(name) is not None


def test_commands_go_on_with_their_runs_when_the_database_restarts(alone):
    with case("database restarted under commands", alone.said) as done:
        done.did = "stopped and started, under `benchmark local` and `campaign run`"
        here = host_local(workspace=default_workspace())
        runs = new_runs(here)
        made = campaign(here, name="Small", probes=["cmips"], parameters=SMALL)
        start(alone, "campaign", "campaign", "run", "Small")
        start_benchmark(alone, "benchmark", SMALL)
        eventually(lambda: runs.filter(evidence__n=1).exists(), "a first result")
        eventually(lambda: runs.count() == 2, "both runs")
        alone.database.restart()
        for name in ("benchmark", "campaign"):
            eventually(has_ended(alone, name), f"the end of {name}")
            assert alone.status(name) == 0
            assert alone.log(name).count(AWAY) == 1
        assert made.runs.count() == 1
        for run in runs.all():
            assert_whole(run, repeats=REPEATS)
        assert_clean(alone.target)


def test_ctrl_c_ends_run_or_command_while_the_database_is_away(alone, monkeypatch, queued):
    with case("Ctrl-C without a database", alone.said) as done:
        done.did = "one Ctrl-C, and two, while PostgreSQL is stopped"
        here = host_local(workspace=default_workspace())
        runs = new_runs(here)
        start_benchmark(alone, "patient", ENDLESS)
        eventually(lambda: runs.filter(evidence__n=1).exists(), "a first result")
        start_benchmark(alone, "hasty", ENDLESS)
        eventually(lambda: "waiting" in alone.log("hasty"), "the other run")
        alone.database.stop()
        for name in ("patient", "hasty"):
            eventually(lambda name=name: AWAY in alone.log(name), f"{name} says that it waits")
        monkeypatch.setattr(in_process, "PATIENCE_S", 0.2)
        with pytest.raises(CommandError, match="did not come back within"):
            in_process.follow(lambda _: Run.objects.exists(), cancel=bool, warn=bool, every_s=0.1)
        for name in ("patient", "hasty"):
            alone.send(name, signal.SIGINT)
            # Before the other one: two at once would count as one.
            eventually(lambda name=name: CANCELLING in alone.log(name), f"{name} has seen it")
        alone.send("hasty", signal.SIGINT)
        eventually(has_ended(alone, "hasty"), "the end of the hasty command")
        assert alone.status("patient") is None
        alone.database.start()
        eventually(has_ended(alone, "patient"), "the end of the cancelled run")
        assert "the run was cancelled: asked for" in alone.log("patient")
        for run in runs.all():  # nobody is left who follows that of the hasty command
            run_cancel(run=run, actor="tester")
        alone.up("pump")
        eventually(ended(*runs.all()), "the end of both runs")
        assert_clean(alone.target)
