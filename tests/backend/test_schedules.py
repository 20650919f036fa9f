"""Schedules over the API, and what due times lead to."""

import datetime as dt

import jsonschema
import pytest

from backend.accounts.models import AuditEntry
from backend.benchmarks.calc.schedules import Recurrence
from backend.benchmarks.models import HostState, Run, Schedule
from backend.benchmarks.selectors.schedules import preview, schedule_times, schedules_due
from backend.benchmarks.services.schedules import schedule_create, schedule_fire
from backend.core import clock
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.campaigns import campaign
from tests.backend.conftest import API, fields, rows
from workers.engine.periodic import make_rounds

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]

# A Friday; on Sunday the clocks of Dublin go forward at 01:00 UTC.
NOW = dt.datetime(2026, 3, 27, 12, tzinfo=dt.UTC)


@pytest.fixture
def at(monkeypatch):
    """Set the clock; schedules are made at NOW."""

    def put(moment: dt.datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: moment)

    put(NOW)
    return put


def document(of, **given):
    return {"campaign": str(of.pk), "cron": "30 1 * * *", "time_zone": "Europe/Dublin", **given}


def posted(client, body):
    return client.post(f"{API}/schedules", body, content_type="application/json")


def patched(client, schedule_id, body):
    return client.patch(f"{API}/schedules/{schedule_id}", body, content_type="application/json")


def daily(of=None, **given):
    """03:00 every day in Dublin."""
    when = Recurrence.read({"cron": "0 3 * * *", "time_zone": "Europe/Dublin", **given})
    return schedule_create(campaign=of or campaign(), when=when, actor="tester")


# --- documents ------------------------------------------------------------------------------------


def test_schedule_lists_its_next_five_starts_through_a_clock_change(caller, at):
    response = posted(caller("run"), document(campaign()))
    assert response.status_code == 201
    assert response.json()["next"] == [
        "2026-03-28T01:30:00+00:00",
        "2026-03-29T02:00:00+01:00",
        "2026-03-30T01:30:00+01:00",
        "2026-03-31T01:30:00+01:00",
        "2026-04-01T01:30:00+01:00",
    ]
    assert Schedule.objects.get().next_at == dt.datetime(2026, 3, 28, 1, 30, tzinfo=dt.UTC)


def test_schedule_keeps_interval_and_window(caller, at):
    body = document(campaign(), cron=None, every_s=7200, window={"from": "23:00", "to": "02:00"})
    made = posted(caller("run"), body).json()
    assert made["window"] == {"from": "23:00", "to": "02:00"}
    assert (made["cron"], made["every_s"]) == (None, 7200)
    assert {time[11:13] for time in made["next"]} <= {"23", "00", "01"}
    assert len(made["next"]) == 5


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"campaign": "00000000-0000-0000-0000-000000000000"}, "/campaign"),
        ({"cron": "61 * * * *"}, "/cron"),
        ({"cron": None}, "/cron"),
        ({"every_s": 3600}, "/cron"),
        ({"cron": None, "every_s": 59}, "/every_s"),
        ({"time_zone": "Mars/Base"}, "/time_zone"),
        ({"window": {"from": "25:00", "to": "02:00"}}, "/window/from"),
        ({"window": {"from": "02:00"}}, "/window/to"),
        ({"window": {"from": "02:00", "to": "02:00"}}, "/window/to"),
        ({"window": {"from": "05:00", "to": "06:00"}}, "/window/from"),
        ({"window": {"from": "01:00", "to": "06:00", "days": 1}}, "/window/days"),
        ({"enabled": "no"}, "/enabled"),
        ({"owner": "me"}, "/owner"),
    ],
)
def test_schedule_is_refused_with_the_field_that_is_wrong(caller, changes, field):
    response = posted(caller("run"), document(campaign()) | changes)
    assert response.status_code == 400
    assert fields(response) == [field]
    assert not Schedule.objects.exists()


def test_schedule_is_changed_and_ended(caller, at):
    client = caller("run")
    made = posted(client, document(campaign())).json()
    interval = patched(client, made["id"], {"every_s": 3600}).json()
    assert (interval["cron"], interval["every_s"]) == (None, 3600)
    off = patched(client, made["id"], {"enabled": False}).json()
    assert off["next"] == []
    assert Schedule.objects.get().next_at is None
    window = {"from": "01:00", "to": "02:00"}
    again = patched(
        client, made["id"], {"enabled": True, "cron": "0 1 * * *", "window": window}
    ).json()
    assert again["next"][0] == "2026-03-28T01:00:00+00:00"
    assert client.get(f"{API}/schedules/{made['id']}").json() == again
    assert fields(patched(client, made["id"], {"cron": None})) == ["/cron"]
    assert fields(patched(client, made["id"], {"enabled": None})) == ["/enabled"]
    assert fields(patched(client, made["id"], {"campaign": made["campaign"]})) == ["/campaign"]
    assert client.delete(f"{API}/schedules/{made['id']}").status_code == 204
    assert client.get(f"{API}/schedules/{made['id']}").status_code == 404
    actions = list(AuditEntry.objects.values_list("action", flat=True))
    assert actions.count("schedule_update") == 3
    assert "schedule_delete" in actions


def test_schedules_are_listed_in_every_format(client, at):
    schedule = daily(window={"from": "02:00", "to": "04:00"})
    (row,) = client.get(f"{API}/schedules?campaign={schedule.campaign_id}").json()["results"]
    assert (row["cron"], row["window_from"], row["window_to"]) == ("0 3 * * *", "02:00", "04:00")
    assert rows(client.get(f"{API}/schedules.csv"))[0]["campaign_name"] == schedule.campaign.name
    assert client.get(f"{API}/schedules?enabled=0").json()["count"] == 0


def test_schedule_is_not_touched_by_who_may_only_write(caller, at):
    schedule = daily()
    client = caller("write")
    assert posted(client, document(schedule.campaign)).status_code == 403
    assert patched(client, schedule.pk, {"enabled": False}).status_code == 403
    assert client.delete(f"{API}/schedules/{schedule.pk}").status_code == 403


def test_documents_fit_their_published_schemas(caller, client, at):
    schema = client.get(f"{API}/schemas/schedule.json").json()
    body = document(campaign(), window={"from": "01:00", "to": "04:00"})
    jsonschema.validate(body, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**body, "window": {"from": "1 o'clock", "to": "04:00"}}, schema)
    answer = posted(caller("run"), body).json()
    jsonschema.validate(answer, client.get(f"{API}/schemas/schedule-detail.json").json())


def test_preview_needs_no_schedule(at):
    times = preview(Recurrence.read({"cron": "0 3 * * 1"}))
    assert [time.isoformat() for time in times[:2]] == [
        "2026-03-30T03:00:00+00:00",
        "2026-04-06T03:00:00+00:00",
    ]
    never = {"cron": "0 3 * * 1", "window": {"from": "05:00", "to": "06:00"}}
    with pytest.raises(InvalidValue):
        preview(Recurrence.read(never))


# --- due times ------------------------------------------------------------------------------------


def fired(schedule):
    """As a tick does it."""
    schedule.refresh_from_db()
    done = schedule_fire(schedule=schedule)
    make_rounds()
    schedule.refresh_from_db()
    return done


def test_due_time_starts_a_round_and_the_next_is_calculated_from_now(at):
    schedule = daily()
    due = dt.datetime(2026, 3, 28, 3, tzinfo=dt.UTC)
    assert schedule.next_at == due
    at(due + dt.timedelta(seconds=4))
    assert fired(schedule)
    assert schedule.last_outcome == "round 1"
    assert schedule.last_at == clock.now()
    # Sunday 03:00 in Dublin is 02:00 UTC by then
    assert schedule.next_at == dt.datetime(2026, 3, 29, 2, tzinfo=dt.UTC)
    assert Run.objects.filter(campaign=schedule.campaign).count() == 2
    assert AuditEntry.objects.get(action="campaign_start").actor == "schedule"


def test_due_time_is_dealt_with_once_when_two_ticks_saw_it(at):
    schedule = daily()
    at(schedule.next_at)
    first, second = Schedule.objects.get(), Schedule.objects.get()
    assert schedule_fire(schedule=first)
    assert not schedule_fire(schedule=second)
    make_rounds()
    assert Run.objects.count() == 2


def test_due_time_is_skipped_while_the_round_before_runs(at):
    schedule = daily()
    at(schedule.next_at)
    fired(schedule)
    at(schedule.next_at)
    assert fired(schedule)
    assert schedule.last_outcome.startswith("skipped: round 1 of ")
    assert Run.objects.count() == 2


def test_missed_times_are_made_up_for_once_when_not_too_late(at):
    schedule = daily(cron=None, every_s=600)
    created = schedule.created_at.replace(microsecond=0)
    Schedule.objects.filter(pk=schedule.pk).update(next_at=NOW + dt.timedelta(minutes=10))
    at(NOW + dt.timedelta(minutes=45))
    fired(schedule)
    assert schedule.last_outcome == "round 1, 35 minutes late"
    assert Run.objects.filter(round=1).count() == 2
    assert schedule.next_at > clock.now()
    assert (schedule.next_at - created) % dt.timedelta(minutes=10) == dt.timedelta(0)


def test_missed_time_is_left_when_it_is_long_past(at):
    schedule = daily()
    at(schedule.next_at + dt.timedelta(minutes=61))
    fired(schedule)
    assert schedule.last_outcome == "missed: nobody looked for 61 minutes"
    assert not Run.objects.exists()
    assert schedule.next_at > clock.now()


def test_missed_time_is_left_when_its_window_has_closed(at):
    schedule = daily(window={"from": "03:00", "to": "03:30"})
    at(schedule.next_at + dt.timedelta(minutes=31))
    fired(schedule)
    assert schedule.last_outcome == "missed: nobody looked for 31 minutes"
    assert not Run.objects.exists()


def test_refusal_is_written_on_the_schedule(at):
    schedule = daily(campaign(factories.host(name="x", state=HostState.KEY_CHANGED)))
    at(schedule.next_at)
    fired(schedule)
    assert schedule.last_outcome.startswith("refused: /hosts/0: the key")
    assert schedule.next_at > clock.now()
    assert schedule.campaign.round == 0


def test_due_schedules_are_those_enabled_whose_time_has_come(at):
    due, later, off = daily(), daily(), daily(enabled=False)
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    Schedule.objects.filter(pk__in=[due.pk, off.pk]).update(next_at=past)
    Schedule.objects.filter(pk=later.pk).update(next_at=dt.datetime(2999, 1, 1, tzinfo=dt.UTC))
    assert schedules_due(10) == [due]
    assert schedule_times(off) == []
