"""Too much work is refused before any is done."""

from typing import Any

import pytest

from backend.domain.errors import InvalidDocument
from backend.domain.scenarios.work import MOST_WORK, check_work
from tests.domain.scenarios.documents import Document, all_of, price, startup

YEAR = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60}


def options(count: int) -> list[Document]:
    return [all_of(f"option {n}", price("0.4")) for n in range(count)]


def test_two_hundred_offers_over_a_year_of_minutes_are_reckoned() -> None:
    check_work(startup(*options(200), horizon=YEAR))  # 200 × 525,600 = 105,120,000


@pytest.mark.parametrize(
    ("count", "given"),
    [
        (300, {}),  # 157,680,000
        (13, {"uncertainty": {"draws": 10}}),  # 13 × 525,600 × 19 = 129,823,200
        (7, {"uncertainty": {"boot_cv": "0.3"}, "policy": {"kind": "hpa", "warmup_s": 60}}),  # 37
        (12, {"policy": {"kind": "step"}}),  # 12 × 525,600 × 20
    ],
)
def test_more_is_refused_with_the_limit(count: int, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidDocument) as refused:
        check_work(startup(*options(count), horizon=YEAR, **given))
    ((field, detail),) = refused.value.errors
    assert field == "/horizon/step_s"
    assert f"{MOST_WORK:,}" in detail
    assert "take longer steps" in detail


def test_months_count_as_their_longest() -> None:
    ten_years = {"start": YEAR["start"], "months": 120, "step_s": 60}
    check_work(startup(*options(20), horizon=ten_years))  # 20 × 3,720 × 1,440 = 107,136,000
    with pytest.raises(InvalidDocument):
        check_work(startup(*options(23), horizon=ten_years))


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"horizon": 7, "options": {}},
        {"horizon": {"days": "many", "step_s": 0}, "options": [1] * 300, "policy": {"kind": []}},
        {"horizon": {"days": -1, "step_s": -1}, "options": [1] * 300},
    ],
)
def test_what_cannot_be_read_is_left_to_the_reader(document: object) -> None:
    check_work(document)
