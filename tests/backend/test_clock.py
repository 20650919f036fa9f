"""The database's clock, asked over connections that may be slow."""

import time
from typing import Any

import pytest

from backend.core.clock import DatabaseClock

DELAY_S = 0.3


class Database:
    """Answers with the time of this machine, some time after it was asked or before the answer comes."""

    def __init__(self, *, before_s: float = 0, after_s: float = 0, ahead_s: float = 0) -> None:
        self.connection = self
        self._before_s, self._after_s, self._ahead_s = before_s, after_s, ahead_s

    def execute(self, _statement: str) -> Any:
        time.sleep(self._before_s)
        self._epoch_s = time.time() + self._ahead_s
        time.sleep(self._after_s)
        return self

    def fetchone(self) -> tuple[float]:
        return (self._epoch_s,)


def _ahead_s(clock: DatabaseClock) -> float:
    return clock.now().timestamp() - time.time()


@pytest.mark.parametrize("slow", [{"before_s": DELAY_S}, {"after_s": DELAY_S}])
def test_clock_is_never_ahead_when_the_first_answer_is_slow(slow):
    clock: Any = DatabaseClock()
    clock.ask(Database(**slow))
    assert -DELAY_S - 0.1 < _ahead_s(clock) <= 0.001


@pytest.mark.parametrize("slow", [{"before_s": DELAY_S}, {"after_s": DELAY_S}])
def test_slow_answer_changes_nothing_that_it_does_not_contradict(slow):
    clock: Any = DatabaseClock()
    clock.ask(Database())
    before = _ahead_s(clock)
    clock.ask(Database(**slow))
    # A busy machine may contradict the first answer by some milliseconds.
    assert abs(_ahead_s(clock) - before) < DELAY_S / 3


def test_answer_that_contradicts_counts():
    clock: Any = DatabaseClock()
    clock.ask(Database())
    clock.ask(Database(ahead_s=300))
    assert 299.9 < _ahead_s(clock) <= 300.001
