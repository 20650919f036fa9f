"""When lines of bills begin."""

import datetime as dt

import pytest

from backend.bills.calc.moments import moment, shows_day_first


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-09-18 22:00:00", "2024-09-18T22:00:00"),
        ("2024-09-18T22:00:00Z", "2024-09-18T22:00:00"),
        ("2024-09-18T22:00:00.000Z", "2024-09-18T22:00:00"),
        ("2024-09-18 22:00:00 UTC", "2024-09-18T22:00:00"),
        ("2024-09-18T22:00:00+02:00", "2024-09-18T20:00:00"),
        ("2024-09-18", "2024-09-18T00:00:00"),
        ("2024-09", "2024-09-01T00:00:00"),
        ("9/2/2023", "2023-09-02T00:00:00"),
        ("09/02/2023 00:00:00", "2023-09-02T00:00:00"),
        ("20230902", "2023-09-02T00:00:00"),
        ("5/1/26", "2026-05-01T00:00:00"),
        ("31.10.2026", "2026-10-31T00:00:00"),
        ("10/1/2026 3:05 PM", "2026-10-01T15:05:00"),
        ("10/1/2026 12:00 AM", "2026-10-01T00:00:00"),
        ("10/1/2026 15:05:07.250", "2026-10-01T15:05:07"),
        ("31.10.2026 23:00", "2026-10-31T23:00:00"),
        ("10/2026", "2026-10-01T00:00:00"),
        ("10.2026", "2026-10-01T00:00:00"),
        ("Oct-26", "2026-10-01T00:00:00"),
        ("October 2026", "2026-10-01T00:00:00"),
    ],
)
def test_start_is_read_in_utc(text, iso):
    assert moment(text) == dt.datetime.fromisoformat(iso).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2024-13-01",
        "13/13/2024",
        "20241399",
        "2024-09-18 x",
        "10/1/2026 x",
        "10/1/2026 25:00",
        "10/1/2026 13:00 PM",
        "Okapi 2026",
        # in years that UTC does not have
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
    ],
)
def test_what_is_no_date_is_none(text):
    assert moment(text) is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["5/1/26", "12/12/2026", "2026-10-31"], None),
        (["5/1/26", "25/10/2026 13:00"], True),
        (["5/1/26", "10/25/2026"], False),
        # They contradict each other: the order that providers write holds, and one is no date.
        (["25/10/2026", "10/25/2026"], False),
    ],
)
def test_order_of_dates_shows_where_a_number_is_no_month(texts, expected):
    assert shows_day_first(texts) is expected


def test_date_has_its_day_first_where_its_file_shows_so():
    assert moment("5/1/26", is_day_first=True) == dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
