"""When something recurs: a cron line or an interval in a time zone, and a maintenance window.

`Recurrence` is the one description for API, files, forms and stored rows.

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
from typing import Annotated, Any
from uuid import UUID
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import Field
from pydantic_core import PydanticCustomError

from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.stored_values import Identifier, TimeOfDay
from backend.foundation.documents.values import (
    Flag,
    JsonSchema,
    Object,
    Text,
    Value,
    WholeNumber,
    Zone,
    fault,
    shown,
)
from backend.foundation.errors import InvalidValue

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
class CronLine(Value):
    """Five fields, each a number, a name, a range, * or a list of them."""

    def read(self, value: Any) -> str:
        fields = value.split() if isinstance(value, str) else []
        if len(fields) != _FIELDS or len(value) > MAX_CRON_LENGTH:
            raise fault("minute, hour, day of month, month and day of week are needed")
        for field in fields:
            if not _FIELD.fullmatch(field):
                raise fault(f"{field!r} is not a number, a name, a range, * or a list")
        line = " ".join(fields)
        try:
            CronSim(line, dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
        except CronSimError as error:
            raise fault(f"{line!r}: {str(error).lower()}") from None
        return line

    def schema(self) -> JsonSchema:
        return {"type": "string", "maxLength": MAX_CRON_LENGTH}


@dataclass(frozen=True)
class StartInterval(WholeNumber):
    """Seconds between two starts."""

    low: int = MIN_EVERY_S
    high: int = MAX_EVERY_S

    def _fault(self, value: Any) -> PydanticCustomError:
        number = shown(value).strip("'")
        return fault(f"{number} is not within {self.low} … {self.high}")


ANY_TIME = Object("At any time when left out", is_nullable=True)


class WindowDocument(Document):
    """A maintenance window in the schedule's time zone; it may cross midnight."""

    begin: Annotated[dt.time, TimeOfDay("Begin of the maintenance window"), Field(alias="from")]
    end: Annotated[
        dt.time,
        TimeOfDay("Its end; the day after where it is before the begin"),
        Field(alias="to"),
    ]

    def is_open(self, time: dt.time) -> bool:
        """True if the local time lies within [begin, end), which crosses midnight where end ≤ begin."""
        if self.begin < self.end:
            return self.begin <= time < self.end
        return time >= self.begin or time < self.end

    def faults(self) -> Faults:
        if self.begin == self.end:
            yield (
                str(type(self).model_fields["end"].alias),
                "the window is empty: it ends when it begins",
            )


class Recurrence(Document):
    """When a schedule starts: exactly one of a cron line and an interval."""

    cron: Annotated[str | None, CronLine("Minute, hour, day of month, month, day of week")] = None
    every_s: Annotated[int | None, StartInterval("Interval", unit="s")] = None
    time_zone: Annotated[str, Zone("Of the cron line and the window")] = "UTC"
    window: Annotated[WindowDocument | None, ANY_TIME] = None
    is_enabled: Annotated[bool, Flag("Whether it starts anything"), Field(alias="enabled")] = True

    def faults(self) -> Faults:
        if (self.cron is None) == (self.every_s is None):
            yield "cron", "exactly one of cron and every_s is needed"


# Fields that a row of a schedule has under the same names.
STORED = ("cron", "every_s", "time_zone", "is_enabled")


class ScheduleDocument(Recurrence):
    """When a campaign starts by itself: exactly one of a cron line and an interval."""

    campaign: Annotated[UUID, Identifier("Identifier of the campaign")]


class WindowEntry(WindowDocument):
    """The maintenance window in the time zone, in a file."""

    begin: Annotated[dt.time, TimeOfDay("HH:MM"), Field(alias="start")]
    end: Annotated[dt.time, TimeOfDay("HH:MM"), Field(alias="end")]


class ScheduleEntry(Recurrence):
    """When a campaign starts by itself, in a file."""

    campaign: Annotated[str, Text("Name of the campaign")]
    window: Annotated[WindowEntry | None, ANY_TIME] = None
    is_enabled: Annotated[bool, Flag("Whether it starts anything")] = True


@dataclass(frozen=True)
class Timetable:
    """A recurrence whose intervals are counted from `anchor` (aware)."""

    when: Recurrence
    anchor: dt.datetime

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.when.time_zone)

    def is_open(self, at: dt.datetime) -> bool:
        """True if the moment lies within the window."""
        window = self.when.window
        return window is None or window.is_open(at.astimezone(self.zone).time())


def timetable(when: Recurrence, anchor: dt.datetime) -> Timetable:
    """A timetable that leads to a start after `anchor`; raises InvalidValue at the window's begin."""
    planned = Timetable(when, anchor)
    if when.window is not None and not next_times(planned, anchor, count=1):
        begin = type(when.window).model_fields["begin"].alias
        raise InvalidValue(f"/window/{begin}", "no start falls within the window")
    return planned


def next_times(
    planned: Timetable, after: dt.datetime, count: int = SHOWN_TIMES
) -> list[dt.datetime]:
    """The next starts after a moment, ascending, in the timetable's zone.

    Starts outside the window do not happen and are not listed. Fewer than `count` come back
    where there are no more within the next CANDIDATES starts.
    """
    return list(islice(filter(planned.is_open, islice(_starts(planned, after), CANDIDATES)), count))


def _starts(planned: Timetable, after: dt.datetime) -> Iterator[dt.datetime]:
    if planned.when.cron is None:
        return _interval_starts(planned, after)
    after = after.astimezone(dt.UTC)
    starts = CronSim(planned.when.cron, after.astimezone(planned.zone))
    # Seen from the second pass of a repeated hour, the times of the first one are over.
    coming = dropwhile(lambda at: at <= after, starts)
    # Times that a clock change moves to one moment are one start.
    return (next(same) for _, same in groupby(coming, lambda at: at.astimezone(dt.UTC)))


def _interval_starts(planned: Timetable, after: dt.datetime) -> Iterator[dt.datetime]:
    step = dt.timedelta(seconds=planned.when.every_s or 0)
    anchor = planned.anchor.astimezone(dt.UTC)
    number = max((after - anchor) // step + 1, 1)
    while True:
        yield (anchor + number * step).astimezone(planned.zone)
        number += 1
