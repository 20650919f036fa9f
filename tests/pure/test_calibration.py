"""How often a further machine falls into a stated interval, against hand-worked shares."""

import random
from math import exp, log1p, sqrt

import pytest

from backend.benchmarks.calc.calibration import expected_coverage, left_out
from backend.foundation.errors import InsufficientSamples, InvalidValue

SPREAD = {"between_instance_cv": 0.05, "target_half_width_ratio": 0.03}


def test_shares_are_nominal_when_the_stated_spread_is_true():
    shares = expected_coverage([0.05, 0.05], 0.05)
    assert shares.n_offers == 2
    assert shares.typical_share == pytest.approx(0.9500, abs=5e-5)
    assert shares.further_share == pytest.approx(0.8343, abs=5e-4)  # 2Φ(1.96/√2) − 1


def test_shares_are_the_mean_over_the_offers():
    # One offer as stated, one with twice the spread: 2Φ(0.98) − 1 = 0.6729.
    shares = expected_coverage([0.001, 0.002], 0.001)
    assert shares.typical_share == pytest.approx((0.9500 + 0.6729) / 2, abs=1e-4)


def test_no_offers_are_refused():
    with pytest.raises(InsufficientSamples):
        expected_coverage([], 0.05)


@pytest.mark.parametrize(("published", "stated"), [([0.0], 0.05), ([0.05], 0.0), ([-0.1], 0.05)])
def test_spread_of_zero_is_refused(published, stated):
    with pytest.raises(InvalidValue, match="above zero"):
        expected_coverage(published, stated)


def test_expected_shares_are_those_of_simulated_machines():
    random.seed(20)
    stated, true = 0.05, 0.08
    sigma, spread = sqrt(log1p(stated**2)), sqrt(log1p(true**2))
    inside = sum(
        abs(random.gauss(0, spread) - random.gauss(0, spread)) <= 1.96 * sigma
        for _ in range(20_000)
    )
    assert expected_coverage([true], stated).further_share == pytest.approx(
        inside / 20_000, abs=0.01
    )


def test_machine_is_inside_when_the_others_agree_with_it():
    alike = {"a": [100.0, 101.0], "b": [102.0, 103.0], "c": [99.0, 100.0]}
    counted = left_out([alike], **SPREAD)
    assert (counted.n_offers, counted.n_machines, counted.n_inside) == (1, 3, 3)
    assert counted.share == 1.0


def test_machine_far_off_is_outside_when_it_is_left_out():
    odd = {"a": [100.0, 101.0], "b": [300.0, 303.0]}
    counted = left_out([odd], **SPREAD)
    assert (counted.n_machines, counted.n_inside, counted.share) == (2, 0, 0.0)


def test_offer_of_one_machine_says_nothing():
    counted = left_out([{"a": [100.0, 101.0]}], **SPREAD)
    assert (counted.n_offers, counted.n_machines, counted.share) == (0, 0, None)


def test_left_out_machines_fall_inside_as_often_as_the_arithmetic_says():
    random.seed(21)
    sigma = sqrt(log1p(0.05**2))
    offers = [
        {name: [1000 * exp(random.gauss(0, sigma))] * 2 for name in "ab"} for _ in range(1500)
    ]
    # One machine's interval and one more machine: the 83 % of a single figure.
    assert left_out(offers, **SPREAD).share == pytest.approx(0.834, abs=0.02)
