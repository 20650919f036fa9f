"""The whole suite: two parts at once, one status of both."""

import os
import re
import textwrap

import pytest

from launcher import checks
from launcher.paths import ROOT
from launcher.stack import Stack
from launcher.state import StackState

PROJECT = {
    "pyproject.toml": """
        [tool.pytest.ini_options]
        markers = ["serial: one after the other"]
        addopts = ["-p", "no:randomly", "-p", "no:cacheprovider"]
        pythonpath = ["."]
        [tool.slipcover]
        source = ["backend"]
        """,
    "backend/__init__.py": "",
    "backend/quick.py": "def calculated():\n    return 2\n\n\ndef never_called():\n    return 3\n",
    "tests/launcher/test_stack.py": "import pytest\n\n@pytest.mark.serial\ndef test_up(): pass\n",
    "tests/e2e/test_chaos.py": "import pytest\n\n@pytest.mark.serial\ndef test_kills(): pass\n",
}
SLOW = """
    import pytest

    @pytest.mark.serial
    def test_measured():
        assert {}
    """
QUICK = """
    from backend.quick import calculated

    def test_calculated():
        assert calculated() == {}
    """


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Runs the whole suite of a small project with those two parts: its status."""

    def run(slow: str, quick: str, *, is_covered: bool = False) -> int:
        parts = {"tests/e2e/test_slow.py": slow, "tests/test_quick.py": quick}
        for name, text in {**PROJECT, **parts}.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        monkeypatch.chdir(tmp_path / "project")
        monkeypatch.setattr(checks, "BESIDE", 1)  # for three quick tests
        stack = Stack(StackState(tmp_path / "state"), is_throw_away=True)
        # Of the plugins that are installed only those that the parts are run with: three times as quick.
        stack.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": "xdist.plugin,slipcover.pytest_plugin",
        }
        return checks._whole_suite(stack, is_covered=is_covered)

    return run


def test_suite_passes_when_both_parts_pass_and_enough_is_covered(suite, monkeypatch, capfd):
    monkeypatch.setattr(checks, "FLOOR_REST_PERCENT", 75)
    assert suite(SLOW.format(True), QUICK.format(2), is_covered=True) == 0
    assert re.search(r"\(summary\) +4 +1 +75", capfd.readouterr().out)


def test_suite_fails_when_too_little_is_covered(suite):
    assert suite(SLOW.format(True), QUICK.format(2), is_covered=True) != 0


def test_suite_passes_when_nobody_asks_what_it_covers(suite, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(checks, "say", said.append)
    assert suite(SLOW.format(True), QUICK.format(2)) == 0
    # Chaos, then what else is serial in both folders.
    assert [re.findall(r"(\d+) passed", part) for part in said] == [["1"], ["2"]]


BUSY = """
    import pathlib
    import pytest

    @pytest.mark.serial
    @pytest.mark.parametrize("number", range({}))
    def test_that_a_busy_machine_spoils(number):
        before = pathlib.Path(f"before-{{number}}")
        is_first = not before.exists()
        before.touch()
        assert not is_first
    """


@pytest.mark.parametrize(("failed", "is_passed"), [(1, True), (5, True), (6, False)])
def test_few_failed_tests_run_once_more_and_are_named(suite, monkeypatch, failed, is_passed):
    said: list[str] = []
    monkeypatch.setattr(checks, "say", said.append)
    assert (suite(BUSY.format(failed), QUICK.format(2)) == 0) is is_passed
    named = "".join(said).partition("passed alone:")[2]
    assert named.count("test_that_a_busy_machine_spoils") == (failed if is_passed else 0)


def test_one_failed_test_in_each_part_runs_once_more(suite, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(checks, "say", said.append)
    in_parallel = (
        BUSY.format(1).replace("    @pytest.mark.serial\n", "").replace("before-", "quick-")
    )
    chaos = BUSY.format(1).replace("before-", "chaos-")
    monkeypatch.setitem(PROJECT, "tests/e2e/test_chaos.py", chaos)
    assert suite(BUSY.format(1), in_parallel) == 0
    assert "".join(said).partition("passed alone:")[2].count("busy_machine_spoils") == 3


@pytest.mark.parametrize(("is_measured", "number"), [(False, 2), (True, 3)])
def test_one_failed_test_of_either_part_fails_the_suite(suite, is_measured, number):
    assert suite(SLOW.format(is_measured), QUICK.format(number)) != 0
