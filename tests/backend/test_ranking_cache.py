"""The memory of what was computed from one state of the data."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from backend.catalog.selectors.data_version import DataStamp
from backend.rankings.selectors.cache import BYTES_OF_SMALL, StampedCache

AT = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
ONE, TWO = DataStamp(1, AT), DataStamp(1, AT, refreshes=1)


class Counted:
    """Something to compute that knows how often it was."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        return self.times


def test_result_is_cached_for_one_state_of_the_data() -> None:
    cache, compute = StampedCache(2 * BYTES_OF_SMALL), Counted()
    assert [cache.get(ONE, "a", compute), cache.get(ONE, "a", compute)] == [1, 1]
    assert cache.get(TWO, "a", compute) == 2
    assert cache.get(ONE, "a", compute) == 3


def test_nothing_is_cached_while_nothing_was_counted() -> None:
    cache, compute = StampedCache(2 * BYTES_OF_SMALL), Counted()
    never = DataStamp(0, None)
    assert [cache.get(never, "a", compute), cache.get(never, "a", compute)] == [1, 2]


def test_oldest_result_is_dropped_for_a_new_one() -> None:
    cache, compute = StampedCache(2 * BYTES_OF_SMALL), Counted()
    for key in ("a", "b", "a", "c"):
        cache.get(ONE, key, compute)
    assert compute.times == 3
    assert cache.get(ONE, "a", compute) == 1
    assert cache.get(ONE, "b", compute) == 4


def test_result_may_be_made_of_others() -> None:
    cache = StampedCache(2 * BYTES_OF_SMALL)
    assert cache.get(ONE, "sum", lambda: 1 + cache.get(ONE, "part", lambda: 2)) == 3
    assert cache.get(ONE, "part", lambda: 9) == 2


def test_what_several_want_at_once_is_computed_once() -> None:
    cache, begun, may_end = StampedCache(2 * BYTES_OF_SMALL), threading.Event(), threading.Event()
    compute = Counted()

    def slow() -> int:
        begun.set()
        assert may_end.wait(10)
        return compute()

    with ThreadPoolExecutor(4) as threads:
        wanted = [threads.submit(cache.get, ONE, "a", slow) for _ in range(4)]
        assert begun.wait(10)
        # Another result does not wait for it.
        assert cache.get(ONE, "b", lambda: 7) == 7
        may_end.set()
        assert [one.result(10) for one in wanted] == [1, 1, 1, 1]


def test_what_failed_is_computed_again() -> None:
    cache = StampedCache(2 * BYTES_OF_SMALL)
    with pytest.raises(ZeroDivisionError):
        cache.get(ONE, "a", lambda: 1 // 0)
    assert cache.get(ONE, "a", lambda: 5) == 5
