"""When lines of bills begin."""

import datetime as dt

import pytest

from backend.domain.bills.moments import moment


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
        # in years that UTC does not have
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
    ],
)
def test_what_is_no_date_is_none(text):
    assert moment(text) is None
