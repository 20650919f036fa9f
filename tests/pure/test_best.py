"""The probability of being the best value."""

import math

import numpy as np
import pytest

from backend.measure.pairwise import NO_FIGURE
from backend.rankings.calc.best import (
    MAX_CANDIDATES,
    best_probabilities,
    draw_seed,
    smallest_set,
)


def normal_below(z):
    return math.erfc(-z / math.sqrt(2)) / 2


@pytest.mark.parametrize(
    ("values", "sigmas"),
    [([110.0, 100.0], [0.05, 0.08]), ([100.0, 100.0], [0.1, 0.2]), ([105.0, 100.0], [0.3, 0.02])],
)
def test_probability_of_two_rows_is_the_normal_integral(values, sigmas):
    # The difference of two normal logarithms is normal: P = Φ(ln(a/b) / √(σa² + σb²)).
    expected = normal_below(math.log(values[0] / values[1]) / math.hypot(*sigmas))
    found = best_probabilities(values, sigmas, [NO_FIGURE, NO_FIGURE], seed=7)
    assert found[0] == pytest.approx(expected, abs=0.025)  # 3 deviations of 4,000 draws
    assert found.sum() == pytest.approx(1)


def test_cheaper_of_two_rows_with_one_figure_is_best():
    assert best_probabilities([101.0, 100.0], [0.3, 0.3], [4, 4], seed=1).tolist() == [1, 0]


def test_rows_of_one_figure_and_price_share_their_draws():
    found = best_probabilities([100.0, 100.0, 100.0], [0.1] * 3, [4, 4, NO_FIGURE], seed=1)
    assert found[0] == found[1] == pytest.approx(0.25, abs=0.02)


def test_best_probability_is_zero_for_a_row_surely_below_the_highest():
    # ln(2) = 0.69 is more than 1.96 · √2 · 0.1 = 0.28.
    assert best_probabilities([200.0, 100.0], [0.1, 0.1], [-1, -1], seed=1).tolist() == [1, 0]


def test_probabilities_do_not_depend_on_the_order_of_rows():
    values, sigmas = np.linspace(100, 90, 40), np.full(40, 0.1)
    figures = np.full(40, NO_FIGURE)
    seed = draw_seed(12, "metric=cmips_score")
    assert seed != draw_seed(12, "metric=coremark")
    first = best_probabilities(values, sigmas, figures, seed)
    again = best_probabilities(values[::-1], sigmas, figures, seed)[::-1]
    assert (first == again).all()


def test_best_probabilities_are_drawn_of_at_most_500_candidates():
    size = MAX_CANDIDATES + 100
    found = best_probabilities(np.linspace(101, 100, size), [0.5] * size, [-1] * size, seed=3)
    assert found.sum() == pytest.approx(1)
    assert (found[MAX_CANDIDATES:] == 0).all()


def test_smallest_set_ends_with_the_row_that_reaches_the_share():
    probabilities = [0.05, 0.6, 0.3, 0.05]
    assert smallest_set(probabilities).tolist() == [1, 2, 0]
    assert smallest_set(probabilities, share=0.6).tolist() == [1]
    assert smallest_set([]).tolist() == []


def test_nothing_is_best_of_an_empty_list():
    assert best_probabilities([], [], [], seed=1).tolist() == []
