"""The real stack of this checkout, on a state of its own."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from launcher.processes import PROC, ProcessRecord, has_ended, wait_until
from launcher.stack import Stack
from tests.launcher.conftest import ROOT, clean_environment, rackrate

NAMES = {"postgres", "valkey", "web", "worker", "beat"}
pytestmark = pytest.mark.serial  # one stack for the module, and times that another test would spoil


def records(state: Path) -> dict[str, ProcessRecord]:
    file = state / "processes.json"
    found = json.loads(file.read_text()) if file.is_file() else []
    return {entry["name"]: ProcessRecord(**entry) for entry in found}


class Launched:
    """`./rackrate up` as a child of the test, for the nth time on a state."""

    def __init__(self, state: Path, start: int = 1) -> None:
        self.state = state
        self.output = state.with_suffix(f".output-{start}")
        with self.output.open("w") as file:
            self.process = subprocess.Popen(
                [str(ROOT / "rackrate"), "up", "--port", "0"],
                env=clean_environment(state),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started = time.monotonic()
        wait_until(self.is_decided, 300)
        if "serves at" not in self.output.read_text():
            self.end()
            raise AssertionError(self.output.read_text())
        self.seconds = time.monotonic() - started
        self.url = self.output.read_text().rpartition("serves at ")[2].split()[0]

    def is_decided(self) -> bool:
        return "serves at" in self.output.read_text() or self.process.poll() is not None

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    """Every start of the state that the tests of this module share, as the first one takes long."""
    made = [Launched(tmp_path_factory.mktemp("stack") / "state")]
    assert wait_until(lambda: "user link admin" in made[0].output.read_text(), 120)
    yield made
    if made[-1].process.poll() is None:
        made[-1].end()


@pytest.fixture
def up(starts):
    """The stack of that state, started again once it was stopped."""
    if starts[-1].process.poll() is not None:
        starts.append(Launched(starts[0].state, len(starts) + 1))
    return starts[-1]


def test_stack_answers_and_has_every_process_when_up(up):
    with urllib.request.urlopen(f"{up.url}healthz", timeout=10) as answer:
        assert answer.status == 200
    assert set(records(up.state)) == NAMES
    assert all(record.is_alive() for record in records(up.state).values())


def test_worker_is_started_by_its_absolute_path_when_up(up):
    argv = (
        (PROC / str(records(up.state)["worker"].pid) / "cmdline").read_bytes().decode().split("\0")
    )
    assert str(ROOT / ".venv/bin/celery") in argv
    assert "worker" in argv


def test_no_secret_is_in_any_argument_when_up(up):
    secrets = json.loads((up.state / "secrets.json").read_text()).values()
    for record in records(up.state).values():
        for pid in record.members(f"RACKRATE_STATE_DIR={up.state}"):
            argv = (PROC / str(pid) / "cmdline").read_bytes().decode()
            assert not any(secret in argv for secret in secrets), argv


def test_first_start_prints_a_link_that_signs_the_admin_in(starts, up):
    first = starts[0]
    output = first.output.read_text()
    # Nothing of the start follows; a test before this one may have killed a child.
    last = output.partition("another link to sign in: ")[2].splitlines()[0]
    assert last == "./rackrate user link admin"
    assert "admin (admin) signs in once, until " in output
    secret = output.partition(f"{first.url}accounts/link/")[2].split()[0].rstrip("/")
    url = f"{up.url}accounts/link/{secret}/"
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert "Sign in as admin" in answer.read().decode()
    logs = [file.read_text(errors="replace") for file in (up.state / "log").iterdir()]
    assert not any(secret in log for log in logs)


def test_user_command_joins_the_live_stack_when_called(up):
    done = rackrate(up.state, "user", "create", "ada", "--role", "analyst", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["login_url"].startswith(f"{up.url}accounts/link/")
    again = rackrate(up.state, "user", "create", "ada")
    assert again.returncode == 1
    assert "'ada': A user with that username already exists." in again.stderr


def test_user_command_is_refused_with_one_sentence_when_nothing_runs(tmp_path):
    done = rackrate(tmp_path / "state", "user", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "rackrate: Nothing is running; start it with ./rackrate up, then ask again beside it.\n"
    )


def test_second_up_is_refused_with_one_sentence_when_the_stack_lives(up):
    done = rackrate(up.state, "up", "--port", "0")
    assert done.returncode == 1
    assert done.stderr == (
        f"rackrate: A stack of this checkout runs already (up (process {up.process.pid})); "
        "stop it with ./rackrate stop.\n"
    )


def test_manage_joins_the_live_stack_when_called(up):
    program = "from django.conf import settings; print(settings.PUBLIC_URL, settings.DATABASES['default']['PORT'])"
    done = rackrate(up.state, "manage", "shell", "--no-imports", "-c", program)
    assert done.returncode == 0, done.stderr
    url, port = done.stdout.split()
    assert url == up.url.rstrip("/")
    assert f":{port}/" in json.loads((up.state / "stack.json").read_text())["DATABASE_URL"]


def test_manage_passes_the_status_on_when_the_command_fails(up):
    done = rackrate(up.state, "manage", "no_such_command")
    assert done.returncode == 1
    assert "no_such_command" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["worker", "valkey"])
def test_killed_child_is_back_within_five_seconds_when_supervised(up, name):
    before = records(up.state)[name]
    os.kill(before.pid, signal.SIGKILL)

    def is_back():
        now = records(up.state)[name]
        return now.pid != before.pid and now.is_alive()

    assert wait_until(is_back, 5)


def test_nothing_is_left_when_stop_is_called(up):
    running = records(up.state)
    done = rackrate(up.state, "stop")
    assert (done.returncode, done.stdout) == (0, "stopped\n")
    assert up.process.wait(10) == 0
    assert [name for name, record in running.items() if record.is_alive()] == []
    assert "Traceback" not in up.output.read_text()


def test_left_overs_of_a_killed_launcher_are_stopped_by_the_next(starts, up):
    running = records(up.state)
    # The worst case: the kernel's signal on the launcher's death reaches nobody, because all are stopped.
    for record in running.values():
        os.kill(record.pid, signal.SIGSTOP)
    up.process.kill()
    up.process.wait()
    assert not any(has_ended(record.pid) for record in running.values())
    for record in running.values():
        if record.name != "beat":  # one that neither runs on nor ends by itself
            os.kill(record.pid, signal.SIGCONT)
    second = Launched(up.state, len(starts) + 1)
    starts.append(second)
    assert "stopped what an earlier launcher left: " in second.output.read_text()
    assert [name for name, record in running.items() if record.is_alive()] == []
    assert second.end() == 0
    assert "Traceback" not in second.output.read_text()


def test_environment_wins_over_the_embedded_services_when_set(tmp_path):
    done = rackrate(
        tmp_path / "state",
        "manage",
        "check",
        DATABASE_URL="postgresql://nobody:none@127.0.0.1:1/none",
        REDIS_URL="redis://127.0.0.1:1/0",
    )
    assert done.returncode == 1
    assert "127.0.0.1" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state/postgres").exists()
    assert not (tmp_path / "state/valkey").exists()


def test_isolated_stack_takes_its_own_database_when_another_is_named(state, monkeypatch):
    named = "postgresql://nobody:none@127.0.0.1:1/none"
    monkeypatch.setenv("DATABASE_URL", named)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    state.acquire("bench")
    stack = Stack(state, is_throw_away=True, is_isolated=True)
    try:
        stack.start_services()
        assert stack.environment["DATABASE_URL"] == stack.addresses["DATABASE_URL"] != named
        assert stack.environment["REDIS_URL"] == stack.addresses["REDIS_URL"]
    finally:
        stack.stop()
        state.release()
