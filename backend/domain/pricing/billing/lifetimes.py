"""Server lifetimes, and the clocks that bills are cut by: hours and months of UTC."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backend.domain.errors import InvalidValue

HOUR_S = 3600
DAY_S = 86_400
CALENDAR = "calendar"
THIRTY_DAYS = "30d"


@dataclass(frozen=True)
class Lifetime:
    """One server from launch to its end; `slot` is its place in the stack, 1 = the oldest."""

    slot: int
    start_s: int
    end_s: int

    @property
    def seconds(self) -> int:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Horizon:
    """The time that is billed, [start_s, end_s)."""

    start_s: int
    end_s: int

    @property
    def seconds(self) -> int:
        return self.end_s - self.start_s


def months(horizon: Horizon, convention: str | int = CALENDAR) -> Iterator[tuple[int, int]]:
    """Bounds of every billing month that the horizon touches, in order.

    `calendar` months of UTC may begin before the horizon; `30d` and N-hour months (an int) follow
    one another from its start. The last one may reach beyond its end.
    """
    if convention == CALENDAR:
        start_s = _month_start(horizon.start_s)
        while start_s < horizon.end_s:
            end_s = _month_start(start_s + 32 * DAY_S)
            yield start_s, end_s
            start_s = end_s
        return
    length_s = month_seconds(convention)
    for start_s in range(horizon.start_s, horizon.end_s, length_s):
        yield start_s, start_s + length_s


def month_seconds(convention: str | int) -> int:
    """Length of a month of fixed length in seconds; InvalidValue for another convention."""
    if convention == THIRTY_DAYS:
        return 30 * DAY_S
    if isinstance(convention, int) and convention > 0:
        return convention * HOUR_S
    raise InvalidValue("month_convention", f"{convention!r} is not calendar, 30d or hours")


def _month_start(at_s: int) -> int:
    at = dt.datetime.fromtimestamp(at_s, dt.UTC)
    return int(dt.datetime(at.year, at.month, 1, tzinfo=dt.UTC).timestamp())


def hours(horizon: Horizon) -> Iterator[tuple[int, int]]:
    """Bounds of every clock hour (UTC) of the horizon, cut at its ends."""
    start_s = horizon.start_s
    while start_s < horizon.end_s:
        end_s = min(start_s // HOUR_S * HOUR_S + HOUR_S, horizon.end_s)
        yield start_s, end_s
        start_s = end_s


def seconds_within(lifetimes: Sequence[Lifetime], start_s: int, end_s: int) -> int:
    """Server-seconds of all lifetimes inside [start_s, end_s)."""
    return sum(max(0, min(life.end_s, end_s) - max(life.start_s, start_s)) for life in lifetimes)


def at_least(lifetimes: Sequence[Lifetime], minimum_s: int) -> list[Lifetime]:
    """The lifetimes with those shorter than the minimum counted as that long."""
    return [
        Lifetime(life.slot, life.start_s, max(life.end_s, life.start_s + minimum_s))
        for life in lifetimes
    ]


def ceiling(seconds: int, unit_s: int) -> int:
    """Units begun."""
    return -(-seconds // unit_s)
