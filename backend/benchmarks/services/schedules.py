"""Campaigns that start by themselves.

The rule for what is late: a due time that passed while nobody looked is made up for once, if it is
less than CATCH_UP late and the maintenance window is still open; of several only the last counts.
Whatever it leads to is written on the schedule, and the next time is calculated from now.
"""

import datetime as dt

from django.db import transaction

from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.schedules import STORED, Recurrence, Timetable, next_times, timetable
from backend.benchmarks.models import Campaign, Schedule
from backend.benchmarks.selectors.schedules import schedule_times, schedule_timetable
from backend.benchmarks.services.campaigns import CampaignActive, campaign_begin
from backend.core import clock
from backend.foundation.errors import DomainError

CATCH_UP = dt.timedelta(hours=1)
ON_TIME = dt.timedelta(minutes=1)
ACTOR = "schedule"
MAX_OUTCOME_CHARACTERS = 200


@transaction.atomic
def schedule_create(*, campaign: Campaign, when: Recurrence, actor: str) -> Schedule:
    """Start the campaign at these times from now on; raises InvalidValue with a JSON pointer."""
    schedule = Schedule(workspace=campaign.workspace, campaign=campaign)
    _set(schedule, when)
    _audit(schedule, "schedule_create", actor)
    return schedule


@transaction.atomic
def schedule_update(*, schedule: Schedule, when: Recurrence, actor: str) -> Schedule:
    """Other times, or none; raises InvalidValue with a JSON pointer."""
    schedule = Schedule.objects.select_for_update(of=("self",)).get(pk=schedule.pk)
    _set(schedule, when)
    _audit(schedule, "schedule_update", actor)
    return schedule


@transaction.atomic
def schedule_delete(*, schedule: Schedule, actor: str) -> None:
    """Forget the schedule; its campaign stays."""
    _audit(schedule, "schedule_delete", actor)
    schedule.delete()


@transaction.atomic
def schedule_fire(*, schedule: Schedule) -> bool:
    """Deal with the due time that `schedule` was seen with; False when somebody else did.

    One due time leads to one start at most: the row is locked and must still be due at it.
    """
    # Several looks may meet at one due time: those that come second pass it by and do not wait.
    locked = (
        Schedule.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("campaign")
        .filter(pk=schedule.pk, is_enabled=True, next_at=schedule.next_at)
        .first()
    )
    if locked is None or locked.next_at is None:
        return False
    now = clock.now()
    planned = schedule_timetable(locked)
    locked.last_outcome = _outcome(locked, planned, locked.next_at, now)[:MAX_OUTCOME_CHARACTERS]
    locked.last_at = now
    # From now and not from the due time: several that were missed are made up for once.
    locked.next_at = _first(next_times(planned, now, 1))
    locked.save(update_fields=["last_outcome", "last_at", "next_at"])
    return True


def _outcome(schedule: Schedule, planned: Timetable, due: dt.datetime, now: dt.datetime) -> str:
    """Start the campaign if that is still right, and say what happened."""
    late = now - due
    # A start on time is within its window by its own timetable; a late one may have missed it.
    if late > CATCH_UP or (late > ON_TIME and not planned.is_open(now)):
        return f"missed: nobody looked for {_minutes(late)}"
    try:
        # A savepoint: after a refusal the outcome can still be written.
        with transaction.atomic():
            campaign = campaign_begin(campaign=schedule.campaign, actor=ACTOR)
    except CampaignActive as error:
        return f"skipped: {error}"
    except DomainError as error:
        return f"refused: {error}"
    started = f"round {campaign.round}"
    return started if late <= ON_TIME else f"{started}, {_minutes(late)} late"


def _minutes(span: dt.timedelta) -> str:
    return f"{span // dt.timedelta(minutes=1)} minutes"


def _first(times: list[dt.datetime]) -> dt.datetime | None:
    return times[0] if times else None


def _set(schedule: Schedule, when: Recurrence) -> None:
    timetable(when, clock.now())
    for name in STORED:
        setattr(schedule, name, getattr(when, name))
    schedule.cron = when.cron or ""
    window = when.window
    schedule.window_from, schedule.window_to = (
        (window.begin, window.end) if window else (None, None)
    )
    schedule.save()
    # Once the row is there: intervals are counted from its creation.
    schedule.next_at = _first(schedule_times(schedule, 1))
    schedule.save(update_fields=["next_at"])


def _audit(schedule: Schedule, action: str, actor: str) -> None:
    audit_record(
        actor=actor,
        action=action,
        target=schedule,
        detail={
            "campaign": str(schedule.campaign_id),
            "when": str(schedule),
            "time_zone": schedule.time_zone,
            "is_enabled": schedule.is_enabled,
        },
    )
