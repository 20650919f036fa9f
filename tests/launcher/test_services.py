"""The embedded database and broker as programs: what they are started with, and when they are ready."""

import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from launcher import postgres as postgres_module
from launcher import stack as stack_module
from launcher import valkey as valkey_module
from launcher.console import LauncherError
from launcher.loopback import answers, claim_port, free_port
from launcher.postgres import NOBODY, Postgres, Rights
from launcher.processes import PROC
from launcher.stack import Stack
from launcher.state import StackState
from launcher.valkey import Valkey

PASSWORD = "not-for-anybody"


@pytest.fixture(autouse=True)
def packages(monkeypatch, tmp_path):
    """The binaries of both servers, as empty files."""

    def installed(pattern):
        return tmp_path / "packages" / pattern.replace("*", "x86_64")

    monkeypatch.setattr(valkey_module, "package_path", installed)
    monkeypatch.setattr(postgres_module, "package_path", installed)
    return tmp_path / "packages"


@contextmanager
def server(answer: bytes):
    """A server on loopback that gives this answer to whatever comes. Its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def once():
            connection, _ = listening.accept()
            with connection:
                connection.recv(200)
                connection.sendall(answer)

        thread = threading.Thread(target=once)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


# --- broker ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_durable", "line"), [(True, "appendonly yes"), (False, "appendonly no")]
)
def test_broker_listens_on_loopback_and_keeps_its_data_when_durable(state, is_durable, line):
    Valkey(state, PASSWORD, is_durable=is_durable).program(6390)
    lines = state.read("valkey.conf").splitlines()
    assert {"bind 127.0.0.1", "port 6390", f'dir "{state.directory / "valkey"}"', line} <= set(
        lines
    )


def test_broker_password_is_in_a_private_file_and_no_argument(state):
    program = Valkey(state, PASSWORD, is_durable=True).program(6390)
    configuration = state.directory / "valkey.conf"
    assert program.argv[1:] == [str(configuration)]
    assert PASSWORD not in " ".join([*program.argv, *program.environment.values()])
    assert f"requirepass {PASSWORD}" in configuration.read_text()
    assert configuration.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("answer", "is_ready"),
    [
        (b"+OK\r\n+PONG\r\n", True),
        (b"-WRONGPASS invalid\r\n-NOAUTH\r\n", False),
        (b"+OK\r\n-LOADING the dataset\r\n", False),
        (b"", False),
    ],
)
def test_broker_is_ready_when_it_answers_to_the_password(state, answer, is_ready):
    with server(answer) as port:
        assert Valkey(state, PASSWORD, is_durable=True).is_ready(port) is is_ready


def test_broker_is_not_ready_when_nobody_listens(state):
    assert Valkey(state, PASSWORD, is_durable=True).is_ready(free_port()) is False


def test_addresses_have_user_password_and_port(state):
    assert Valkey(state, "p", is_durable=True).url(7) == "redis://:p@127.0.0.1:7/0"
    address = Postgres(state, "p", is_durable=True).url(7)
    assert address == "postgresql://rackrate:p@127.0.0.1:7/rackrate"


# --- database: rights -----------------------------------------------------------------------------


@pytest.fixture
def database(state):
    return Postgres(state, PASSWORD, is_durable=True)


def test_plain_user_runs_the_database_with_own_rights_only(database, state, monkeypatch):
    monkeypatch.setattr(postgres_module, "is_root", lambda: False)
    [only] = database.candidates()
    assert (only.name, only.prefix, only.owner, only.user_id) == ("plain user", (), None, None)
    assert only.data == state.directory / "postgres"


def test_root_never_runs_the_database_as_root(database, monkeypatch):
    monkeypatch.setattr(postgres_module, "is_root", lambda: True)
    made = list(database.candidates())
    assert [one.name for one in made] == [
        "user namespace", "nobody with file capabilities", "nobody with a copy",
    ]  # fmt: skip
    namespace, capable, copy = made
    assert namespace.prefix == ("unshare", "-U")
    assert {"--reuid", str(NOBODY), "--clear-groups", "+no_setuid_fixup"} <= set(capable.prefix)
    assert (copy.prefix, copy.user_id) == ((), NOBODY)


def test_two_states_never_share_a_public_copy(database, tmp_path):
    other = Postgres(StackState(tmp_path / "other"), PASSWORD, is_durable=True)
    assert database.public != other.public
    assert database.public == Postgres(database.state, "x", is_durable=False).public


@pytest.fixture
def attempts(database, monkeypatch):
    """Rights that were tried, with the failure of each by name."""
    failures: dict[str, str | None] = {"a": "no namespace", "b": None, "c": None}
    tried = []

    def one(rights):
        tried.append(rights.name)
        return failures[rights.name]

    rights = [Rights(name, (), Path("/bin"), Path("/data")) for name in failures]
    monkeypatch.setattr(database, "candidates", lambda: iter(rights))
    monkeypatch.setattr(database, "_try", one)
    return failures, tried


def test_first_rights_that_work_are_used_and_remembered(database, attempts):
    _, tried = attempts
    assert database.prepare().name == "b"
    assert tried == ["a", "b"]
    assert database.state.read("postgres.rights") == "b"


def test_remembered_rights_are_tried_first(database, attempts):
    _, tried = attempts
    database.state.write("postgres.rights", "c")
    assert database.prepare().name == "c"
    assert tried == ["c"]


@pytest.mark.parametrize("is_root", [True, False])
def test_every_failure_is_named_when_no_rights_work(database, attempts, monkeypatch, is_root):
    failures, _ = attempts
    failures.update(b="no capabilities", c="disk full")
    monkeypatch.setattr(postgres_module, "is_root", lambda: is_root)
    with pytest.raises(LauncherError) as caught:
        database.prepare()
    words = "(a: no namespace; b: no capabilities; c: disk full)"
    assert words in str(caught.value)
    assert ("run ./rackrate as a plain user" in str(caught.value)) is is_root
    assert database.state.read("postgres.rights") == ""


# --- database: cluster ----------------------------------------------------------------------------


@pytest.fixture
def rights(tmp_path, monkeypatch):
    """Programs that are shell scripts: they note their arguments and end as `status` says."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    monkeypatch.setattr(postgres_module, "is_root", lambda: False)

    def script(name, text):
        (binaries / name).write_text(f"#!/bin/sh\n{text}\n")
        (binaries / name).chmod(0o755)

    script("initdb", f'echo "$@" > {tmp_path}/arguments; touch "$2/PG_VERSION"')
    script("pg_controldata", "exit 0")
    return Rights("plain user", (), binaries, tmp_path / "state" / "postgres"), script


def test_cluster_is_made_once_with_a_password_that_is_no_argument(database, rights, tmp_path):
    given, script = rights
    assert database._try(given) is None
    arguments = (tmp_path / "arguments").read_text()
    assert "-A scram-sha-256" in arguments
    assert PASSWORD not in arguments
    assert list(tmp_path.glob("state/*password*")) == []
    assert (given.data / "PG_VERSION").is_file()
    script("initdb", "exit 1")
    assert database._try(given) is None  # it is there: only looked into


def test_half_made_cluster_is_never_used(database, rights):
    given, script = rights
    script("initdb", 'touch "$2/PG_VERSION"; echo; echo "initdb: no space" >&2; exit 1')
    assert database._try(given) == "initdb: no space"
    assert not given.data.exists()
    script("initdb", "exit 3")
    assert database._try(given) == "status 3"


def test_absent_program_is_named_with_its_path(database, rights):
    given, _ = rights
    (given.binaries / "initdb").unlink()
    assert database._try(given) == f"No such file or directory ({given.binaries / 'initdb'})"


@pytest.mark.parametrize("is_durable", [True, False])
def test_only_a_throw_away_database_may_lose_what_was_committed(state, rights, is_durable):
    database = Postgres(state, PASSWORD, is_durable=is_durable)
    database._rights = rights[0]
    program = database.program(5433)
    assert ("fsync=off" in program.argv) is not is_durable
    assert program.argv[program.argv.index("-h") + 1] == "127.0.0.1"
    assert program.argv[program.argv.index("-p") + 1] == "5433"
    assert program.stop_signal == signal.SIGINT
    assert PASSWORD not in " ".join(program.argv)


@pytest.mark.parametrize(
    "content", ["", "word", "4000000\n", pytest.param(f"{os.getpid()}\n", id="of this process")]
)
def test_process_of_another_folder_is_not_stopped_as_a_left_over(database, monkeypatch, content):
    data = database.state.directory / "postgres"
    data.mkdir()
    (data / "postmaster.pid").write_text(content)
    monkeypatch.setattr(postgres_module, "send", lambda *_: pytest.fail("it was signalled"))
    assert database.stop_left_over() is False


def test_server_on_this_data_folder_is_stopped_as_a_left_over(database):
    data = database.state.directory / "postgres"
    data.mkdir()
    with subprocess.Popen(["sleep", "600"], cwd=data) as left:
        (data / "postmaster.pid").write_text(f"{left.pid}\n{data}\n")
        assert (PROC / str(left.pid)).exists()
        assert database.stop_left_over() is True
        assert left.wait(5) == -signal.SIGINT


def test_database_that_is_there_is_no_problem(database, monkeypatch):
    error = 'ERROR:  database "rackrate" already exists\n'
    monkeypatch.setattr(
        database, "_client", lambda *_: subprocess.CompletedProcess([], 1, "", error)
    )
    database.create_database(5432)
    error = "psql: hint\nFATAL:  no more connections\n"
    with pytest.raises(LauncherError, match=r"cannot be made: FATAL:  no more connections\."):
        database.create_database(5432)


# --- stack ----------------------------------------------------------------------------------------


def test_port_that_is_free_is_claimed_as_it_is():
    port = free_port()
    assert claim_port(port) == port


@pytest.mark.parametrize(("status", "is_up"), [(200, True), (401, True), (404, True), (503, False)])
def test_web_server_answers_unless_it_fails(status, is_up):
    with server(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode()) as port:
        assert answers(f"http://127.0.0.1:{port}") is is_up


def test_web_server_does_not_answer_when_nobody_listens():
    assert answers(f"http://127.0.0.1:{free_port()}") is False


@pytest.fixture
def stack(state):
    made = Stack(state, is_throw_away=True)
    made.environment = {"PATH": os.environ["PATH"]}
    return made


def test_statuses_of_signals_are_those_of_a_shell(stack):
    ended = stack.start(["sh", "-c", "exit 5"])
    killed = stack.start(["sh", "-c", "kill -TERM $$"])
    assert stack.wait(ended, killed) == [5, 128 + signal.SIGTERM]


def test_interrupted_command_has_its_grace_time_to_tidy_up(stack, monkeypatch, tmp_path):
    tidied = tmp_path / "tidied"
    ready = tmp_path / "ready"
    command = stack.start(
        ["sh", "-c", f"trap 'sleep 1; touch {tidied}; exit' TERM; touch {ready}; "
         "while :; do sleep 0.1; done"]
    )  # fmt: skip

    def interrupted(_has_ended, _pause_s):
        while not ready.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(stack.supervisor, "run_until", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stack.wait(command, grace_s=20)
    assert tidied.exists()
    assert command.poll() == 0


def test_failed_command_is_a_problem_with_its_last_line_of_its_own(stack, monkeypatch):
    monkeypatch.setattr(stack_module, "PYTHON", "sh")
    script = stack.state.write(
        "manage", "echo first; echo 'Error: no table'; echo '  detail'; exit 1"
    )
    monkeypatch.setattr(stack_module, "MANAGE", script)
    with pytest.raises(
        LauncherError, match=r"manage\.py migrate failed: Error: no table \(see .*migrated"
    ):
        stack.manage_quietly("migrated", "migrate")


def test_migration_is_skipped_only_for_the_same_files_in_an_own_database(
    stack, monkeypatch, tmp_path
):
    calls = []
    monkeypatch.setattr(stack, "manage_quietly", lambda *call: calls.append(call))
    folder = tmp_path / "app" / "migrations"
    folder.mkdir(parents=True)
    (folder / "0001.py").write_text("one")
    migrate = lambda: stack._once("migrated", [tmp_path / "app"], "migrate")  # noqa: E731
    migrate()
    migrate()
    assert len(calls) == 2  # a database that the person named is always asked
    stack.addresses["DATABASE_URL"] = "postgres://own"
    migrate()
    migrate()
    assert len(calls) == 3
    (folder / "0001.py").write_text("two")
    migrate()
    assert calls[-1] == ("migrated", "migrate")
    assert len(calls) == 4


def test_first_account_is_made_in_an_own_database_only(stack, monkeypatch):
    calls = []
    monkeypatch.setattr(stack, "run", lambda argv: calls.append(argv) or 1)
    stack.create_first_account()
    assert calls == []
    stack.addresses["DATABASE_URL"] = "postgres://own"
    stack.create_first_account()
    assert calls[0][2:] == ["user", "create", "admin", "--role", "admin", "--if-nobody"]


def test_published_stack_has_its_addresses_and_its_page(stack):
    stack.addresses["DATABASE_URL"] = "postgres://own"
    stack.publish()
    assert stack.state.published() == {"DATABASE_URL": "postgres://own"}
    stack.publish("http://127.0.0.1:8000")
    assert stack.state.published()["PUBLIC_URL"] == "http://127.0.0.1:8000"
