"""When something recurs: a cron line or an interval in a time zone, and a maintenance window.

Cron lines are followed by cronsim as Debian's cron follows them through clock changes: a line with
a fixed hour that falls into the hour left out in spring runs once, right after it, and in autumn's
repeated hour once, the first time; a line for every hour or every few minutes goes by elapsed time.
Where both days (of the month and of the week) are restricted, either is enough.
"""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, groupby, islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from backend.domain.errors import InvalidValue
from backend.domain.time_zones import region_zone

SHOWN_TIMES = 5
MIN_EVERY_S = 60
MAX_EVERY_S = 366 * 86_400
MAX_CRON_LENGTH = 100
# Starts looked at for one inside the window: a week of every minute, a year of every hour.
CANDIDATES = 10_000
_VALUE = r"(?:[0-9]{1,2}|[A-Za-z]{3})"
_TERM = rf"(?:\*|{_VALUE}(?:-{_VALUE})?)(?:/[0-9]{{1,2}})?"
_FIELD = re.compile(rf"{_TERM}(?:,{_TERM})*", re.ASCII)
_FIELDS = 5


@dataclass(frozen=True)
class Timetable:
    """Exactly one of `cron` and `every_s` (seconds, counted from `anchor`) is set.

    `window` is [from, to) in the time zone and crosses midnight where to ≤ from; None = any time.
    """

    cron: str | None
    every_s: int | None
    zone: ZoneInfo
    window: tuple[dt.time, dt.time] | None
    anchor: dt.datetime

    def is_open(self, at: dt.datetime) -> bool:
        """True if the moment lies within the window."""
        if self.window is None:
            return True
        begin, end = self.window
        clock = at.astimezone(self.zone).time()
        if begin < end:
            return begin <= clock < end
        return clock >= begin or clock < end


def timetable(
    *,
    cron: str | None,
    every_s: int | None,
    time_zone: str,
    window: tuple[dt.time, dt.time] | None,
    anchor: dt.datetime,
) -> Timetable:
    """A timetable that leads to a start after `anchor` (aware).

    Raises InvalidValue at /cron, /every_s, /time_zone, /window/from or /window/to.
    """
    if (cron is None) == (every_s is None):
        raise InvalidValue("/cron", "exactly one of cron and every_s is needed")
    made = Timetable(
        cron=None if cron is None else _checked_cron(cron),
        every_s=None if every_s is None else _checked_interval(every_s),
        zone=_zone(time_zone),
        window=window,
        anchor=anchor,
    )
    if window is not None:
        if window[0] == window[1]:
            raise InvalidValue("/window/to", "the window is empty: it ends when it begins")
        if not next_times(made, anchor, count=1):
            raise InvalidValue("/window/from", "no start falls within the window")
    return made


def next_times(
    planned: Timetable, after: dt.datetime, count: int = SHOWN_TIMES
) -> list[dt.datetime]:
    """The next starts after a moment, ascending, in the timetable's zone.

    Starts outside the window do not happen and are not listed. Fewer than `count` come back
    where there are no more within the next CANDIDATES starts.
    """
    return list(islice(filter(planned.is_open, islice(_starts(planned, after), CANDIDATES)), count))


def _starts(planned: Timetable, after: dt.datetime) -> Iterator[dt.datetime]:
    if planned.cron is None:
        return _interval_starts(planned, after)
    after = after.astimezone(dt.UTC)
    starts = CronSim(planned.cron, after.astimezone(planned.zone))
    # Seen from the second pass of a repeated hour, the times of the first one are over.
    coming = dropwhile(lambda at: at <= after, starts)
    # Times that a clock change moves to one moment are one start.
    return (next(same) for _, same in groupby(coming, lambda at: at.astimezone(dt.UTC)))


def _interval_starts(planned: Timetable, after: dt.datetime) -> Iterator[dt.datetime]:
    step = dt.timedelta(seconds=planned.every_s or 0)
    anchor = planned.anchor.astimezone(dt.UTC)
    number = max((after - anchor) // step + 1, 1)
    while True:
        yield (anchor + number * step).astimezone(planned.zone)
        number += 1


def _checked_cron(line: str) -> str:
    fields = line.split()
    if len(line) > MAX_CRON_LENGTH or len(fields) != _FIELDS:
        raise InvalidValue("/cron", "minute, hour, day of month, month and day of week are needed")
    for field in fields:
        if not _FIELD.fullmatch(field):
            raise InvalidValue("/cron", f"{field!r} is not a number, a name, a range, * or a list")
    line = " ".join(fields)
    try:
        CronSim(line, dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
    except CronSimError as error:
        raise InvalidValue("/cron", f"{line!r}: {str(error).lower()}") from None
    return line


def _checked_interval(every_s: int) -> int:
    if isinstance(every_s, bool) or not MIN_EVERY_S <= every_s <= MAX_EVERY_S:
        raise InvalidValue("/every_s", f"{every_s} is not within {MIN_EVERY_S} … {MAX_EVERY_S}")
    return every_s


def _zone(name: str) -> ZoneInfo:
    try:
        return region_zone(name)
    except ValueError as error:
        raise InvalidValue("/time_zone", str(error)) from None
