"""Differences from a baseline, and how unlike two offers are."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.rankings.calc.comparison import delta_ratio, distance


def test_delta_is_what_the_value_has_more_than_the_base():
    assert delta_ratio(Decimal(125), Decimal(100)) == Decimal("0.25")
    assert delta_ratio(Decimal(80), Decimal(100)) == Decimal("-0.2")


def test_delta_carries_34_digits():
    assert str(delta_ratio(Decimal(4), Decimal(3))) == "0.333333333333333333333333333333333"


def test_delta_of_a_base_of_zero_is_unknown():
    assert delta_ratio(Decimal(1), Decimal(0)) is None


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
