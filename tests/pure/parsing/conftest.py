"""Recorded probe output for the parser tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "probes"


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], str]:
    """Reads one recorded file by its name without the suffix."""
    return lambda name: (FIXTURES / f"{name}.txt").read_text(encoding="utf-8")
