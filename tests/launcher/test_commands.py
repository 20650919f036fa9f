"""up, stop, manage and user beside a running stack and alone; services are stand-ins."""

import io
from pathlib import Path

import pytest

from launcher import checks, commands
from launcher.checks import Check
from launcher.console import LauncherError, console
from launcher.state import Busy, StackState


class Stack:
    """Notes what it is asked to do; fails at the step that `fails_at` names."""

    fails_at = ""
    status = 0

    def __init__(self, state, **_options):
        self.state = state
        self.environment = {}
        self.supervisor = self
        steps.clear()

    def _note(self, name):
        steps.append(name)
        if name == self.fails_at:
            raise LauncherError(f"{name} failed")

    def start_services(self):
        self._note("services")

    def migrate(self):
        self._note("migrate")

    def load_fixtures(self):
        self._note("fixtures")

    def start_application(self, port):
        self._note("application")
        return f"http://127.0.0.1:{port}"

    def settle(self):
        self._note("rest")

    def create_first_account(self):
        self._note("account")

    def run(self, argv, **_options):
        self._note(f"run {' '.join(argv[2:])}")
        return self.status

    def run_until(self, _condition):
        raise KeyboardInterrupt

    def stop(self):
        steps.append("stop")


steps: list[str] = []
READY = ["services", "migrate", "fixtures", "application"]
MEASURED = "run benchmark local --profile quick"


@pytest.fixture(autouse=True)
def directory(monkeypatch, tmp_path) -> Path:
    """A state of the test's own, nothing set up, no process started."""
    monkeypatch.setenv("RACKRATE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr(commands, "set_up", lambda **_: None)
    monkeypatch.setattr(commands.host_tools, "is_there", lambda _: True)
    monkeypatch.setattr(commands, "Stack", Stack)
    monkeypatch.setattr(Stack, "fails_at", "")
    monkeypatch.setattr(Stack, "status", 0)
    return tmp_path / "state"


@pytest.fixture(autouse=True)
def printed(monkeypatch):
    """What the terminal shows so far."""
    stream = io.StringIO()
    monkeypatch.setattr(console, "stream", stream)
    return stream.getvalue


@pytest.fixture
def busy(monkeypatch):
    """Let another launcher hold the state."""

    def run_by(command, pid=4_000_000):
        monkeypatch.setattr(StackState, "holder", lambda _: Busy(pid, command))

        def acquire(_self, _command):
            raise Busy(pid, command)

        monkeypatch.setattr(StackState, "acquire", acquire)

    return run_by


def is_free(directory: Path) -> bool:
    return StackState(directory).holder() is None


def test_up_serves_until_it_is_interrupted(directory, printed):
    assert commands.serve("up", 0, benchmark=False, once=False) == 0
    assert steps == [*READY, "account", "stop"]
    assert "Ctrl-C stops it" in printed()
    assert is_free(directory)


def test_demo_once_ends_with_the_status_of_the_benchmark(printed, directory, monkeypatch):
    monkeypatch.setattr(Stack, "status", 3)
    assert commands.serve("demo", 0, benchmark=True, once=True) == 3
    assert steps == [*READY, "rest", MEASURED, "stop"]
    assert f"the benchmark failed (status 3); logs are in {directory / 'log'}" in printed()


@pytest.mark.parametrize("has_redis", [True, False])
def test_demo_measures_general_performance_where_redis_is(monkeypatch, has_redis):
    monkeypatch.setattr(commands.host_tools, "is_there", lambda _: has_redis)
    monkeypatch.setattr(commands.host_tools, "offer_tools", lambda *_, **__: [])
    assert commands.serve("demo", 0, benchmark=True, once=True) == 0
    general = ["run benchmark local --profile general"] if has_redis else []
    assert steps == [*READY, "rest", MEASURED, *general, "stop"]


def test_demo_serves_on_after_a_failed_benchmark(monkeypatch):
    monkeypatch.setattr(Stack, "status", 1)
    assert commands.serve("demo", 0, benchmark=True, once=False) == 0
    assert steps == [*READY, "rest", MEASURED, "account", "stop"]


@pytest.mark.parametrize("step", READY)
def test_what_was_started_is_stopped_when_a_step_fails(directory, monkeypatch, step):
    monkeypatch.setattr(Stack, "fails_at", step)
    with pytest.raises(LauncherError, match=f"{step} failed"):
        commands.serve("up", 0, benchmark=False, once=False)
    assert steps == [*READY[: READY.index(step) + 1], "stop"]
    assert is_free(directory)


def test_lock_is_released_when_set_up_fails(directory, monkeypatch):
    def fails(**_):
        raise LauncherError("the disk is full")

    monkeypatch.setattr(commands, "set_up", fails)
    with pytest.raises(LauncherError, match="the disk is full"):
        commands.serve("up", 0, benchmark=False, once=False)
    assert is_free(directory)


def test_second_stack_is_refused_with_the_process_of_the_first(busy):
    busy("demo", 4321)
    with pytest.raises(LauncherError, match=r"runs already \(demo \(process 4321\)\)"):
        commands.serve("up", 0, benchmark=False, once=False)


def test_short_command_is_waited_for_with_one_line(monkeypatch, printed):
    answers = [Busy(7, "manage"), Busy(7, "manage"), None]

    def acquire(_self, _command):
        if answer := answers.pop(0):
            raise answer

    def without_pause(condition, _timeout_s, _pause_s):
        return any(condition() for _ in range(5))

    monkeypatch.setattr(StackState, "acquire", acquire)
    monkeypatch.setattr(commands, "wait_until", without_pause)
    assert commands.serve("up", 0, benchmark=False, once=False) == 0
    assert printed().count("waiting for manage (process 7) to end") == 1


def test_short_command_that_does_not_end_is_a_problem(busy, monkeypatch):
    busy("manage")
    monkeypatch.setattr(commands, "wait_until", lambda condition, *_: condition())
    with pytest.raises(LauncherError, match="Another command of this checkout"):
        commands.serve("up", 0, benchmark=False, once=False)


# --- stop -----------------------------------------------------------------------------------------


def test_stop_says_so_when_nothing_runs(printed, directory):
    assert commands.stop() == 0
    assert printed() == "nothing is running\n"
    assert is_free(directory)


def test_stop_names_what_a_killed_launcher_left(printed, monkeypatch):
    monkeypatch.setattr(StackState, "stop_left_overs", lambda _: ["web", "postgres"])
    assert commands.stop() == 0
    assert "an earlier launcher left: web, postgres" in printed()


def test_stop_ends_the_stack_that_runs(busy, printed, monkeypatch):
    busy("up", 4321)
    sent = []
    monkeypatch.setattr(commands, "send", lambda *signal: sent.append(signal))
    monkeypatch.setattr(commands, "has_ended", lambda _: True)
    assert commands.stop() == 0
    assert sent == [(4321, 15)]
    assert printed() == "stopped\n"


def test_stop_leaves_a_short_command_alone(busy, monkeypatch):
    busy("manage", 4321)
    monkeypatch.setattr(commands, "send", lambda *_: pytest.fail("it was signalled"))
    with pytest.raises(LauncherError, match=r"No stack is up; manage \(process 4321\)"):
        commands.stop()


def test_stop_is_a_problem_when_the_stack_does_not_end(busy, directory, monkeypatch):
    busy("demo", 4321)
    monkeypatch.setattr(commands, "send", lambda *_: None)
    monkeypatch.setattr(commands, "wait_until", lambda *_: False)
    with pytest.raises(LauncherError, match=rf"does not stop; see {directory / 'log'}"):
        commands.stop()


# --- manage and user ------------------------------------------------------------------------------


def test_manage_alone_starts_services_and_ends_with_the_status(directory, monkeypatch):
    monkeypatch.setattr(Stack, "status", 4)
    assert commands.manage(["showmigrations", "catalog"]) == 4
    assert steps == ["services", "migrate", "run showmigrations catalog", "stop"]
    assert is_free(directory)


@pytest.fixture
def replaced(monkeypatch):
    """The program that this process would have become."""
    made = []
    steps.clear()
    monkeypatch.setattr(commands.os, "execve", lambda *call: made.append(call))
    return made


def test_manage_beside_a_stack_uses_its_services(busy, directory, replaced):
    busy("up")
    StackState(directory).publish({"DATABASE_URL": "postgres://live", "PUBLIC_URL": "http://here"})
    commands.manage(["user", "list"])
    [(program, argv, environment)] = replaced
    assert argv[-2:] == ["user", "list"]
    assert argv[0] == program
    assert environment["DATABASE_URL"] == "postgres://live"
    assert environment["RACKRATE_STATE_DIR"] == str(directory)
    assert steps == []


def test_manage_is_a_problem_when_the_stack_ends_before_it_is_ready(busy, monkeypatch, replaced):
    busy("up")
    monkeypatch.setattr(commands, "wait_until", lambda *_: True)
    with pytest.raises(LauncherError, match="ended before it was ready"):
        commands.manage(["user", "list"])
    monkeypatch.setattr(commands, "wait_until", lambda *_: False)
    with pytest.raises(LauncherError, match="does not become ready"):
        commands.manage(["user", "list"])
    assert replaced == []


def test_user_needs_a_running_stack_or_a_named_database(monkeypatch):
    with pytest.raises(LauncherError, match="Nothing is running"):
        commands.user(["user", "list"])
    monkeypatch.setenv("DATABASE_URL", "postgres://named")
    assert commands.user(["user", "list"]) == 0
    assert steps == ["services", "migrate", "run user list", "stop"]


# --- check ----------------------------------------------------------------------------------------


def test_check_prints_the_output_of_failures_only(state, monkeypatch, printed):
    shell = ["/bin/sh", "-c"]
    monkeypatch.setattr(checks, "set_up", lambda **_: None)
    monkeypatch.setattr(
        checks, "_checks",
        lambda: [
            Check("types", [*shell, "echo all well"]),
            Check("lint", [*shell, "echo one fault; exit 2"]),
            Check("format", [*shell, "echo $DATABASE_URL; exit 1"]),
        ],
    )  # fmt: skip
    assert checks.check(state) == 1
    out = printed()
    assert "all well" not in out
    assert "one fault" in out
    assert "postgresql://rackrate:unused@127.0.0.1:1/rackrate" in out  # no real database
    assert out.splitlines()[-1] in {"failed: lint, format", "failed: format, lint"}


def test_check_ends_with_status_0_when_all_pass(state, monkeypatch, printed):
    monkeypatch.setattr(checks, "set_up", lambda **_: None)
    monkeypatch.setattr(checks, "_checks", lambda: [Check("types", ["/bin/true"])])
    assert checks.check(state) == 0
    assert printed().endswith("all checks passed\n")


def test_every_check_names_a_program_and_every_name_is_used_once():
    made = checks._checks()
    assert len({check.name for check in made}) == len(made) >= 12
    assert all(check.argv and all(check.argv) for check in made)
    [domain] = [check for check in made if check.name == "domain tests"]
    assert "--cov-fail-under=100" in domain.argv
