"""Set-up steps and the sentences for what a machine lacks."""

import shutil
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from launcher import node, setup, steps
from launcher.console import LauncherError
from launcher.environment import dotenv
from launcher.loopback import claim_port
from launcher.paths import digest
from tests.launcher.conftest import ROOT, rackrate

# Last lines of what the tools print, recorded with a closed port, no name service, and a musl platform.
NO_NETWORK = "the package registry cannot be reached"
RECORDED = {
    "error: Failed to fetch: `http://127.0.0.1:9/simple/six/`\n  cause: Connection refused": NO_NETWORK,
    "  cause: dns error\n  cause: failed to lookup address information: Name or service": NO_NETWORK,
    "ERROR: Could not find a version that satisfies the requirement six (from versions: none)": NO_NETWORK,
    "npm error   code: 'ECONNREFUSED',\nnpm error   syscall: 'connect'": NO_NETWORK,
    "cause: Because x==0.6.0 has no wheels with a matching platform tag (e.g., `musllinux_1_2_x86_64`)": "glibc",
    "OSError: [Errno 28] No space left on device": "the disk is full",
    "npm error code ENOSPC": "the disk is full",
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.": "does not match its hash",
    "something\nelse went wrong\n": "else went wrong",
    "": "failed without a word",
}


@pytest.fixture
def ran(monkeypatch, tmp_path):
    """Steps write their stamps here; the list takes the names of those that ran."""
    monkeypatch.setattr(steps, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(steps, "LOGS", tmp_path / "log")
    return []


@pytest.mark.parametrize(("output", "words"), RECORDED.items())
def test_failure_of_a_tool_is_explained_when_known(output, words):
    assert words in steps.meaning(output)


def test_steps_run_after_those_they_need_when_side_by_side(ran):
    chain = [
        steps.SetupStep("a", lambda: ran.append("a"), lambda: "1"),
        steps.SetupStep("b", lambda: ran.append("b"), lambda: "1", after=("a",)),
        steps.SetupStep("c", lambda: ran.append("c"), lambda: "1", after=("a", "b")),
    ]
    steps.run_steps(chain)
    assert ran == ["a", "b", "c"]


def test_step_is_skipped_when_its_inputs_are_those_of_the_last_success(ran):
    marks = iter(["1", "1", "1", "2", "2"])
    step = steps.SetupStep("a", lambda: ran.append("a"), lambda: next(marks))
    steps.run_steps([step])  # marks 1: not done, then stamped
    steps.run_steps([step])
    assert ran == ["a"]
    steps.run_steps([step])
    assert ran == ["a", "a"]


def test_step_runs_again_when_its_output_is_gone(ran, tmp_path):
    output = tmp_path / "output"
    step = steps.SetupStep("a", lambda: (ran.append("a"), output.touch()), lambda: "1", (output,))
    steps.run_steps([step])
    output.unlink()
    steps.run_steps([step])
    assert ran == ["a", "a"]


def test_later_steps_do_not_run_when_an_earlier_one_fails(ran):
    def fails():
        raise LauncherError("no network")

    chain = [
        steps.SetupStep("a", fails, lambda: "1"),
        steps.SetupStep("b", lambda: ran.append("b"), lambda: "1", after=("a",)),
    ]
    with pytest.raises(LauncherError, match="no network"):
        steps.run_steps(chain)
    assert ran == []


@pytest.mark.parametrize("for_development", [False, True])
def test_linters_are_installed_only_for_development(monkeypatch, tmp_path, for_development):
    calls = []
    monkeypatch.setattr(node, "tool", lambda name, argv, *rest: calls.append(argv))
    node.npm_ci("web packages", tmp_path, for_development=for_development)
    assert ("--omit=dev" in calls[0]) is not for_development


def test_digest_differs_when_a_file_changes_its_content_or_name(tmp_path):
    (tmp_path / "one").write_text("content")
    first = digest([tmp_path])
    assert digest([tmp_path]) == first
    (tmp_path / "one").rename(tmp_path / "two")
    second = digest([tmp_path])
    (tmp_path / "two").write_text("changed")
    assert len({first, second, digest([tmp_path])}) == 3


def test_full_disk_is_one_sentence_when_set_up_begins(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1_200_000_000))
    with pytest.raises(LauncherError, match=r"has 1\.2 GB of free space, 2\.5 GB are needed"):
        setup.check_space()


@pytest.mark.parametrize("libc", ["glibc 2.27", "", None])
def test_other_c_library_is_one_sentence_when_the_machine_is_checked(monkeypatch, libc):
    monkeypatch.setattr(setup.os, "confstr", lambda _name: libc)
    with pytest.raises(LauncherError, match=r"glibc 2\.28 or newer is needed"):
        setup.check_machine()


def test_python_too_old_is_one_sentence_when_started(tmp_path):
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    done = subprocess.run(
        ["/bin/sh", str(ROOT / "rackrate"), "up"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "rackrate: Python 3.11 or newer is needed and none was found on PATH.\n"


def test_taken_port_is_one_sentence_when_up_starts(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = rackrate(tmp_path, "up", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr == (
        f"rackrate: Port {port} cannot be used (Address already in use); choose another one with --port N.\n"
    )


def test_free_port_is_chosen_when_asked_for_port_zero():
    assert 1024 <= claim_port(0) <= 65535


def test_unknown_command_is_refused_when_given(tmp_path):
    done = rackrate(tmp_path, "fly")
    assert done.returncode == 2
    assert "invalid choice: 'fly'" in done.stderr


def test_unknown_bench_is_refused_with_the_known_ones_when_given(tmp_path):
    done = rackrate(tmp_path, "bench", "nothing")
    assert done.returncode == 1
    assert done.stderr.startswith("rackrate: There is no bench 'nothing'; there are: ")


def test_dotenv_reads_values_and_skips_comments_when_present(tmp_path):
    file = tmp_path / ".env"
    file.write_text('# comment\n\nSECRET_KEY=a=b#c\nPUBLIC_URL="https://x.example"\n')
    assert dotenv(file) == {"SECRET_KEY": "a=b#c", "PUBLIC_URL": "https://x.example"}


def test_dotenv_names_the_line_when_it_is_no_assignment(tmp_path):
    file = tmp_path / ".env"
    file.write_text("A=1\nexport B=2\n")
    with pytest.raises(LauncherError, match="line 2"):
        dotenv(file)


def test_every_launcher_file_stays_small_when_counted():
    long = [
        path.name
        for path in Path(ROOT / "launcher").glob("*.py")
        if path.read_text().count("\n") > 300
    ]
    assert long == []
