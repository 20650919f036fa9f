"""The trend test on known series, and what of it is noted."""

import random

import pytest

from backend.foundation.errors import InsufficientSamples
from backend.measure.drift import Trend, drift_p_value, trend


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], 2 / 24),
        ([4.0, 3.0, 2.0, 1.0], 2 / 24),
        ([1.0, 2.0, 3.0, 5.0, 4.0], 10 / 120),  # one inversion: (1 + 4) orders on either side
        ([2.0, 1.0, 3.0], 1.0),  # |S| = 1 is the least that three values can have
    ],
)
def test_drift_p_value_counts_orders_exactly(values, expected):
    assert drift_p_value(values) == pytest.approx(expected, rel=1e-12)


def test_drift_p_value_corrects_for_ties():
    # S = 12, variance = (6·5·17 − 3·2·1·9)/18 = 25.3333, z = 11/5.03322 = 2.18548
    assert drift_p_value([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]) == pytest.approx(0.028855, abs=1e-5)


def test_drift_p_value_of_equal_values_is_one():
    assert drift_p_value([7.0] * 6) == 1.0


def test_drift_p_value_of_a_long_climb_is_small():
    assert drift_p_value([100.0 + i for i in range(60)]) < 1e-9


def test_drift_p_value_needs_three_values():
    with pytest.raises(InsufficientSamples):
        drift_p_value([1.0, 2.0])


def test_drift_p_value_rejects_about_one_steady_series_in_twenty():
    draw = random.Random(5)
    rejected = sum(
        drift_p_value([draw.lognormvariate(0, 0.1) for _ in range(12)]) < 0.05 for _ in range(1000)
    )
    assert 20 <= rejected <= 70


# --- the trend that is noted ---


def test_trend_of_a_climb_states_change_and_p():
    # medians 101 and 104 of the halves; one order of 720 on either side
    found = trend([100.0, 101.0, 102.0, 103.0, 104.0, 105.0], least_change_ratio=0.02)
    assert found == Trend(pytest.approx(104 / 101 - 1), pytest.approx(2 / 720))


def test_trend_leaves_the_middle_of_an_odd_series_out():
    found = trend([7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], least_change_ratio=0.03)
    assert found == Trend(pytest.approx(2 / 6 - 1), pytest.approx(2 / 5040))


@pytest.mark.parametrize(
    "values",
    [
        [3145.0, 2400.0, 1700.0, 1100.0, 701.0],  # five can climb or fall by chance
        [100.0, 101.0, 102.0, 103.0, 105.0, 104.0],  # p = 12/720
        [100.0, 100.1, 100.2, 100.3, 100.4, 100.5],  # smaller than the precision asked for
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],  # no ratio
        [],
    ],
)
def test_trend_is_none_when_chance_or_precision_explains_it(values):
    assert trend(values, least_change_ratio=0.01) is None
