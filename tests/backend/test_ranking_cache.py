"""The memory of what was computed from one state of the data."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from backend.catalog.selectors.data_version import DataStamp, Position
from backend.rankings.selectors.cache import BYTES_OF_SMALL, STATES, StampedCache

AT = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
# As transactions see them that may take back what they wrote.
ONE, TWO = DataStamp(1, AT), DataStamp(1, AT, refreshes=1)


def states(count: int, database: float = 1.0) -> list[DataStamp]:
    """One after the other, as everybody sees them."""
    return [
        DataStamp(1, AT, refreshes=n, position=Position((database, 1, 1), n, 0, is_writing=False))
        for n in range(count)
    ]


class Counted:
    """Something to compute that knows how often it was."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        return self.times


def refuse() -> int:
    raise AssertionError("what is kept was computed again")


def test_result_is_cached_for_one_state_of_the_data() -> None:
    cache, compute = StampedCache(2 * BYTES_OF_SMALL), Counted()
    assert [cache.get(ONE, "a", compute), cache.get(ONE, "a", compute)] == [1, 1]
    assert cache.get(TWO, "a", compute) == 2
    assert cache.get(ONE, "a", compute) == 3


def test_older_state_does_not_evict_a_newer_one() -> None:
    cache, compute = StampedCache(9 * BYTES_OF_SMALL), Counted()
    oldest, *newer = states(STATES + 1)
    for stamp in newer:
        cache.get(stamp, "a", compute)
    # A slow request of a state that is gone: it is served, and nothing is kept.
    assert [cache.get(oldest, "a", compute) for _ in range(2)] == [STATES + 1, STATES + 2]
    assert [cache.get(stamp, "a", compute) for stamp in newer] == [*range(1, STATES + 1)]


def test_state_that_is_asked_for_stays_while_others_come_and_go() -> None:
    cache, compute = StampedCache(9 * BYTES_OF_SMALL), Counted()
    held, *others = states(3 * STATES)
    cache.get(held, "a", compute)
    for stamp in others:
        cache.get(stamp, "a", compute)
        assert cache.get(held, "a", refuse) == 1


def test_states_of_a_restored_database_follow_those_of_the_one_before() -> None:
    cache, compute = StampedCache(9 * BYTES_OF_SMALL), Counted()
    *_, last = states(STATES)
    first = states(1, database=2.0)[0]
    assert [cache.get(last, "a", compute), cache.get(first, "a", compute)] == [1, 2]
    assert cache.get(first, "a", refuse) == 2


def test_what_did_not_change_between_states_counts_once() -> None:
    cache, shared = StampedCache(2 * BYTES_OF_SMALL), Counted()
    for stamp in states(2):
        cache.get(stamp, "table", lambda: shared)
    cache.get(states(2)[1], "list", Counted())
    assert all(cache.get(stamp, "table", refuse) is shared for stamp in states(2))


def test_what_a_result_keeps_in_memory_counts_with_it() -> None:
    cache = StampedCache(3 * BYTES_OF_SMALL)
    table = SimpleNamespace(nbytes=2 * BYTES_OF_SMALL)
    cache.get(ONE, "table", lambda: table)
    cache.get(ONE, "list", lambda: SimpleNamespace(nbytes=BYTES_OF_SMALL, holds=(table,)))
    # All that there may be; without the table nothing less would be in memory.
    cache.get(ONE, "more", Counted())
    assert cache.get(ONE, "more", refuse) == 1
    with pytest.raises(AssertionError, match="computed again"):
        cache.get(ONE, "list", refuse)


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
