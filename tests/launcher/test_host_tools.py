"""Tools for this machine, unpacked from packages; apt is a stand-in, dpkg-deb is real."""

import builtins
import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from launcher import host_tools
from launcher.console import console
from launcher.host_tools import REDIS, STRESS_NG
from launcher.state import StackState

# apt-get of Debian 12, `-s install stress-ng`, some lines of it.
SIMULATED = """NOTE: This is only a simulation!
Inst libbsd0 [0.11.6-1] (0.11.7-2 Debian:12.5/stable [amd64])
Inst libjudydebian1 (1.0.5-5+b2 Debian:12.5/stable [amd64])
Inst stress-ng (0.15.06-2 Debian:12.5/stable [amd64])
Conf stress-ng (0.15.06-2 Debian:12.5/stable [amd64])
"""
APT = """#!/bin/sh
case "$*" in *" update") : > {lists}; exit ;; esac
[ -e {lists} ] || {{ echo "E: Unable to locate package stress-ng"; exit 100; }}
case "$*" in
*" -s "*) echo "Inst stress-ng (0.15.06-2 Debian:12.5/stable [amd64])" ;;
*" download stress-ng=0.15.06-2") dpkg-deb --build {package} . ;;
*) exit 99 ;;
esac
"""
CONTROL = (
    "Package: stress-ng\nVersion: 0.15.06-2\nArchitecture: all\nMaintainer: x\nDescription: x\n"
)
PROGRAM = '#!/bin/sh\necho "stress-ng, version 0.15.06 with $LD_LIBRARY_PATH"\n'


def _put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine without stress-ng, and what its terminal shows."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "timeout", "dpkg-deb", "tar", "rm"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed on this machine")
        (programs / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(host_tools, "HOST_TOOLS", tmp_path / "host")
    monkeypatch.setattr(host_tools, "UNPACKED", tmp_path / "unpacked")
    monkeypatch.setattr(host_tools, "LOGS", tmp_path / "log")
    monkeypatch.setattr(host_tools, "_is_terminal", lambda: False)
    monkeypatch.setattr(host_tools, "_is_root", lambda: False)
    monkeypatch.setattr(host_tools, "ALL", (STRESS_NG,))
    monkeypatch.setattr(console, "stream", io.StringIO())
    return programs


@pytest.fixture
def apt(machine, tmp_path):
    """A registry with stress-ng, which a machine whose lists are empty has to ask for them first."""
    package = tmp_path / "package"
    _put(package / "usr/bin/stress-ng", PROGRAM)
    _put(package / "usr/lib/x/libx.so.1", "")
    _put(package / "DEBIAN/control", CONTROL)
    _put(machine / "apt-get", APT.format(lists=tmp_path / "renewed", package=package))


@pytest.fixture
def answers(monkeypatch, apt):
    """A terminal whose person answers so; the questions come back."""

    def answer(text):
        asked = []
        monkeypatch.setattr(host_tools, "_is_terminal", lambda: True)
        monkeypatch.setattr(builtins, "input", lambda words: asked.append(words) or text)
        return asked

    return answer


def test_only_packages_that_are_not_installed_are_unpacked():
    added = host_tools.new_packages(SIMULATED.splitlines())
    assert added == ["libjudydebian1=1.0.5-5+b2", "stress-ng=0.15.06-2"]


def test_stress_ng_is_unpacked_with_lists_of_our_own_when_there_are_none(apt):
    assert not host_tools.is_there(STRESS_NG)
    host_tools.install_tool(STRESS_NG)
    assert host_tools.is_there(STRESS_NG)
    command = host_tools.HOST_TOOLS / "stress-ng"
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    libraries = host_tools.UNPACKED / "stress-ng/root/usr/lib/x"
    assert said == f"stress-ng, version 0.15.06 with {libraries}\n"


def test_demo_goes_on_and_says_what_to_do_when_nothing_can_be_unpacked(machine):
    _put(machine / "apt-get", "#!/bin/sh\necho 'E: Unable to fetch'; exit 100\n")
    host_tools.install_tool(STRESS_NG)
    assert "sudo apt-get install stress-ng" in console.stream.getvalue()
    assert not host_tools.is_there(STRESS_NG)
    assert not (host_tools.UNPACKED / "stress-ng").exists()


def test_nobody_is_asked_without_a_terminal(apt, state, monkeypatch):
    monkeypatch.setattr(builtins, "input", lambda _: pytest.fail("it asks"))
    assert not host_tools.offer_tools(state, is_asked_for=False)
    assert "./rackrate demo --install-tools" in console.stream.getvalue()
    assert host_tools.offer_tools(state, is_asked_for=True) == [STRESS_NG]


@pytest.mark.parametrize(("text", "is_agreed"), [("", True), ("y", True), ("n", False)])
def test_person_at_a_terminal_is_asked_once(answers, state: StackState, text, is_agreed):
    asked = answers(text)
    assert bool(host_tools.offer_tools(state, is_asked_for=False)) is is_agreed
    assert len(asked) == 1
    if not is_agreed:
        assert not host_tools.offer_tools(state, is_asked_for=False)
        assert len(asked) == 1


def test_terminal_of_a_build_server_is_none(monkeypatch):
    monkeypatch.setenv("CI", "true")
    leader, follower = os.openpty()
    with os.fdopen(follower, "r+b", buffering=0) as terminal, os.fdopen(leader, "rb"):
        text = io.TextIOWrapper(terminal, write_through=True)
        monkeypatch.setattr("sys.stdin", text)
        monkeypatch.setattr("sys.stdout", text)
        assert not host_tools._is_terminal()
        monkeypatch.delenv("CI")
        assert host_tools._is_terminal()


def test_root_is_not_asked_and_unpacks_what_is_missing(apt, state, monkeypatch):
    monkeypatch.setattr(host_tools, "_is_root", lambda: True)
    monkeypatch.setattr(builtins, "input", lambda _: pytest.fail("it asks"))
    assert host_tools.offer_tools(state, is_asked_for=False) == [STRESS_NG]
    host_tools.install_tool(STRESS_NG)
    assert host_tools.offer_tools(state, is_asked_for=False) == []


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "sudo apt-get install redis-tools"),
        ("dnf", "sudo dnf install redis"),
        ("apk", "sudo apk add redis"),
        ("pacman", "sudo pacman -S valkey"),
    ],
)
def test_machine_without_redis_names_the_command_that_installs_it(
    machine, state, monkeypatch, manager, command
):
    monkeypatch.setattr(host_tools, "ALL", (REDIS,))
    (machine / "dpkg-deb").unlink()
    _put(machine / manager, "#!/bin/sh\n")
    assert host_tools.offer_tools(state, is_asked_for=False) == []
    assert console.stream.getvalue().strip() == (
        "Redis is not installed, so this machine has no general performance to compare; " + command
    )
