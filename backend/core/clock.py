"""The only module that reads the wall clock: that of the database, which all processes share.

Processes on several machines compare moments that others wrote. Their own clocks may be minutes
apart, which would end a healthy machine or keep one too long; so each asks the database when it
connects and counts on from there.
"""

import datetime as dt
import time
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.utils import timezone


class DatabaseClock:
    """The database's time without a statement for each look."""

    def __init__(self) -> None:
        self._booted_at_s: float | None = None
        """When this machine's count of seconds began, by the database's clock."""

    def now(self) -> dt.datetime:
        if self._booted_at_s is None:  # not connected yet
            return timezone.now()
        return dt.datetime.fromtimestamp(self._booted_at_s + _up_s(), dt.UTC)

    def ask(self, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
        before_s = _up_s()
        # Past Django's cursor: it is no statement of a page or a step.
        row = connection.connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (epoch_s,) = row.fetchone()
        earliest_s, latest_s = epoch_s - _up_s(), epoch_s - before_s
        # On a busy machine the answer takes long and says little; what it does not contradict stays.
        # Never ahead of the database: what is due by this clock has to be due there.
        if self._booted_at_s is None or not earliest_s <= self._booted_at_s <= latest_s:
            self._booted_at_s = earliest_s


def _up_s() -> float:
    """Nobody sets this one, and unlike time.monotonic it goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


_clock = DatabaseClock()


def start() -> None:
    """Ask on each new connection; they are replaced every minute or so, which corrects a drift."""
    connection_created.connect(_clock.ask)


def now() -> dt.datetime:
    """Current time, aware, UTC."""
    return _clock.now()
