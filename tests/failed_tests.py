"""Plugin of pytest: the names of the tests that failed, one a line, in the file FAILED_TESTS."""

import os
from pathlib import Path

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the file at the end of a run; with xdist the process that leads does."""
    failed = terminalreporter.getreports("failed") + terminalreporter.getreports("error")
    names = dict.fromkeys(report.nodeid for report in failed)
    Path(os.environ["FAILED_TESTS"]).write_text("".join(f"{name}\n" for name in names))
