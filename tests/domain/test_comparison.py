"""Differences from a baseline, and how unlike two offers are."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain.comparison import IntervalFigure, delta_ratio, distance, is_distinguishable


def figure(value: str, low: str | None = None, high: str | None = None) -> IntervalFigure:
    return IntervalFigure(Decimal(value), low and Decimal(low), high and Decimal(high))


def test_delta_is_what_the_value_has_more_than_the_base():
    assert delta_ratio(figure("125"), figure("100")) == Decimal("0.25")
    assert delta_ratio(figure("80"), figure("100")) == Decimal("-0.2")


def test_delta_carries_34_digits():
    assert str(delta_ratio(figure("4"), figure("3"))) == "0.333333333333333333333333333333333"


def test_delta_of_a_base_of_zero_is_unknown():
    assert delta_ratio(figure("1"), figure("0")) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("10", "9", "11"), ("12", "11", "13"), False),  # they touch
        (("10", "9", "11"), ("13", "11.1", "15"), True),
        (("13", "11.1", "15"), ("10", "9", "11"), True),
        (("10", "9", "11"), ("10", "1", "99"), False),
        (("10", "10", "10"), ("10", "10", "10"), False),
        (("10", None, None), ("99", "98", "100"), None),
        (("10", "9", "11"), ("99", None, None), None),
    ],
)
def test_figures_are_distinguishable_when_their_intervals_are_apart(one, other, expected):
    assert is_distinguishable(figure(*one), figure(*other)) is expected


def test_distance_counts_twice_and_half_alike():
    # one of two traits differs by ln 2: sqrt((0 + ln²2) / 2)
    expected = math.log(2) / math.sqrt(2)
    assert distance({"a": 4.0, "b": 1.0}, {"a": 4.0, "b": 2.0}) == pytest.approx(expected)
    assert distance({"a": 4.0, "b": 1.0}, {"a": 4.0, "b": 0.5}) == pytest.approx(expected)


def test_distance_ignores_unasked_and_penalises_unstated_values():
    assert distance({"a": None, "b": 3.0}, {"a": 1.0, "b": 3.0}) == 0
    assert distance({"a": 3.0}, {"a": None}) == pytest.approx(math.log(2))
    assert distance({"a": None}, {"a": 1.0}) == math.inf


sizes = st.floats(min_value=1e-3, max_value=1e9)


@given(a=sizes, b=sizes, factor=st.floats(min_value=1e-2, max_value=1e2))
def test_distance_is_symmetric_and_free_of_units(a, b, factor):
    there = distance({"x": a}, {"x": b})
    assert there == pytest.approx(distance({"x": b}, {"x": a}), abs=1e-9)
    assert there == pytest.approx(distance({"x": a * factor}, {"x": b * factor}), abs=1e-9)
