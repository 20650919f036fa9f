"""Which lists there are, and when they are read again."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.providers.price_feeds import (
    DAY_S,
    HOUR_S,
    DailyAt,
    FeedKind,
    backoff_s,
    next_due,
)

UTC = dt.UTC
SHARES = st.floats(0, 1)
DAILY = FeedKind(kind="on_demand", meaning="types")


@given(SHARES)
def test_daily_list_is_read_a_day_later_and_up_to_a_tenth_more(share):
    now = dt.datetime(2026, 11, 1, 12, tzinfo=UTC)
    wait_s = (next_due(DAILY, now, share=share) - now).total_seconds()
    assert DAY_S <= wait_s <= DAY_S * 1.1


def test_own_interval_replaces_that_of_the_kind():
    now = dt.datetime(2026, 11, 1, 12, tzinfo=UTC)
    due = next_due(DAILY, now, share=0.5, every_s=1000)
    assert (due - now).total_seconds() == 1050


@pytest.mark.parametrize(
    ("now", "due"),
    [
        # In summer Frankfurt is two hours ahead of UTC, in winter one.
        ("2026-07-01T10:00", "2026-07-01T14:15"),
        ("2026-07-01T14:15", "2026-07-02T14:15"),
        ("2026-07-01T23:30", "2026-07-02T14:15"),
        ("2026-12-01T10:00", "2026-12-01T15:15"),
        # The clock goes back in the night to 25 October.
        ("2026-10-24T15:00", "2026-10-25T15:15"),
    ],
)
def test_exchange_rates_are_read_after_they_are_published(now, due):
    at = DailyAt(dt.time(16, 15), "Europe/Berlin", within_s=HOUR_S)
    feed = FeedKind(kind="fx", meaning="rates", at=at)
    moment = dt.datetime.fromisoformat(now).replace(tzinfo=UTC)
    wanted = dt.datetime.fromisoformat(due).replace(tzinfo=UTC)
    assert next_due(feed, moment, share=0, every_s=5) == wanted
    assert next_due(feed, moment, share=1) == wanted + dt.timedelta(hours=1)


@given(st.integers(1, 10_000), SHARES, st.floats(0, 10**6))
def test_back_off_grows_to_its_limit_and_is_never_less_than_asked(failures, share, asked):
    wait = backoff_s(failures, share=share, at_least_s=asked)
    assert max(300, asked) <= wait <= max(6 * HOUR_S, asked) * 1.25
    assert backoff_s(failures + 1, share=share, at_least_s=asked) >= wait


def test_back_off_doubles():
    assert [backoff_s(n, share=0) for n in range(1, 9)] == [
        300, 600, 1200, 2400, 4800, 9600, 19200, 21600,
    ]  # fmt: skip
