"""Hours, days and months of a bill's lines."""

import calendar
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.bills.calc.periods import (
    DAY,
    HOUR,
    MONTH,
    is_calendar_months,
    is_even_months,
    is_whole_months,
    month_hours,
    period_end,
    period_start,
    step_of,
    step_that_holds,
)

moments = st.datetimes(
    dt.datetime(2000, 1, 1), dt.datetime(2099, 12, 31), timezones=st.just(dt.UTC)
)


def at(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("step", "start", "end"),
    [
        (HOUR, "2024-02-29T13:00", "2024-02-29T14:00"),
        (DAY, "2024-02-29", "2024-03-01"),
        (MONTH, "2024-02-01", "2024-03-01"),
    ],
)
def test_period_of_a_moment_is_that_of_the_calendar(step, start, end):
    assert period_start(at("2024-02-29T13:45:10.5"), step) == at(start)
    assert period_end(at(start), step) == at(end)


@given(moments, st.sampled_from((HOUR, DAY, MONTH)))
def test_each_moment_is_within_its_period(moment, step):
    start = period_start(moment, step)
    assert start <= moment < period_end(start, step)
    assert period_start(start, step) == start


@given(moments)
def test_hours_of_a_month_are_those_of_its_days(moment):
    assert month_hours(moment) == 24 * calendar.monthrange(moment.year, moment.month)[1]


@pytest.mark.parametrize(
    ("starts", "step"),
    [
        (["2024-09-01", "2024-10-01"], MONTH),
        (["2024-09-01", "2024-09-02"], DAY),
        (["2024-09-01", "2024-09-01T05:00"], HOUR),
        ([], MONTH),
    ],
)
def test_step_is_known_by_when_lines_begin(starts, step):
    assert step_of(at(start) for start in starts) == step


@pytest.mark.parametrize(
    ("hours", "step"),
    # Summer time gives a day 25 hours.
    [(0.5, HOUR), (1, HOUR), (1.2, DAY), (24, DAY), (25, DAY), (26, MONTH), (744, MONTH)],
)
def test_step_is_the_shortest_in_which_the_hours_fit(hours, step):
    assert step_that_holds(hours) == step


@pytest.mark.parametrize(
    ("hours", "is_even", "is_of_february"),
    [
        (730, True, False),
        (2190, True, False),
        (729.8, True, False),
        (696, False, True),  # 29 days
        (1392, False, True),
        (672, False, False),
        (720, False, False),
        (0, False, False),
    ],
)
def test_multiples_of_a_month_are_seen(hours, is_even, is_of_february):
    february = at("2024-02-10")
    assert is_even_months(hours) is is_even
    assert is_calendar_months(hours, february) is is_of_february
    assert is_whole_months(hours, february) is (is_even or is_of_february)
