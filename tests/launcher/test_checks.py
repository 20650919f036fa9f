"""The whole suite: two parts at once, one status and one coverage of both."""

import os
import textwrap

import pytest

from launcher import checks
from launcher.stack import Stack
from launcher.state import StackState

PROJECT = {
    "pyproject.toml": """
        [tool.pytest.ini_options]
        markers = ["serial: one after the other"]
        addopts = ["-p", "no:randomly", "-p", "no:cacheprovider"]
        pythonpath = ["."]
        [tool.coverage.run]
        parallel = true
        source = ["backend"]
        """,
    "backend/__init__.py": "",
    "backend/slow.py": "def measured():\n    return 1\n",
    "backend/quick.py": "def calculated():\n    return 2\n",
    "tests/e2e/test_slow.py": """
        import pytest
        from backend.slow import measured

        @pytest.mark.serial
        def test_measured():
            assert measured() == 1
        """,
    "tests/launcher/test_nothing.py": "",
}
WAITS_FOR_THE_OTHER = """
    import os, time
    from pathlib import Path
    from backend.quick import calculated

    def test_calculated_after_the_serial_part_has_ended():
        until = time.monotonic() + 30
        ended = Path(os.environ["RACKRATE_STATE_DIR"], "serial", "coverage")
        while not ended.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert calculated() == 2
    """


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Runs the whole suite of a small project with that second part: its status."""

    def run(other: str) -> int:
        for name, text in {**PROJECT, "tests/test_quick.py": other}.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        monkeypatch.chdir(tmp_path / "project")
        stack = Stack(StackState(tmp_path / "state"), is_throw_away=True)
        stack.environment = {
            "PATH": os.environ["PATH"],
            "COVERAGE_FILE": str(tmp_path / "state" / "coverage"),
        }
        return checks._whole_suite(stack)

    return run


def test_coverage_of_both_parts_counts_when_the_serial_one_ends_first(suite, capfd):
    assert suite(WAITS_FOR_THE_OTHER) == 0
    assert "100%" in capfd.readouterr().out


def test_one_failed_test_fails_the_suite(suite):
    assert suite("def test_wrong():\n    assert False\n") != 0
