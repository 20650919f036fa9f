"""The table of hosts, printed as it grows and whole at the end."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workers.remote.probes import build

# Host, outcome and the sentence about it.
ROWS: list[tuple[str, str, str]] = []


@pytest.fixture
def note_row(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """Adds a row to the table."""
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")

    def note(host: str, outcome: str, sentence: str) -> None:
        ROWS.append((host, outcome, sentence))
        if reporter is not None and request.config.get_verbosity() >= 0:
            reporter.write_line(f"\n{host}: {outcome}: {sentence}")

    return note


@pytest.fixture(scope="session")
def built_probes() -> None:
    """The probes of this machine, built on first need."""
    build.build(
        build.host_arch(), build_dir=Path(os.environ.get("PROBE_BUILD_DIR", build.BUILD_DIR))
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of pytest-xdist leaves its rows to the first one."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["hosts"] = json.dumps(ROWS)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    ROWS.extend(json.loads(getattr(node, "workeroutput", {}).get("hosts", "[]")))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if ROWS:
        terminalreporter.section("hosts")
        for host, outcome, sentence in sorted(ROWS):
            terminalreporter.write_line(f"{host:45} {outcome:9} {sentence[:160]}")
