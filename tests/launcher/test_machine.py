"""What set-up knows of the machine: Node.js, browser, installed packages, mirrors, folders."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher import browser, node, paths, setup, steps
from launcher.console import LauncherError


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """PATH holds only what is added here: scripts by name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name, script="exit 0"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
        return str(folder / name)

    return add


# --- the machine ----------------------------------------------------------------------------------


def test_other_system_is_one_sentence(monkeypatch):
    monkeypatch.setattr(setup.sys, "platform", "darwin")
    with pytest.raises(
        LauncherError, match=r"needs Linux, this is darwin; see docker-compose\.yml"
    ):
        setup.check_machine()


@pytest.mark.parametrize("libc", ["glibc 2.28", "glibc 2.41", "glibc 3.0"])
def test_newer_c_library_is_fine(monkeypatch, libc):
    monkeypatch.setattr(setup.os, "confstr", lambda _: libc)
    setup.check_machine()


@pytest.mark.parametrize("error", [ValueError("unknown name"), OSError(22, "Invalid argument")])
def test_unknown_c_library_is_one_sentence(monkeypatch, error):
    def fails(_):
        raise error

    monkeypatch.setattr(setup.os, "confstr", fails)
    with pytest.raises(LauncherError, match="this system has another C library"):
        setup.check_machine()


# --- Node.js --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "is_used"),
    [("v20.0.0", True), ("v24.1.0", True), ("v18.20.4", False), ("", False), ("node 22", False)],
)
def test_node_of_the_machine_is_used_from_version_20(programs, version, is_used):
    own, npm = programs("node", f"echo {version}"), programs("npm")
    assert node.from_path() == ((own, npm) if is_used else None)
    assert node.node() == (own if is_used else str(node.OWN_NODE))


@pytest.mark.parametrize("only", ["node", "npm"])
def test_node_and_npm_are_needed_both(programs, only):
    programs(only, "echo v22.0.0")
    assert node.from_path() is None


@pytest.mark.parametrize("is_own", [False, True])
def test_packages_are_installed_without_running_their_scripts(programs, monkeypatch, is_own):
    npm = [str(node.OWN_NODE), str(node.OWN_NPM)]
    if not is_own:
        programs("node", "echo v22.0.0")
        npm = [programs("npm")]
    calls = []
    monkeypatch.setattr(node, "tool", lambda *call: calls.append(call))
    node.npm_ci("web packages", Path("/folder"))
    [(name, argv, environment, folder)] = calls
    assert (name, folder) == ("web packages", Path("/folder"))
    assert argv[: len(npm) + 2] == [*npm, "ci", "--ignore-scripts"]
    assert environment["PATH"].startswith(f"{Path(node.node()).parent}:")


# --- browser --------------------------------------------------------------------------------------


def test_browser_of_the_machine_is_preferred(programs):
    assert browser.environment()["CHROMIUM_PATH"] == str(browser.WRAPPER)
    other = programs("google-chrome")
    assert browser.environment()["CHROMIUM_PATH"] == other
    assert browser.from_path() == other
    own = programs("chromium")
    assert browser.from_path() == own


@pytest.mark.parametrize("is_there", [True, False])
def test_driver_uses_our_node_only_without_its_library(monkeypatch, is_there):
    def load(name):
        assert name == "libatomic.so.1"
        if not is_there:
            raise OSError("cannot open shared object file")

    monkeypatch.setattr(browser.ctypes, "CDLL", load)
    made = browser.environment()
    assert made.get("PLAYWRIGHT_NODEJS_PATH") == (None if is_there else node.node())


# --- packages -------------------------------------------------------------------------------------


@pytest.fixture
def venv(monkeypatch, tmp_path):
    """An environment of this checkout whose note has these lock digests."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    monkeypatch.setattr(setup, "VENV", folder)
    monkeypatch.setattr(setup, "PYTHON", folder / "bin/python")

    def note(*locks, root=paths.ROOT):
        text = json.dumps({"root": str(root), "locks": [paths.digest([lock]) for lock in locks]})
        (folder / "rackrate.json").write_text(text)
        return folder

    return note


@pytest.fixture
def lock(tmp_path):
    file = tmp_path / "runtime.txt"
    file.write_text("django==5.2")
    return file


def test_packages_are_current_for_the_lock_they_were_installed_from(venv, lock):
    venv(lock)
    step = setup._Packages("packages", lambda: None, lambda: setup._packages_mark(lock))
    assert step.is_done()
    lock.write_text("django==5.3")
    assert setup._packages_mark(lock) == "outdated"
    assert not step.is_done()


def test_larger_set_of_packages_contains_the_smaller(venv, lock, tmp_path):
    larger = tmp_path / "dev.txt"
    larger.write_text("django==5.2\npytest==9")
    venv(larger, lock)
    assert setup._packages_mark(lock) == paths.digest([lock])
    venv(lock)
    assert setup._packages_mark(larger) == "outdated"


def test_environment_of_another_checkout_is_absent(venv, lock):
    venv(lock, root="/elsewhere")
    assert setup._packages_mark(lock) == "absent"


@pytest.mark.parametrize("damage", ["no note", "no python", "half a note"])
def test_damaged_environment_is_absent(venv, lock, damage):
    folder = venv(lock)
    if damage == "no note":
        (folder / "rackrate.json").unlink()
    elif damage == "no python":
        (folder / "bin/python").unlink()
    else:
        (folder / "rackrate.json").write_text('{"root": ')
    assert setup._packages_mark(lock) == "absent"


@pytest.fixture
def mirrors(monkeypatch):
    """Let pip have this configuration."""

    def configured(text):
        done = subprocess.CompletedProcess([], 0, stdout=text)
        monkeypatch.setattr(setup.subprocess, "run", lambda *_, **__: done)

    for name in ("UV_DEFAULT_INDEX", "UV_INDEX", "SSL_CERT_FILE", "UV_HTTP_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    return configured


def test_mirror_of_pip_counts_for_the_installer(mirrors):
    mirrors("global.index-url='https://mirror.example/simple'\nglobal.cert='/etc/ca.pem'\n")
    assert setup._index_settings() == {
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "SSL_CERT_FILE": "/etc/ca.pem",
        "UV_HTTP_TIMEOUT": "120",
    }


def test_setting_of_the_installer_wins_over_that_of_pip(mirrors, monkeypatch):
    mirrors("global.index-url='https://mirror.example'\ninstall.timeout='30'\n")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other.example")
    assert setup._index_settings() == {"UV_HTTP_TIMEOUT": "30"}


def test_installer_of_the_machine_is_preferred(programs):
    assert setup.uv() == str(setup.OWN_UV)
    own = programs("uv")
    assert setup.uv() == own


# --- steps ----------------------------------------------------------------------------------------


@pytest.fixture
def logs(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    return tmp_path


def test_output_of_a_tool_is_returned_and_logged(logs):
    shell = shutil.which("sh")
    out = steps.tool(
        "web packages", [shell, "-c", 'echo "$A"; echo two >&2; pwd'], {"A": "1"}, logs
    )
    assert out == f"1\ntwo\n{logs}\n"
    assert (logs / "web-packages.log").read_text() == out


def test_failed_tool_is_a_problem_with_its_meaning_and_log(logs):
    with pytest.raises(LauncherError, match=r"pages: the disk is full \(see .*/pages\.log\)\."):
        steps.tool("pages", ["/bin/sh", "-c", "echo ENOSPC; exit 1"])
    assert (logs / "pages.log").read_text() == "ENOSPC\n"


def test_absent_tool_is_a_problem_with_its_name(logs):
    absent = str(logs / "uv")
    with pytest.raises(LauncherError, match=rf"packages: {absent} cannot be run \(No such file"):
        steps.tool("packages", [absent])


def test_last_line_of_an_unknown_failure_is_cut():
    assert steps.meaning("first\n" + "x" * 500 + "\n\n") == "x" * 200


def test_step_forgets_its_last_success_when_it_fails(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "STAMPS", tmp_path)

    def fails():
        raise LauncherError("no network")

    good = steps.SetupStep("a step", lambda: None, lambda: "1")
    good.run()
    assert good.is_done()
    assert (tmp_path / "a-step").read_text() == "1"
    with pytest.raises(LauncherError):
        steps.SetupStep("a step", fails, lambda: "1").run()
    assert not good.is_done()


# --- folders --------------------------------------------------------------------------------------


def test_state_is_in_the_checkout_unless_named(monkeypatch, tmp_path):
    monkeypatch.setenv("RACKRATE_STATE_DIR", "")
    assert paths.state_directory() == paths.ROOT / ".state"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RACKRATE_STATE_DIR", "mine")
    assert paths.state_directory() == tmp_path / "mine"


def test_missing_package_is_a_problem_that_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "VENV", tmp_path)
    with pytest.raises(
        LauncherError, match=rf"server is missing in {tmp_path}; remove that folder"
    ):
        paths.package_path("server")
    target = tmp_path / "lib/python3.11/site-packages/server"
    target.mkdir(parents=True)
    assert paths.package_path("serv*") == target


def test_digest_counts_words_and_absent_files_and_skips_caches(tmp_path):
    file, absent = tmp_path / "folder/a.py", tmp_path / "absent"
    file.parent.mkdir()
    file.write_text("a")
    first = paths.digest([file.parent])
    cache = tmp_path / "folder/__pycache__/a.pyc"
    cache.parent.mkdir()
    cache.write_text("compiled")
    assert paths.digest([file.parent]) == first
    assert len({first, paths.digest([file.parent, absent]), paths.digest([file.parent], "v2")}) == 3
