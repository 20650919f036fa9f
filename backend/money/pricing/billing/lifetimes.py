"""The time that is billed, and the months that bills are cut by."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from backend.foundation.errors import InvalidValue

MINUTE_S = 60
HOUR_S = 3600
DAY_S = 86_400
CALENDAR = "calendar"
THIRTY_DAYS = "30d"


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
            # 32 days after the first of any month lie in the next one.
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
