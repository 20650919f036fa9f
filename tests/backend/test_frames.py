"""Calls deep down do not ask the system for memory again and again."""

from concurrent.futures import ThreadPoolExecutor
from resource import RUSAGE_THREAD, getrusage

import pytest

from backend.config.frames import with_large_stack

DEPTHS = 300
CALLS = 100


def _called() -> None:
    pass


def _faults_at_worst(depth: int) -> int:
    """Page faults of a hundred calls of nothing, at the depth at which there are most."""
    before = getrusage(RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        _called()
    here = getrusage(RUSAGE_THREAD).ru_minflt - before
    return max(here, _faults_at_worst(depth - 1)) if depth else here


def test_no_call_maps_memory_with_a_large_stack() -> None:
    # In threads of their own, which begin with one small piece.
    with ThreadPoolExecutor(1) as thread:
        without = thread.submit(_faults_at_worst, DEPTHS).result()
        with_it = thread.submit(with_large_stack(_faults_at_worst), DEPTHS).result()
    assert with_it < CALLS / 4 < without


def test_values_and_errors_pass() -> None:
    parsed = with_large_stack(int)
    assert parsed("12", base=8) == 10
    assert parsed.__name__ == "int"
    with pytest.raises(ValueError, match="invalid literal"):
        parsed("ten")
