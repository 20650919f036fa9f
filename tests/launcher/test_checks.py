"""The whole suite: two parts at once, one status of both."""

import os
import re
import textwrap
from pathlib import Path

import pytest

from launcher import checks
from launcher.paths import PYTHON, ROOT
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
        assert True
    """
QUICK = """
    from backend.quick import calculated

    def test_calculated():
        assert calculated() == 2
    """


class Suite:
    """A small project with those parts, in the working directory."""

    def __init__(self, directory: Path) -> None:
        self.stack = Stack(StackState(directory), is_throw_away=True)
        # Of the plugins that are installed only those that the parts are run with: three times as quick.
        self.stack.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": "xdist.plugin,slipcover.pytest_plugin",
        }

    def run(self, slow: str, quick: str, *, is_covered: bool = False) -> int:
        """The status of the whole suite."""
        parts = {"tests/e2e/test_slow.py": slow, "tests/test_quick.py": quick}
        for name, text in {**PROJECT, **parts}.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return checks._whole_suite(self.stack, is_covered=is_covered)


@pytest.fixture
def suite(tmp_path, monkeypatch):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(checks, "BESIDE", 1)  # for three quick tests
    return Suite(tmp_path / "state")


def test_suite_passes_when_its_parts_pass_and_enough_is_covered(suite, monkeypatch, capfd):
    said: list[str] = []
    monkeypatch.setattr(checks, "say", said.append)
    monkeypatch.setattr(checks, "FLOOR_REST_PERCENT", 75)
    assert suite.run(SLOW, QUICK, is_covered=True) == 0
    assert re.search(r"\(summary\) +4 +1 +75", capfd.readouterr().out)
    # Chaos, then what else is serial in both folders.
    assert [re.findall(r"(\d+) passed", part) for part in said] == [["1"], ["2"]]
    coverage = str(suite.stack.state.directory / "coverage.json")
    floor = ["--out", coverage, "--fail-under=76", "--merge", coverage]
    assert suite.stack.run([str(PYTHON), "-m", "slipcover", *floor]) != 0


BUSY = """
    import pathlib
    import pytest

    @pytest.mark.serial
    def test_that_a_busy_machine_spoils():
        before = pathlib.Path("before")
        is_first = not before.exists()
        before.touch()
        assert not is_first
    """


def test_one_failed_test_in_each_part_runs_once_more(suite, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(checks, "say", said.append)
    in_parallel = BUSY.replace("    @pytest.mark.serial\n", "").replace("before", "quick")
    monkeypatch.setitem(PROJECT, "tests/e2e/test_chaos.py", BUSY.replace("before", "chaos"))
    assert suite.run(BUSY, in_parallel) == 0
    assert "".join(said).partition("passed alone:")[2].count("busy_machine_spoils") == 3


class Parts:
    """A stack whose parts name so many failed tests; what runs after them ends with `alone`."""

    def __init__(self, state: StackState, failed: dict[str, int], alone: int = 0) -> None:
        self.state, self.environment = state, {}
        self.failed, self.alone = failed, alone
        self.again: list[str] = []

    def start(self, _argv, _stdout=None, **more: str) -> int:
        path = Path(more["FAILED_TESTS"])
        count = self.failed.get(path.name.removeprefix("failed-"), 0)
        path.write_text("".join(f"{path.name}.py::test_{n}\n" for n in range(count)))
        return 1 if count else 0

    def wait(self, *processes: int) -> list[int]:
        return [*processes]

    def run(self, argv: list[str]) -> int:
        self.again = argv[len(checks.PYTEST) :]
        return self.alone


@pytest.mark.parametrize(
    ("failed", "is_passed"),
    [
        ({"others": 1}, True),
        ({"others": 5}, True),
        ({"others": 3, "measured": 2}, True),
        ({"others": 6}, False),
        ({"chaos": 3, "measured": 3}, False),
    ],
)
def test_few_failed_tests_run_once_more_and_are_named(state, monkeypatch, failed, is_passed):
    said: list[str] = []
    monkeypatch.setattr(checks, "say", said.append)
    stack = Parts(state, failed)
    assert (checks._whole_suite(stack, is_covered=False) == 0) is is_passed
    assert len(stack.again) == (sum(failed.values()) if is_passed else 0)
    assert "".join(said).partition("passed alone:")[2].split() == stack.again


@pytest.mark.parametrize("part", ["chaos", "measured", "others"])
def test_suite_fails_when_a_test_of_any_part_fails_again(state, monkeypatch, part):
    said: list[str] = []
    monkeypatch.setattr(checks, "say", said.append)
    stack = Parts(state, {part: 1}, alone=1)
    assert checks._whole_suite(stack, is_covered=False) == 1
    assert stack.again == [f"failed-{part}.py::test_0"]
    assert "passed alone" not in "".join(said)


@pytest.mark.parametrize("statuses", [[2, 0, 0], [0, 1, 5], [143, 1, 1]])
def test_suite_fails_when_a_part_did_not_run_to_its_end(state, monkeypatch, statuses):
    stack = Parts(state, {"others": 1})
    monkeypatch.setattr(stack, "wait", lambda *_: statuses)
    assert checks._whole_suite(stack, is_covered=False) != 0
    assert stack.again == []


def test_suite_fails_when_too_little_is_covered(state):
    stack = Parts(state, {}, alone=2)
    assert checks._whole_suite(stack, is_covered=True) == 2
    coverage = str(state.directory / "coverage.json")
    floor = f"--fail-under={checks.FLOOR_REST_PERCENT}"
    assert stack.again == ["--out", coverage, floor, "--merge", coverage]
