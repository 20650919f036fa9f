"""Too much work is refused before any is done."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.regimes import regimes
from backend.scenarios.calc.series import series
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.work import (
    MOST_MAP_WORK,
    MOST_WORK,
    TooMuchWork,
    check_curve_work,
    check_job_work,
    check_map_work,
    check_screening_work,
    check_work,
    coarsen,
)
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from tests.pure.storage_documents import contention

FLOWS = [{"name": f"f{n}", "demand_bytes_per_s": n} for n in (1, 2)]
YEAR = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60}


def options(most: int) -> list[Document]:
    return [all_of(f"option {n}", price("0.4")) for n in range(most)]


def test_two_hundred_offers_over_a_year_of_minutes_are_calculated() -> None:
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


def test_screening_counts_sizes_of_servers_and_bills_of_offers() -> None:
    document = startup(*options(1), horizon=YEAR)
    # 525,600 × 1,000 / 5 and 2,000 × 4,000
    assert check_screening_work(document, 1_000, 2_000, MOST_WORK) == 113_120_000
    with pytest.raises(InvalidDocument) as refused:
        check_screening_work(document, 1_000, 4_000, MOST_WORK)
    ((field, detail),) = refused.value.errors
    assert field == "/horizon/step_s"
    assert "4,000 offers of 1,000 sizes over 525,600 steps take more than 120,000,000" in detail


def test_job_may_take_more_of_many_options_and_no_more_of_one() -> None:
    uncertain = {"uncertainty": {"draws": 10}}
    whole = startup(*options(200), horizon=YEAR, **uncertain)
    assert check_job_work(whole) == 525_600 * 19
    one = startup(*options(1), horizon={**YEAR, "days": 3650}, **uncertain)
    for document in (startup(*options(4), horizon={**YEAR, "step_s": 3}, **uncertain), one):
        with pytest.raises(TooMuchWork) as refused:
            check_job_work({**document, "policy": {"kind": "step"}})
        assert refused.value.errors[0][0] == "/horizon/step_s"


def test_job_keeps_only_so_many_draws_of_all_options() -> None:
    document = startup(*options(60), uncertainty={"draws": 100_000})
    with pytest.raises(TooMuchWork, match="60 options of that many are more than 5,000,000"):
        check_job_work(document)


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


# --- maps -----------------------------------------------------------------------------------------


def test_map_has_the_steps_of_all_its_cells() -> None:
    # 43,200 steps × 2 options × 9 prices × 5 shapes
    assert check_map_work(startup(*options(2))) == 3_888_000


@pytest.mark.parametrize(("days", "kind"), [(365, "perfect"), (30, "step")])
def test_map_is_refused_when_it_takes_too_many_steps(days: int, kind: str) -> None:
    document = startup(*options(3), horizon={**YEAR, "days": days}, policy={"kind": kind})
    with pytest.raises(InvalidDocument, match="cells are more than 40,000,000: take longer steps"):
        check_map_work(document)
    assert check_map_work(document, 3 * MOST_MAP_WORK) > MOST_MAP_WORK


# --- an end to what takes too long ----------------------------------------------------------------

BASE = {**price("100", "monthly")}
RESERVED = price("0.2", "reserved", term_months=12)
ENDED_BY: dict[str, tuple[Callable[..., Any], object, int]] = {
    "options": (simulate, startup(*options(3)), 3),
    "draws": (
        simulate,
        startup(*options(1), uncertainty={"draws": 10, "demand_growth_cv": "0.1"}),
        5,
    ),
    "pairs": (simulate, startup(*options(3)), 6),
    "the best base": (simulate, startup(hybrid("h", BASE, price("0.4"))), 20),
    "reservations": (simulate, startup(hybrid("h", RESERVED, price("0.4"))), 20),
    "cells": (regimes, startup(*options(1)), 45),
    "months": (series, startup(*options(1)), 2),
    "rounds": (contention, {"schema": 1, "links": [], "flows": FLOWS}, 2),
}


class Ended(Exception):
    """Time is up."""


@pytest.mark.parametrize("part", ENDED_BY)
def test_calculation_ends_between_its_parts_when_the_check_says_so(part: str) -> None:
    calculate, document, after = ENDED_BY[part]
    calls = count(1)

    def check() -> None:
        if next(calls) == after:
            raise Ended

    with pytest.raises(Ended):
        calculate(document, check=check)


LONG = {"start": "2026-01-01T00:00:00+00:00", "months": 12, "step_s": 60}


@pytest.mark.parametrize("policy", ["perfect", "target_tracking"])
@pytest.mark.parametrize("check", [check_map_work, check_curve_work])
def test_break_even_of_a_year_of_minutes_fits_in_coarser_steps(policy: str, check: Any) -> None:
    """Broken thing 4: the curves of the default template over a year were “not drawn”."""
    document = startup(*options(3), horizon=LONG, policy={"kind": policy})
    with pytest.raises(TooMuchWork):
        check(document)
    coarser, step_s = coarsen(document, check)
    assert step_s is not None
    assert coarser["horizon"]["step_s"] == step_s
    assert check(coarser) <= MOST_MAP_WORK
    # what fits as it is stays as it is
    assert coarsen(coarser, check) == (coarser, None)


@pytest.mark.parametrize(
    "horizon",
    [
        {**YEAR, "step_s": 7},  # no longer step is a multiple of it
        {**LONG, "months": 1200},  # too many even of days
        {**YEAR, "days": "365.001"},  # of which no longer step is a part
    ],
)
def test_document_stays_as_it_is_where_no_coarser_steps_fit(horizon: dict[str, Any]) -> None:
    document = startup(*options(3), horizon=horizon)

    def check(asked: Any) -> int:
        return check_work(asked, most=1_000)

    assert coarsen(document, check) == (document, None)


def test_coarser_steps_are_the_shortest_that_fit() -> None:
    document = startup(*options(1), horizon={**YEAR, "days": 1, "step_s": 60})
    # 1,440 minutes; 480 of two minutes would be 720, five 288
    coarser, step_s = coarsen(document, lambda asked: check_work(asked, most=300))
    assert (step_s, coarser["horizon"]["step_s"]) == (300, 300)
    assert coarser == {**document, "horizon": {**document["horizon"], "step_s": 300}}
