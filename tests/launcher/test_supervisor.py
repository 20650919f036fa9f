"""Supervision: restarts, the limit of five deaths, order of stopping."""

import os
import signal
import sys

import pytest

from launcher.console import LauncherError
from launcher.processes import has_ended
from launcher.supervisor import Program, Supervisor

ENVIRONMENT = {"PATH": os.environ["PATH"]}
# Says when it is told to stop, in a file all of them share.
OBEDIENT = """
import pathlib, signal, sys, time
def told(*_):
    with open(sys.argv[1], "a") as file:
        file.write(sys.argv[2] + "\\n")
    sys.exit()
signal.signal(signal.SIGTERM, told)
pathlib.Path(sys.argv[1] + sys.argv[2]).touch()
time.sleep(600)
"""


class Clock:
    """A clock that only moves when told."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def supervisor(state):
    made = Supervisor(state, Clock())
    yield made
    made.stop()


def program(name="worker", argv=("sleep", "600"), tier=2):
    return Program(name, list(argv), ENVIRONMENT, tier, grace_s=5)


def process(supervisor, name="worker"):
    return supervisor.children[name].process


def test_child_is_started_again_within_five_seconds_when_killed(supervisor):
    supervisor.start(program())
    first = process(supervisor)
    first.send_signal(signal.SIGKILL)
    first.wait()
    supervisor.tick()
    supervisor.clock.now += 4.9
    supervisor.tick()
    assert process(supervisor).pid != first.pid
    assert supervisor.is_running("worker")


def die_once(supervisor, seconds):
    """One death and, after the given time, the next start."""
    process(supervisor).wait()
    supervisor.tick()
    supervisor.clock.now += seconds
    supervisor.tick()


def test_launcher_gives_up_when_a_child_dies_five_times_in_a_minute(supervisor):
    supervisor.start(program(argv=("false",)))
    for _round in range(4):
        die_once(supervisor, 5)
    with pytest.raises(
        LauncherError, match=r"worker ended \(status 1\), the fifth death in a minute"
    ):
        die_once(supervisor, 5)


def test_launcher_goes_on_when_five_deaths_take_longer_than_a_minute(supervisor):
    supervisor.start(program(argv=("false",)))
    for _round in range(8):
        die_once(supervisor, 16)
    assert process(supervisor) is not None


def test_children_stop_in_falling_tier_order_when_the_stack_stops(supervisor, tmp_path):
    told = tmp_path / "told"
    for tier, name in enumerate(("postgres", "valkey", "web")):
        argv = (sys.executable, "-c", OBEDIENT, str(told), name)
        supervisor.start(program(name, argv, tier))
    ready = [tmp_path / f"told{name}" for name in ("postgres", "valkey", "web")]
    supervisor.run_until(lambda: all(path.exists() for path in ready), 0.02)
    supervisor.stop()
    assert told.read_text().split() == ["web", "valkey", "postgres"]


def test_child_is_killed_when_it_ignores_its_stop_signal(supervisor, tmp_path):
    stubborn = "trap '' TERM; echo ready; while :; do sleep 1; done"
    supervisor.start(Program("web", ["sh", "-c", stubborn], ENVIRONMENT, 2, grace_s=0.2))
    log = supervisor.state.log("web")
    supervisor.run_until(lambda: log.read_text() == "ready\n", 0.02)
    pid = process(supervisor, "web").pid
    supervisor.stop()
    assert has_ended(pid)


def test_missing_program_is_one_sentence_when_started(supervisor):
    with pytest.raises(LauncherError, match="cannot be started: No such file"):
        supervisor.start(program(argv=("/nonexistent/program",)))


def test_output_of_a_child_goes_to_its_log_when_it_writes(supervisor):
    supervisor.start(program(argv=("sh", "-c", "echo out; echo err >&2")))
    process(supervisor).wait()
    assert supervisor.state.log("worker").read_text() == "out\nerr\n"
