"""Synthetic answers of price interfaces."""

from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "prices"


@pytest.fixture(scope="session")
def answer() -> Callable[[str], str]:
    """Reads one answer by the name of its file without "-synthetic"."""

    def read(name: str) -> str:
        stem, _, suffix = name.partition(".")
        path = FIXTURES / f"{stem}-synthetic.{suffix or 'json'}"
        return path.read_text(encoding="utf-8")

    return read
