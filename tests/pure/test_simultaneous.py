"""Which of many figures are distinguishable."""

import math
import random

import pytest

from backend.measure import simultaneous


@pytest.mark.parametrize(
    ("count", "quantile"), [(2, 2.772), (3, 3.314), (10, 4.474), (20, 5.012), (100, 6.085)]
)
def test_tukey_quantile_equals_the_printed_tables(count, quantile):
    # Studentised range, 5 %, infinitely many degrees of freedom (Harter, 1960)
    assert simultaneous.tukey_quantile(count) == pytest.approx(quantile, abs=1.5e-3)


def test_two_offers_are_apart_by_their_paired_difference():
    """W17: ± 10 % overlap, yet 0.8 % of the draws are reversed: the ranking told them apart,
    the comparison did not. Now both ask this function."""
    one, other = (1000.0, 900.0, 1100.0), (1165.0, 1048.5, 1281.5)
    assert simultaneous.are_apart(one, other, 2)
    assert simultaneous.are_apart(other, one, 2)
    assert not simultaneous.are_apart(one, (1150.0, 1035.0, 1265.0), 2)
    assert not simultaneous.are_apart(one, one, 2)


def test_the_more_figures_the_further_apart():
    one, other = (1000.0, 900.0, 1100.0), (1165.0, 1048.5, 1281.5)
    assert simultaneous.are_apart(one, other, 2)
    assert not simultaneous.are_apart(one, other, 3)


def test_sides_of_the_intervals_that_face_each_other_decide():
    # The better one reaches down 20 %, the worse one up 1 %; the far sides do not matter.
    assert not simultaneous.are_apart((100.0, 80.0, 101.0), (90.0, 50.0, 91.0), 2)
    assert simultaneous.are_apart((100.0, 99.0, 150.0), (90.0, 89.0, 91.0), 2)


def test_twenty_equal_figures_are_all_alike_in_95_of_100_lists():
    draw = random.Random(22)
    split = 0
    for _ in range(1000):
        values = [draw.lognormvariate(0, 0.05) for _ in range(20)]
        first, last = (
            (v, v / math.exp(1.96 * 0.05), v * math.exp(1.96 * 0.05))
            for v in (max(values), min(values))
        )
        split += simultaneous.are_apart(first, last, 20)
    assert 20 <= split <= 75
