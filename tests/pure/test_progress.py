"""What remains of a run, and what it has cost."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.benchmarks.calc.progress import cost_so_far, remaining_s

SECONDS = st.floats(0, 1e6)


def left(progress_ratio=0.25, elapsed_s=20.0, planned_s=100.0, likely_s=90.0, past_s=()):
    return remaining_s(
        progress_ratio=progress_ratio,
        elapsed_s=elapsed_s,
        planned_s=planned_s,
        likely_s=likely_s,
        past_s=past_s,
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, 70),  # 90 - 20 is under 100 · 0.75
        ({"planned_s": 80}, 60),  # 80 · 0.75 is under 90 - 20
        ({"past_s": [40, 50, 1000]}, 30),  # their median less the 20 that have gone
        ({"past_s": [200, 400]}, 280),  # earlier runs outweigh the plan, also when they were slower
        ({"past_s": [15]}, 75),  # longer than before: by the share that is done
        ({"elapsed_s": 90, "progress_ratio": 0.5}, 50),
        ({"progress_ratio": 1.0}, 0),
    ],
)
def test_remaining_time_follows_history_else_the_plan(given, found):
    assert left(**given) == found


@given(st.floats(0, 1), SECONDS, SECONDS, SECONDS, st.lists(SECONDS, max_size=5))
def test_remaining_time_is_never_negative(progress, elapsed, planned, likely, past):
    assert left(progress, elapsed, planned, likely, past) >= 0


@pytest.mark.parametrize(
    ("amount", "unit", "elapsed_s", "found"),
    [
        ("0.004", "hour", 1200, "0.001333"),  # a third of an hour is not nothing
        ("49", "month", 3600, "0.067123"),  # 49 / 730
        ("876", "year", 7200, "0.200000"),  # 876 / 8760 · 2
        ("1", "hour", 0, "0.000000"),
    ],
)
def test_cost_is_the_hours_price_times_the_hours(amount, unit, elapsed_s, found):
    assert cost_so_far(Decimal(amount), unit, elapsed_s) == Decimal(found)


def test_machine_that_was_bought_costs_nothing_more():
    assert cost_so_far(Decimal(2000), "once", 3600) is None
