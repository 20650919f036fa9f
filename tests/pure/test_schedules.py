import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from backend.benchmarks.calc.schedules import Recurrence, next_times, timetable
from backend.foundation.documents.values import Zone
from backend.foundation.errors import InvalidDocument, InvalidValue

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def planned(cron=None, every_s=None, time_zone="UTC", window=None, anchor=START):
    between = window and {"from": window[0], "to": window[1]}
    stated = {"cron": cron, "every_s": every_s, "time_zone": time_zone, "window": between}
    return timetable(Recurrence.read(stated), anchor)


def refused_fields(*args, **given):
    with pytest.raises(InvalidDocument) as raised:
        planned(*args, **given)
    return [field for field, _ in raised.value.errors]


def times(plan, after, count=5):
    return [at.isoformat() for at in next_times(plan, dt.datetime.fromisoformat(after), count)]


def clock(text):
    return dt.time.fromisoformat(text)


# --- cron -----------------------------------------------------------------------------------------


def test_five_next_times_are_given_in_the_zone_by_default():
    # 2026-11-16 is a Monday; clocks in Dublin stand at UTC in winter.
    assert times(planned("0 3 * * 1", time_zone="Europe/Dublin"), "2026-11-21T11:00:00Z") == [
        "2026-11-23T03:00:00+00:00",
        "2026-11-30T03:00:00+00:00",
        "2026-12-07T03:00:00+00:00",
        "2026-12-14T03:00:00+00:00",
        "2026-12-21T03:00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("cron", "first", "second"),
    [
        ("*/20 * * * *", "2026-01-01T00:20:00+00:00", "2026-01-01T00:40:00+00:00"),
        ("5,10-12 0 * * *", "2026-01-01T00:05:00+00:00", "2026-01-01T00:10:00+00:00"),
        ("0 8-18/5 * * *", "2026-01-01T08:00:00+00:00", "2026-01-01T13:00:00+00:00"),
        ("0 0 1 feb,MAR *", "2026-02-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00"),
        ("0 0 * * mon-tue", "2026-01-05T00:00:00+00:00", "2026-01-06T00:00:00+00:00"),
        ("0 0 * * 7", "2026-01-04T00:00:00+00:00", "2026-01-11T00:00:00+00:00"),
        # both days restricted: the 6th is a Tuesday, the 5th a Monday; either is enough
        ("0 0 6 * 1", "2026-01-05T00:00:00+00:00", "2026-01-06T00:00:00+00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"),
        ("  0   3 * * * ", "2026-01-01T03:00:00+00:00", "2026-01-02T03:00:00+00:00"),
    ],
)
def test_cron_line_is_followed_as_cron_does(cron, first, second):
    assert times(planned(cron), "2026-01-01T00:00:00Z", 2) == [first, second]


@pytest.mark.parametrize(
    "cron",
    [
        "", "0 3 * *", "0 3 * * * *", "60 3 * * *", "0 24 * * *", "0 3 0 * *", "0 3 * 13 *", "0 3 * * 8",
        "0 3 * * FUN", "*/0 3 * * *", "5-1 3 * * *", "0 3 L * *", "0 3 * * 1#2", "0 3 * * 5L", "@daily",
        "0 0 30 2 *", "1,,2 3 * * *", "-1 3 * * *", "0 3 * * *" + ",1" * 60, "０ 3 * * *",
    ],
)  # fmt: skip
def test_cron_line_is_refused_when_it_has_no_meaning(cron):
    assert refused_fields(cron) == ["/cron"]


def test_cron_line_is_refused_when_it_never_comes():
    # A month of 30 days never has a 31st.
    assert refused_fields("0 0 31 4,6 *") == ["/cron"]


# --- clock changes, each worked by hand from the zone's rule ----------------------------------------


def test_time_in_the_spring_gap_runs_once_right_after_it():
    # Dublin 2026: at 01:00 on 29 March the clock goes to 02:00; 01:30 does not exist.
    plan = planned("30 1 * * *", time_zone="Europe/Dublin")
    assert times(plan, "2026-03-27T12:00:00Z", 4) == [
        "2026-03-28T01:30:00+00:00",
        "2026-03-29T02:00:00+01:00",
        "2026-03-30T01:30:00+01:00",
        "2026-03-31T01:30:00+01:00",
    ]
    # New York 2026: at 02:00 on 8 March it goes to 03:00.
    plan = planned("15 2 * * *", time_zone="America/New_York")
    assert times(plan, "2026-03-07T12:00:00Z", 2) == [
        "2026-03-08T03:00:00-04:00",
        "2026-03-09T02:15:00-04:00",
    ]
    # Lord Howe 2026: at 02:00 on 4 October it goes to 02:30, half an hour only.
    plan = planned("10 2 * * *", time_zone="Australia/Lord_Howe")
    assert times(plan, "2026-10-03T00:00:00Z", 2) == [
        "2026-10-04T02:30:00+11:00",
        "2026-10-05T02:10:00+11:00",
    ]


def test_times_that_a_spring_gap_moves_together_are_one():
    # 01:00 and 01:30 are both left out; with 02:00 they make one start.
    plan = planned("0,30 1,2 * * *", time_zone="Europe/Dublin")
    assert times(plan, "2026-03-28T12:00:00Z", 3) == [
        "2026-03-29T02:00:00+01:00",
        "2026-03-29T02:30:00+01:00",
        "2026-03-30T01:00:00+01:00",
    ]


def test_repeated_autumn_time_runs_once():
    # Dublin 2026: at 02:00 on 25 October the clock goes back to 01:00.
    plan = planned("30 1 * * *", time_zone="Europe/Dublin")
    assert times(plan, "2026-10-24T12:00:00Z", 2) == [
        "2026-10-25T01:30:00+01:00",
        "2026-10-26T01:30:00+00:00",
    ]
    # New York 2026: at 02:00 on 1 November back to 01:00.
    plan = planned("59 1 * * *", time_zone="America/New_York")
    assert times(plan, "2026-10-31T12:00:00Z", 2) == [
        "2026-11-01T01:59:00-04:00",
        "2026-11-02T01:59:00-05:00",
    ]
    # Lord Howe 2026: at 02:00 on 5 April back to 01:30.
    plan = planned("45 1 * * *", time_zone="Australia/Lord_Howe")
    assert times(plan, "2026-04-04T00:00:00Z", 2) == [
        "2026-04-05T01:45:00+11:00",
        "2026-04-06T01:45:00+10:30",
    ]


def test_repeated_time_is_listed_once_during_the_second_pass():
    plan = planned("30 1 * * *", time_zone="Europe/Dublin")
    # 01:10 UTC on that day is 01:10 local for the second time; 01:30 was at 00:30 UTC.
    assert times(plan, "2026-10-25T01:10:00Z", 1) == ["2026-10-26T01:30:00+00:00"]


def test_hourly_line_goes_by_elapsed_time_through_both_changes():
    plan = planned("0 * * * *", time_zone="Europe/Dublin")
    assert times(plan, "2026-03-29T00:00:00Z", 2) == [
        "2026-03-29T02:00:00+01:00",
        "2026-03-29T03:00:00+01:00",
    ]
    assert times(plan, "2026-10-24T23:30:00Z", 3) == [
        "2026-10-25T01:00:00+01:00",
        "2026-10-25T01:00:00+00:00",
        "2026-10-25T02:00:00+00:00",
    ]


@pytest.mark.parametrize("zone", ["Europe/Dublin", "America/New_York", "Australia/Lord_Howe"])
@given(day=st.integers(0, 364), hour=st.integers(0, 23), minute=st.integers(0, 59))
def test_daily_line_runs_once_a_local_day_whatever_the_clock_does(zone, day, hour, minute):
    plan = planned(f"{minute} {hour} * * *", time_zone=zone)
    midnight = dt.datetime(2026, 1, 1, tzinfo=ZoneInfo(zone)) + dt.timedelta(days=day)
    found = next_times(plan, midnight - dt.timedelta(seconds=1), 2)
    days = [at.date() for at in found]
    assert days == [midnight.date(), midnight.date() + dt.timedelta(days=1)]


# --- intervals --------------------------------------------------------------------------------------


def test_interval_counts_from_its_anchor():
    plan = planned(every_s=5400)
    assert times(plan, "2026-01-01T00:00:00Z", 3) == [
        "2026-01-01T01:30:00+00:00",
        "2026-01-01T03:00:00+00:00",
        "2026-01-01T04:30:00+00:00",
    ]
    assert times(plan, "2026-01-01T01:30:00Z", 1) == ["2026-01-01T03:00:00+00:00"]
    assert times(plan, "2026-06-01T00:00:01Z", 1) == ["2026-06-01T01:30:00+00:00"]
    assert times(plan, "2025-06-01T00:00:00Z", 1) == ["2026-01-01T01:30:00+00:00"]


def test_interval_goes_by_elapsed_time_through_a_clock_change():
    anchor = dt.datetime(2026, 3, 28, 1, 30, tzinfo=dt.UTC)
    plan = planned(every_s=86_400, time_zone="Europe/Dublin", anchor=anchor)
    assert times(plan, "2026-03-28T02:00:00Z", 1) == ["2026-03-29T02:30:00+01:00"]


def test_time_of_day_is_refused_when_it_is_none():
    for text in ("24:00", "7:30", "22:00+01:00", "22:00:00.5", "noon", 22, None):
        assert refused_fields("0 3 * * *", window=(text, "23:59:59"))[0] == "/window/from"


@pytest.mark.parametrize("every_s", [0, -60, 59, 366 * 86_400 + 1, True])
def test_interval_is_refused_when_too_short_or_long(every_s):
    assert refused_fields(every_s=every_s) == ["/every_s"]


# --- windows ----------------------------------------------------------------------------------------


def test_starts_outside_the_window_are_left_out():
    plan = planned("0 */2 * * *", window=(clock("22:00"), clock("23:00")))
    assert times(plan, "2026-01-01T00:00:00Z", 2) == [
        "2026-01-01T22:00:00+00:00",
        "2026-01-02T22:00:00+00:00",
    ]


def test_window_crosses_midnight_and_ends_before_its_end():
    window = (clock("22:00"), clock("02:00"))
    plan = planned(every_s=7200, time_zone="Europe/Dublin", window=window)
    assert times(plan, "2026-01-01T01:00:00Z", 4) == [
        "2026-01-01T22:00:00+00:00",
        "2026-01-02T00:00:00+00:00",
        "2026-01-02T22:00:00+00:00",
        "2026-01-03T00:00:00+00:00",
    ]


def test_window_is_one_of_the_local_clock():
    window = (clock("03:00"), clock("04:00"))
    plan = planned(every_s=3600, time_zone="Europe/Dublin", window=window)
    # In summer Dublin is an hour ahead of UTC.
    assert times(plan, "2026-07-01T00:00:00Z", 1) == ["2026-07-01T03:00:00+01:00"]


def test_window_is_refused_when_empty_or_never_met():
    assert refused_fields(every_s=86_400, window=("03:00", "03:00")) == ["/window/to"]
    with pytest.raises(InvalidValue) as raised:
        planned(every_s=86_400, window=("04:00", "05:00"))
    assert raised.value.field == "/window/from"


# --- the rest ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"cron": "0 3 * * *", "every_s": 60}])
def test_timetable_needs_exactly_one_of_cron_and_interval(given):
    assert refused_fields(**given) == ["/cron"]


@pytest.mark.parametrize(
    "name",
    [
        "Europe/Nowhere", "localtime", "../etc/passwd", "/etc/localtime", "Europe", "Europe/../UTC",
        "EST5EDT", "Etc/GMT+5", "right/Europe/Dublin", "PST",
    ],
)  # fmt: skip
def test_time_zone_is_refused_when_it_is_no_region(name):
    with pytest.raises(InvalidDocument) as raised:
        planned("0 3 * * *", time_zone=name)
    # The rule of scenarios and setup files, too.
    with pytest.raises(PydanticCustomError) as said:
        Zone().read(name)
    sentence = f"{name!r} is neither a region such as Europe/Dublin nor UTC"
    assert said.value.message() == sentence
    assert raised.value.errors == [("/time_zone", sentence)]


@pytest.mark.parametrize("name", ["", "Europe/\0"])
def test_time_zone_is_refused_when_it_is_no_text(name):
    assert refused_fields("0 3 * * *", time_zone=name) == ["/time_zone"]


@pytest.mark.parametrize("name", ["UTC", "America/Argentina/Buenos_Aires", "Indian/Maldives"])
def test_time_zone_of_a_region_is_taken(name):
    assert planned("0 3 * * *", time_zone=name).zone.key == Zone().read(name) == name


@pytest.mark.parametrize("stated", ["02:30", "02:30:15"])
def test_times_of_a_window_are_written_as_they_are_stated(stated):
    document = Recurrence.read({"cron": "0 3 * * *", "window": {"from": stated, "to": "04:00"}})
    assert document.model_dump(by_alias=True)["window"] == {"from": stated, "to": "04:00"}
