"""Arguments of ./rackrate: which command gets which values, and how failures end."""

import signal
import sys

import pytest

from launcher import __main__ as command_line
from launcher import checks, commands
from launcher.console import LauncherError

DEMO = {"benchmark": True, "once": False, "install_tools": False}


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What every command was called with; nothing is set up or started."""
    made = []

    def recorded(name, status):
        def call(*values, **named):
            made.append((name, values, named))
            return status

        return call

    for number, name in enumerate(("serve", "stop", "manage", "user", "bench", "screenshots")):
        monkeypatch.setattr(commands, name, recorded(name, number))
    for name in ("check", "test", "chaos"):
        monkeypatch.setattr(checks, name, recorded(name, 9))
    monkeypatch.setenv("RACKRATE_STATE_DIR", str(tmp_path / "state"))
    return made


@pytest.fixture
def main(monkeypatch, capsys):
    """The whole program with these arguments: its status and what it printed.

    Signals of the test process stay as they are.
    """
    monkeypatch.setattr(command_line, "heed_interrupts", lambda: None)

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["rackrate", *arguments])
        return command_line.main(), *capsys.readouterr()

    return called


@pytest.mark.parametrize(
    ("arguments", "values", "named"),
    [
        (["up"], ("up", 8000), {"benchmark": False, "once": False}),
        (["up", "--port", "0"], ("up", 0), {"benchmark": False, "once": False}),
        (["demo"], ("demo", 8000), DEMO),
        (["demo", "--once", "--port=65535"], ("demo", 65535), {**DEMO, "once": True}),
        (["demo", "--no-benchmark"], ("demo", 8000), {**DEMO, "benchmark": False}),
        (["demo", "--install-tools"], ("demo", 8000), {**DEMO, "install_tools": True}),
    ],
)
def test_up_and_demo_serve_with_their_options(calls, arguments, values, named):
    assert command_line.run(arguments) == 0
    assert calls == [("serve", values, named)]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["test"], ([], False, False, False)),
        (["test", "--fast", "tests/pure"], (["tests/pure"], True, False, False)),
        (["test", "--deep", "-k", "money", "-x"], (["-k", "money", "-x"], False, True, False)),
        (["test", "--coverage"], ([], False, False, True)),
    ],
)
def test_unknown_arguments_of_test_are_those_of_pytest(calls, arguments, options):
    assert command_line.run(arguments) == 9
    [(name, (_, rest), named)] = calls
    assert name == "test"
    assert (rest, named["is_fast"], named["is_deep"], named["is_covered"]) == options


def test_manage_passes_its_arguments_unread(calls):
    assert command_line.run(["manage", "migrate", "--help", "--port", "x"]) == 2
    assert calls == [("manage", (["migrate", "--help", "--port", "x"],), {})]


def test_user_passes_its_arguments_with_its_name(calls):
    assert command_line.run(["user", "create", "ada", "--role", "admin"]) == 3
    assert calls == [("user", (["user", "create", "ada", "--role", "admin"],), {})]


@pytest.mark.parametrize(
    ("arguments", "name", "status"),
    [
        (["stop"], "stop", 1),
        (["check"], "check", 9),
        (["bench", "pages"], "bench", 4),
        (["chaos"], "chaos", 9),
        (["screenshots"], "screenshots", 5),
    ],
)
def test_status_is_that_of_the_command(calls, arguments, name, status):
    assert command_line.run(arguments) == status
    assert [call[0] for call in calls] == [name]


@pytest.mark.parametrize(
    ("arguments", "kills"), [(["chaos"], None), (["chaos", "--kills", "200"], 200)]
)
def test_chaos_kills_as_often_as_asked(calls, arguments, kills):
    assert command_line.run(arguments) == 9
    [(_, _, named)] = calls
    assert named == {"kills": kills}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: command"),
        (["up", "--once"], "unknown: --once"),
        (["stop", "now"], "unknown: now"),
        (["bench"], "required: name"),
        (["up", "--port", "65536"], "between 0 and 65535"),
        (["up", "--port", "-1"], "between 0 and 65535"),
        (["up", "--port", "http"], "invalid port value: 'http'"),
        (["chaos", "--kills", "0"], "once is the least"),
    ],
)
def test_wrong_arguments_end_with_status_2_and_call_nothing(calls, capsys, arguments, words):
    with pytest.raises(SystemExit) as ended:
        command_line.run(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
    assert calls == []


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (LauncherError("No stack is up."), 1, "rackrate: No stack is up.\n"),
        (OSError(28, "No space left on device"), 1, "rackrate: [Errno 28] No space left on device.\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)  # fmt: skip
def test_failure_is_one_line_and_a_status(main, monkeypatch, error, status, line):
    def fails():
        raise error

    monkeypatch.setattr(commands, "stop", fails)
    assert main("stop") == (status, "", line)


def test_fault_of_the_program_itself_is_not_hidden(main, monkeypatch):
    monkeypatch.setattr(commands, "stop", lambda: {}["absent"])
    with pytest.raises(KeyError):
        main("stop")


def test_termination_and_hang_up_are_interrupts():
    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {kind: signal.getsignal(kind) for kind in kinds}
    try:
        command_line.heed_interrupts()
        for kind in kinds:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(kind)
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
