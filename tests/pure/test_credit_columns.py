"""What machines with CPU credits hold under load, and what full speed costs them."""

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.rankings.calc.credit_columns import ratios_without_credits, surplus_per_hour

positive = st.floats(0.01, 1e6)


def ratio(score, vcpus=2.0, baseline=0.2, per_vcpu=800.0):
    columns = (np.array([each]) for each in (score, vcpus, baseline, per_vcpu))
    return float(ratios_without_credits(*columns)[0])


def test_machine_holds_its_baseline_of_full_speed():
    # 0.2 × 2 vCPUs × 800 = 320 of 1,000
    assert ratio(1000.0) == pytest.approx(0.32)


def test_score_that_was_slowed_already_is_not_slowed_twice():
    assert ratio(300.0) == 1


def test_baseline_stands_for_the_share_where_full_speed_is_not_known():
    assert ratio(1000.0, per_vcpu=nan) == 0.2


@pytest.mark.parametrize(("score", "baseline"), [(nan, 0.2), (1000.0, nan)])
def test_share_without_a_score_or_baseline_is_unknown(score, baseline):
    assert np.isnan(ratio(score, baseline=baseline))


@given(positive, st.integers(1, 448), st.floats(0.01, 1), positive)
def test_machine_holds_the_lower_of_measured_and_baseline(score, vcpus, baseline, per_vcpu):
    least = min(score, baseline * vcpus * per_vcpu)
    assert ratio(score, float(vcpus), baseline, per_vcpu) * score == pytest.approx(least)


def test_surplus_is_paid_for_what_is_above_the_baseline():
    # 80 % of 2 vCPUs at 0.05
    assert surplus_per_hour(2.0, 0.2, 0.05) == pytest.approx(0.08)
    column = surplus_per_hour(np.array([2.0, 4.0]), np.array([0.2, 1.0]), np.array([0.05, 0.05]))
    assert column == pytest.approx([0.08, 0])
