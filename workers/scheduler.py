"""What the tick does beside steps: starts due campaigns, watches budgets, has notices sent."""

import logging

from backend.benchmarks.campaigns import campaign_watch_budget
from backend.benchmarks.notices import has_due_notices
from backend.benchmarks.schedules import schedule_fire, schedules_due
from backend.common.queue import Task, enqueue

log = logging.getLogger(__name__)

MAX_STARTS = 20
"""Campaigns that one tick starts at most; the next ones come with the next tick."""


def tick() -> None:
    """One look, through the broker where something has to be sent."""
    start_due()
    if has_due_notices():
        enqueue(Task.SEND_NOTICES)


def start_due() -> int:
    """Start every campaign that is due; returns how many due times were dealt with.

    One that fails for a defect of ours does not keep the others waiting.
    """
    fired = 0
    for schedule in schedules_due(MAX_STARTS):
        try:
            fired += schedule_fire(schedule=schedule)
        except Exception:  # stays due, and is logged at every tick until it is mended
            log.exception("schedule %s failed", schedule.pk)
    campaign_watch_budget()
    return fired
