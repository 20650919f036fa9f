"""When the reaper cannot do its work: whom it tells, what it leaves to the next look, who else may
be at it; and each way in which it is started."""

import datetime as dt
import json
import threading
from collections.abc import Callable
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from backend.accounts.models import AuditEntry, CloudAccount
from backend.benchmarks.models import RunState, Step, Tick
from backend.core import clock
from backend.notifications.models import Notice
from backend.rentals.services.cloud_accounts import account_check
from backend.rentals.services.leaks import look_record, resource_alarm
from tests.fakes.fake.cloud import Fault, moment, now_ms
from tests.fakes.fake_provider import FakeProvider
from tests.workers import clouds
from tests.workers.reaping import (
    HOUR,
    account,
    called,
    cloud,
    created,
    end_run,
    launched,
    look,
    machines,
    notices,
    offer,
    provider,
)
from workers import tasks
from workers.engine import periodic
from workers.engine.pump import Pump
from workers.pricelists import fetching
from workers.rentals import provider_calls, reaper

__all__ = ["account", "cloud", "offer", "provider"]
pytestmark = pytest.mark.django_db(transaction=True)


def _folder(parent, name):
    folder = parent / name
    folder.mkdir()
    return folder


# --- what does not work -----------------------------------------------------------------------------


def test_alarm_is_given_once_when_a_machine_cannot_be_ended_three_times(account, cloud, settings):
    settings.PROVIDER_SETTLE_S = 3600
    machine = launched(account, "")
    cloud.fault(Fault.TERMINATE_FAILED, times=5)
    for attempt in range(1, 6):
        assert "out of order" in look().error
        assert len(notices()) == (attempt >= 3)
    account.refresh_from_db()
    assert account.ending[machine.id]["failed"] == 5
    assert "out of order" in account.reap_error
    assert AuditEntry.objects.filter(action="machine_end").count() == 1
    assert notices() == [f"main: {machine.id} does not go away"]
    look()
    assert look().verified == [machine.id]
    account.refresh_from_db()
    assert (account.ending, account.reap_error) == ({}, "")


def test_alarm_is_given_when_a_machine_stays_although_no_call_failed(account, cloud, settings):
    settings.PROVIDER_SETTLE_S = 1
    cloud.fault(Fault.SLOW_END, times=1, seconds=60)
    machine = launched(account, "")
    look()
    assert notices() == []
    account.refresh_from_db()
    since = {machine.id: {**account.ending[machine.id], "since": "2026-11-01T12:00:00+00:00"}}
    CloudAccount.objects.update(ending=since)
    look()
    look()
    assert notices() == [f"main: {machine.id} does not go away"]


def test_alarm_is_given_once_when_three_looks_failed(account, cloud):
    cloud.fault(Fault.THROTTLED, times=4)
    for attempt in range(1, 5):
        assert "too many calls" in look().error
        account.refresh_from_db()
        assert account.failed_looks == attempt
        assert len(notices()) == (attempt >= 3)
    assert look().error == ""
    account.refresh_from_db()
    assert (account.failed_looks, account.reap_error) == (0, "")


def test_other_accounts_are_looked_at_when_one_has_a_defect(account, cloud, provider, caplog):
    clouds.account(provider, name="second")
    CloudAccount.objects.filter(pk=account.pk).update(provider="nowhere")
    looks = reaper.reap().looks
    assert [(found.account, bool(found.error)) for found in looks] == [
        ("main", True),
        ("second", False),
    ]
    assert "reaping" in caplog.text


def test_alarm_of_a_resource_is_given_once_and_leads_to_its_run(account, offer, cloud):
    resource = created(offer)
    resource_alarm(resource=resource, detail="three calls failed")
    resource_alarm(resource=resource, detail="four calls failed")
    notice = Notice.objects.get()
    assert notice.document["url"].endswith(f"/runs/{resource.run_id}/")
    assert notice.document["detail"] == "three calls failed"


@pytest.mark.parametrize(
    ("step", "is_told"),
    [
        ({"attempt": 3, "last_error": "out of order"}, True),
        ({"attempt": 4, "last_error": "out of order", "is_leased": True}, True),
        ({"attempt": 3, "last_error": "out of order", "is_leased": True}, False),
        ({"attempt": 2, "last_error": "out of order"}, False),
        ({"attempt": 1, "last_error": "still there", "age": 4 * HOUR}, True),
        ({"attempt": 1, "last_error": "still there", "age": 2 * HOUR}, False),
    ],
)
def test_alarm_is_given_once_when_a_teardown_does_not_end(offer, settings, step, is_told):
    settings.PROVIDER_SETTLE_S = 3600
    resource = created(offer)
    lease = moment(now_ms()) + HOUR if step.pop("is_leased", False) else None
    began = moment(now_ms()) - step.pop("age", HOUR / 60)
    made = Step.objects.create(
        run=resource.run, state=RunState.TEARING_DOWN, lease_until=lease, **step
    )
    Step.objects.filter(pk=made.pk).update(created_at=began)
    look()
    look()
    assert notices() == (["fake.small in fake-1 does not go away"] if is_told else [])


def test_rest_waits_for_the_next_look_when_time_is_up(account, cloud, monkeypatch):
    for number in range(3):
        launched(account, f"{number}")
    clock = iter([0.0, *[1.0] * 6])
    monkeypatch.setattr(reaper, "monotonic", lambda: next(clock, 1000.0))
    found = look()
    assert (len(found.waiting), len(machines(cloud))) == (3, 1)
    account.refresh_from_db()
    assert {entry["failed"] for entry in account.ending.values()} == {0}


def test_other_regions_are_looked_at_when_one_is_refused(account, offer, provider, cloud):
    there = launched(account, "there", region="fake-2")
    launched(account, "here")
    regions = {**account.settings, "regions": ["fake-1", "fake-2"]}
    CloudAccount.objects.filter(pk=account.pk).update(settings=regions)
    assert len(look().waiting) == 2
    end_run(called(offer, region="fake-2"))
    closed = {**regions, "closed_regions": ["fake-2"]}
    CloudAccount.objects.filter(pk=account.pk).update(settings=closed)
    for failed in range(1, 4):
        seen = look()
        assert seen.error == "fake-2: auth: fake-2 is not opted into"
        # What stands in the region that was not read is neither gone nor forgotten.
        assert there.id in {line.split(":")[0] for line in seen.waiting}
        assert seen.closed == []
        account.refresh_from_db()
        assert (account.failed_looks, account.reap_error) == (failed, seen.error)
    assert machines(cloud) == []
    assert notices()[1:] == ["The machines of main cannot be looked at"]


def test_healthy_account_is_looked_at_when_two_others_hang(
    account, provider, tmp_path, monkeypatch
):
    CloudAccount.objects.all().delete()
    for number in range(2):
        hanging = FakeProvider(_folder(tmp_path, f"hanging-{number}"))
        hanging.cloud.fault(Fault.SLOW_ANSWER, probability=1, seconds=60)
        clouds.account(hanging, name=f"dead {number}")
    clouds.account(provider, name="healthy")
    monkeypatch.setattr(provider_calls, "CALL_S", 1)
    monkeypatch.setattr(reaper, "BUDGET_S", 1.8)
    monkeypatch.setattr(reaper, "ACCOUNT_S", 0.5)
    assert reaper.reap().looks[-1].error == reaper.NO_TIME
    for _ in range(4):
        first, *others = reaper.reap().looks
        assert (first.account, first.error) == ("healthy", "")
        assert all(look.error for look in others)


def test_notice_is_sent_once_when_no_look_had_time_for_an_account(account, monkeypatch):
    monkeypatch.setattr(reaper, "BUDGET_S", -1)
    assert look().is_skipped
    assert notices() == []
    CloudAccount.objects.update(looked_at=moment(now_ms()) - HOUR)
    for _ in range(2):
        assert (look().is_skipped, look().error) == (True, reaper.NO_TIME)
    assert notices() == ["The machines of main have not been looked at"]


def test_nothing_is_lost_when_the_look_is_recorded_for_an_empty_cloud(account):
    look_record(account=account, at=moment(now_ms()), ending={}, unread={})
    account.refresh_from_db()
    assert account.ending == {}


# --- side by side -----------------------------------------------------------------------------------


def test_second_reaper_passes_an_account_over_when_one_is_at_it(account, cloud):
    launched(account, "")
    url = connection.get_connection_params()
    with psycopg.connect(
        **{key: url[key] for key in ("dbname", "user", "password", "host", "port")}
    ) as other:
        key = int.from_bytes(account.pk.bytes[:4], signed=True)
        other.execute("SELECT pg_advisory_lock(%s, %s)", [reaper.LOCK, key])
        assert look().is_skipped
        assert len(machines(cloud)) == 1
        # Closing the connection would release it only when its server process has ended.
        other.execute("SELECT pg_advisory_unlock(%s, %s)", [reaper.LOCK, key])
    assert look().ended != []


def test_two_reapers_end_everything_once_when_they_run_together(account, offer, cloud):
    for number in range(4):
        launched(account, f"{number}")
    cloud.fault(Fault.SLOW_ANSWER, probability=1, seconds=0.02)

    def work() -> None:
        reaper.reap()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert machines(cloud) == []
    assert AuditEntry.objects.filter(action="machine_end").count() == 4


# --- edges ------------------------------------------------------------------------------------------


def output_of(*arguments: str) -> str:
    out = StringIO()
    call_command("reap", *arguments, stdout=out)
    return out.getvalue()


def test_command_prints_what_it_ends_and_what_is_gone(account, cloud):
    machine = launched(account, "")
    assert f"would end {machine.id}" in output_of("--dry-run")
    assert f"ending {machine.id}" in output_of()
    document = json.loads(output_of("--json"))
    assert machine.id in document["looks"][0]["verified"]


def test_command_ends_with_an_error_when_an_account_cannot_be_looked_at(account, cloud):
    cloud.fault(Fault.AUTH, times=1)
    with pytest.raises(CommandError):
        output_of()


def test_command_says_so_when_there_is_no_account():
    assert output_of() == "no account to look at\n"


def _by_task() -> None:
    tasks.reap()


def _by_pump_once() -> None:
    Pump(has_schedules=True).once()


def _by_pump() -> None:
    pump = Pump(has_schedules=True)
    stopper = threading.Timer(1.5, pump.stop)
    stopper.start()
    pump.run()


@pytest.mark.parametrize("by", [_by_task, _by_pump_once, _by_pump])
def test_machines_are_ended_however_the_reaper_is_started(account, cloud, by: Callable[[], None]):
    launched(account, "")
    by()
    assert machines(cloud) == []


def test_pump_goes_on_when_one_pass_of_the_reaper_fails(
    account, cloud, settings, monkeypatch, caplog
):
    settings.REAP_S = 0.01
    launched(account, "")
    pump, passes = Pump(has_schedules=True), []

    def fails_at_first() -> None:
        passes.append(reaper.reap)
        if len(passes) == 1:
            raise RuntimeError("out of order")
        try:
            real()
        finally:
            pump.stop()

    real = reaper.reap
    monkeypatch.setattr(reaper, "reap", fails_at_first)
    pump.run()
    assert (len(passes), machines(cloud)) == (2, [])
    assert "fails_at_first failed, it is tried again" in caplog.text


@pytest.mark.parametrize("thread", ["_attend", "_fetch"])
def test_pump_goes_on_when_a_pass_of_another_thread_fails(thread, settings, monkeypatch, caplog):
    settings.TICK_S = settings.FETCH_LOOK_S = 0.01
    module, name = (periodic, "start_due") if thread == "_attend" else (fetching, "fetch_due")
    pump, passes = Pump(has_schedules=True), []

    def fails_at_first(**_given: Any) -> None:
        passes.append(name)
        if len(passes) == 1:
            raise RuntimeError("out of order")
        pump.stop()

    monkeypatch.setattr(module, name, fails_at_first)
    pump.run()
    assert len(passes) >= 2
    assert f"{thread} failed, it is tried again" in caplog.text


def test_pump_that_has_schedules_ticks(settings, monkeypatch):
    """So that /readyz says of an installation without beat that it is at work."""
    pump = Pump(has_schedules=True)
    monkeypatch.setattr(periodic, "start_due", pump.stop)
    pump.run()
    assert Tick.objects.get().at > clock.now() - dt.timedelta(seconds=30)


# --- checks of accounts -----------------------------------------------------------------------------


def test_account_is_checked_by_the_task(account, cloud):
    account_check(account=account, actor="tester")
    tasks.check_account(str(account.pk))
    account.refresh_from_db()
    assert (account.identity, account.check_error) == ("fake provider", "")
    assert account.check_requested_at is None


def test_check_is_asked_for_again_when_its_message_was_lost(account, cloud, queued):
    account_check(account=account, actor="tester")
    queued.clear()
    tasks.tick()
    assert "workers.check_account" not in [name for name, _ in queued]
    CloudAccount.objects.update(check_requested_at=moment(now_ms()) - dt.timedelta(seconds=31))
    tasks.tick()
    assert ("workers.check_account", {"account_id": str(account.pk)}) in queued


def test_check_is_done_by_a_pump_alone(account, cloud):
    account_check(account=account, actor="tester")
    Pump(has_schedules=True).once()
    account.refresh_from_db()
    assert account.identity == "fake provider"
