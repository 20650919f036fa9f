"""Schedules, and when they start next."""

import datetime as dt
from dataclasses import dataclass
from typing import TypedDict, Unpack

from django.db.models import QuerySet
from django.db.models.functions import Now

from backend.accounts.models import Workspace
from backend.benchmarks.models import Schedule
from backend.common import clock
from backend.domain.schedules import SHOWN_TIMES, Timetable, next_times, timetable


@dataclass(frozen=True)
class StartWindow:
    """A maintenance window in the schedule's time zone; it crosses midnight where end ≤ begin."""

    begin: dt.time
    end: dt.time


class Recurrence(TypedDict):
    """When a schedule starts; see backend.domain.schedules.Timetable."""

    cron: str | None
    every_s: int | None
    time_zone: str
    window: StartWindow | None


def schedules_visible(workspace: Workspace) -> QuerySet[Schedule]:
    """Schedules of the workspace, oldest first, with their campaign."""
    return Schedule.objects.filter(workspace=workspace).select_related("campaign")


def preview(**when: Unpack[Recurrence]) -> list[dt.datetime]:
    """The next five starts of a schedule that does not exist yet; raises InvalidValue."""
    now = clock.now()
    return next_times(recurrence_timetable(now, **when), now)


def schedule_times(schedule: Schedule, count: int = SHOWN_TIMES) -> list[dt.datetime]:
    """The next starts, in the schedule's zone; none while it is disabled."""
    if not schedule.is_enabled:
        return []
    return next_times(schedule_timetable(schedule), clock.now(), count)


def schedule_recurrence(schedule: Schedule) -> Recurrence:
    """The times of a schedule as they were given."""
    window = None
    if schedule.window_from is not None and schedule.window_to is not None:
        window = StartWindow(schedule.window_from, schedule.window_to)
    return Recurrence(
        cron=schedule.cron or None,
        every_s=schedule.every_s,
        time_zone=schedule.time_zone,
        window=window,
    )


def schedules_due(limit: int) -> list[Schedule]:
    """Enabled schedules whose time has come, the longest waiting first."""
    due = Schedule.objects.filter(is_enabled=True, next_at__lte=Now())
    return list(due.order_by("next_at")[:limit])


def recurrence_timetable(anchor: dt.datetime, **when: Unpack[Recurrence]) -> Timetable:
    """The times that a recurrence means, counted from the anchor; raises InvalidValue."""
    window = when["window"]
    return timetable(
        cron=when["cron"],
        every_s=when["every_s"],
        time_zone=when["time_zone"],
        window=(window.begin, window.end) if window else None,
        anchor=anchor,
    )


def schedule_timetable(schedule: Schedule) -> Timetable:
    """The times at which a schedule starts its campaign."""
    return recurrence_timetable(
        # Intervals are counted from here: starts fall on whole seconds.
        schedule.created_at.replace(microsecond=0),
        **schedule_recurrence(schedule),
    )
