"""What the tick does beside steps."""

import datetime as dt
import logging
import threading

import pytest
from django.core.management import call_command
from django.db import connection

from backend.benchmarks.calc.schedules import Recurrence
from backend.benchmarks.models import Campaign, Run, Schedule
from backend.benchmarks.services import schedules
from backend.benchmarks.services.schedules import schedule_create
from backend.core import clock
from backend.notifications.models import NoticeKind
from backend.notifications.services.notices import notice_queue
from tests import factories
from tests.backend.campaigns import campaign
from workers import tasks
from workers.engine import periodic
from workers.engine.pump import Pump

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queued")]


def due(of: Campaign | None = None) -> Schedule:
    """A schedule whose time came a second ago."""
    every_five_minutes = Recurrence.read({"cron": "*/5 * * * *"})
    made = schedule_create(campaign=of or campaign(), when=every_five_minutes, actor="tester")
    Schedule.objects.filter(pk=made.pk).update(next_at=clock.now() - dt.timedelta(seconds=1))
    made.refresh_from_db()
    return made


def test_tick_starts_what_is_due_and_no_more(queued):
    schedule = due()
    tasks.tick()
    tasks.tick()
    schedule.refresh_from_db()
    assert schedule.last_outcome == "round 1"
    assert schedule.next_at > clock.now()
    assert Run.objects.count() == 2
    assert "workers.send_notices" not in {name for name, _ in queued}


def test_due_time_starts_one_round_when_many_ticks_race():
    schedule = due()
    barrier = threading.Barrier(4)

    def tick():
        try:
            barrier.wait(10)
            periodic.tick()
        finally:
            connection.close()

    threads = [threading.Thread(target=tick) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Run.objects.count() == 2
    schedule.refresh_from_db()
    assert schedule.last_outcome == "round 1"


def test_schedule_that_fails_does_not_keep_others_waiting(monkeypatch, caplog):
    broken, sound = due(), due()
    start = schedules.campaign_begin

    def started(*, campaign, actor):
        if campaign.pk == broken.campaign_id:
            raise RuntimeError("a defect")
        return start(campaign=campaign, actor=actor)

    monkeypatch.setattr(schedules, "campaign_begin", started)
    with caplog.at_level(logging.ERROR):
        assert periodic.start_due() == 1
    assert str(broken.pk) in caplog.text
    sound.refresh_from_db()
    broken.refresh_from_db()
    assert sound.last_outcome == "round 1"
    assert broken.last_outcome == ""


def test_tick_takes_up_many_schedules_in_turns(monkeypatch):
    monkeypatch.setattr(periodic, "MAX_STARTS", 2)
    for _ in range(3):
        due(campaign(factories.host()))
    assert periodic.start_due() == 2
    assert periodic.start_due() == 1
    assert periodic.start_due() == 0


def test_tick_asks_for_delivery_only_when_something_is_due(queued):
    periodic.tick()
    assert queued == []
    factories.subscription()
    notice_queue(
        workspace=factories.workspace(), kind=NoticeKind.RUN_FAILED, key="1",
        document={"title": "", "detail": "", "url": ""},
    )  # fmt: skip
    queued.clear()
    periodic.tick()
    assert [name for name, _ in queued] == ["workers.send_notices"]


def test_pump_command_starts_what_is_due_and_a_plain_pump_does_not():
    schedule = due(campaign(factories.host(state="trusted", port=1)))
    Pump().once()
    assert not Run.objects.exists()
    call_command("pump", "--once")
    schedule.refresh_from_db()
    assert schedule.last_outcome == "round 1"


def test_running_pump_starts_what_becomes_due(settings):
    settings.TICK_S = 1
    schedule = due(campaign(factories.host(port=1)))
    pump = Pump(has_schedules=True)
    seen = threading.Event()

    def worked():
        try:
            pump.run()
        finally:
            connection.close()

    thread = threading.Thread(target=worked)
    thread.start()
    try:
        for _ in range(100):
            schedule.refresh_from_db()
            if schedule.last_outcome:
                break
            seen.wait(0.1)
    finally:
        pump.stop()
        thread.join()
    assert schedule.last_outcome == "round 1"
