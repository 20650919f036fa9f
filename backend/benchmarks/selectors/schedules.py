"""Schedules, and when they start next."""

import datetime as dt

from django.db.models import QuerySet
from django.db.models.functions import Now

from backend.accounts.models import Workspace
from backend.benchmarks.calc.schedules import (
    SHOWN_TIMES,
    STORED,
    Recurrence,
    ScheduleDocument,
    Timetable,
    WindowDocument,
    next_times,
    timetable,
)
from backend.benchmarks.models import Schedule
from backend.core import clock


def schedules_visible(workspace: Workspace) -> QuerySet[Schedule]:
    """Schedules of the workspace, oldest first, with their campaign."""
    return Schedule.objects.filter(workspace=workspace).select_related("campaign")


def preview(when: Recurrence) -> list[dt.datetime]:
    """The next five starts of a schedule that does not exist yet; raises InvalidValue."""
    now = clock.now()
    return next_times(timetable(when, now), now)


def schedule_times(schedule: Schedule, count: int = SHOWN_TIMES) -> list[dt.datetime]:
    """The next starts, in the schedule's zone; none while it is disabled."""
    if not schedule.is_enabled:
        return []
    return next_times(schedule_timetable(schedule), clock.now(), count)


def schedule_document(schedule: Schedule) -> ScheduleDocument:
    """The schedule as a person would state it."""
    window = None
    if schedule.window_from is not None and schedule.window_to is not None:
        begin, end = schedule.window_from, schedule.window_to
        window = WindowDocument.model_construct(begin=begin, end=end)
    stored = {name: getattr(schedule, name) for name in STORED}
    return ScheduleDocument.model_construct(
        campaign=schedule.campaign_id,
        window=window,
        # A text column of nothing is empty.
        **{name: None if value == "" else value for name, value in stored.items()},
    )


def schedules_due(limit: int) -> list[Schedule]:
    """Enabled schedules whose time has come, the longest waiting first."""
    due = Schedule.objects.filter(is_enabled=True, next_at__lte=Now())
    return list(due.order_by("next_at")[:limit])


def schedule_timetable(schedule: Schedule) -> Timetable:
    """The times at which a schedule starts its campaign."""
    # Intervals are counted from here: starts fall on whole seconds.
    return Timetable(schedule_document(schedule), schedule.created_at.replace(microsecond=0))
