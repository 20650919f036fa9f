"""Ranks, tie groups and rank bounds from one pairwise rule."""

import math
import random

import numpy as np
import pytest

from backend.measure import pairwise
from backend.measure.pairwise import (
    NO_FIGURE,
    PairwiseRanks,
    are_apart,
    is_surely_above,
    log_sigmas,
    round_up,
)


def counted_bounds(values, sigmas, figures, rows=None):
    """Rank bounds by their definition, pair by pair."""

    def surely(a, b):
        if figures[a] == figures[b] != NO_FIGURE:
            return values[a] > values[b] * (1 + 1e-12)
        return math.log(values[a] / values[b]) > 1.96 * math.hypot(sigmas[a], sigmas[b])

    everyone = range(len(values))
    return [
        (1 + sum(surely(b, a) for b in everyone), len(values) - sum(surely(a, b) for b in everyone))
        for a in (everyone if rows is None else rows)
    ]


def some_list(seed, size):
    """Values with equal ones, σ of few or many kinds, and source figures that rows share."""
    chance = random.Random(seed)
    figures = [chance.choice((NO_FIGURE, NO_FIGURE, *range(size // 10))) for _ in range(size)]
    of_figure = [chance.uniform(0, 0.3) for _ in range(size)]
    sigmas = [chance.choice((0.0, 0.05, chance.uniform(0, 0.4))) for _ in range(size)]
    sigmas = [
        sigma if figure == NO_FIGURE else of_figure[figure]
        for sigma, figure in zip(sigmas, figures, strict=True)
    ]
    values = [chance.choice((10.0, 20.0, chance.uniform(5, 50))) for _ in range(size)]
    return np.array(values), np.array(sigmas), np.array(figures)


def bounds(values, sigmas, figures, rows=None):
    rows = np.arange(len(values)) if rows is None else np.array(rows, int)
    low, high = PairwiseRanks(values, sigmas, figures).rank_bounds(rows)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def tie_groups(values, sigmas, figures):
    return PairwiseRanks(values, sigmas, figures).tie_groups(np.arange(len(values)))


@pytest.mark.parametrize("seed", range(6))
def test_rank_bounds_count_the_rows_surely_above_and_below(seed):
    given = some_list(seed, 120)
    assert bounds(*given) == counted_bounds(*given)


def test_rank_bounds_of_some_rows_are_those_of_all():
    given = some_list(3, 300)
    whole = bounds(*given)
    assert bounds(*given, rows=[299, 0, 17]) == [whole[299], whole[0], whole[17]]


def test_rank_bounds_of_a_long_list_use_sigma_rounded_up_to_two_digits():
    values, sigmas, figures = some_list(4, pairwise.MAX_EXACT_ROWS + 50)
    rows = range(0, values.size, 97)
    expected = counted_bounds(values, round_up(sigmas), figures, rows)
    assert bounds(values, sigmas, figures, rows) == expected


def test_round_up_keeps_two_significant_digits():
    sigmas = np.array([0.0, 0.25, 0.251, 0.0999, 1.01, 0.3])
    assert round_up(sigmas) == pytest.approx([0, 0.25, 0.26, 0.1, 1.1, 0.3])


def test_rank_bounds_of_offers_with_one_figure_are_one_rank_each():
    # N17: three lots with one processor model; the cheaper one is better for certain.
    values, sigmas, figures = np.array([3.0, 2.9, 2.9, 2.8]), np.full(4, 0.2), np.full(4, 1)
    assert bounds(values, sigmas, figures) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert tie_groups(values, sigmas, figures).tolist() == [1, 2, 2, 3]


def test_rank_bounds_and_tie_groups_of_no_rows_are_empty():
    nobody = np.zeros(0), np.zeros(0), np.zeros(0, int)
    assert bounds(*nobody) == []
    assert tie_groups(*nobody).tolist() == []


def test_tie_group_ends_before_the_first_row_surely_below():
    # 1.96 · √2 · 0.1 = 0.277: rows down to a ratio of exp(−0.277) = 0.758 join the first.
    values = np.array([100.0, 90.0, 76.0, 75.0, 60.0, 50.0])
    assert tie_groups(values, np.full(6, 0.1), np.full(6, -1)).tolist() == [1, 1, 1, 2, 2, 3]


def test_tie_group_ends_wherever_it_is_looked_for():
    for size in (1, 63, 64, 65, 66, 191, 192, 193, 500):
        values = np.array([100.0] * size + [50.0] * 3)
        groups = tie_groups(values, np.full(values.size, 0.001), np.full(values.size, -1))
        assert groups.tolist() == [1] * size + [2] * 3


def test_leader_stays_alone_however_long_the_list():
    # N16: the leader (± 28 %) beats the 24th by 4.4 ×, yet stood in one tie group with it.
    values = np.array([978.7, *np.linspace(700, 222, 24)])
    sigmas = np.concatenate(([0.28], np.full(24, 0.05)))
    groups = tie_groups(values, sigmas, np.full(25, -1))
    # ln(978.7 / 560) = 0.558 = 1.96 · √(0.28² + 0.05²)
    assert (groups[values > 560.5] == 1).all()
    assert groups[values < 560].min() > 1


def test_surely_above_needs_more_than_the_errors_of_both():
    margin = 1.96 * math.hypot(0.03, 0.04)  # 0.098
    assert is_surely_above(math.exp(margin + 1e-6), 1.0, 0.03, 0.04)
    assert not is_surely_above(math.exp(margin - 1e-6), 1.0, 0.03, 0.04)


def test_log_sigmas_are_a_fourth_of_the_interval():
    # ± 10 % of a log-normal: ln(1.1 / (1/1.1)) / 3.92
    assert log_sigmas([100 / 1.1], [110.0])[0] == pytest.approx(2 * math.log(1.1) / 3.92, rel=1e-4)


def test_two_offers_are_apart_whichever_comes_first():
    # ± 10 % each: 1.96 · √2 · 0.0512 = 0.142, and ln(100/85) = 0.163, ln(100/90) = 0.105
    first, far, near = ((v, v / 1.1055, v * 1.1055) for v in (100.0, 85.0, 90.0))
    assert are_apart(first, far)
    assert are_apart(far, first)
    assert not are_apart(first, near)
    assert are_apart(first, near, is_same_figure=True)
    assert not are_apart(first, first, is_same_figure=True)


def test_tie_groups_are_the_same_whichever_rows_are_asked_for_first():
    values = np.linspace(100, 10, 300)
    sigmas, figures = np.full(300, 0.03), np.full(300, NO_FIGURE)
    whole = tie_groups(values, sigmas, figures)
    ranks = PairwiseRanks(values, sigmas, figures)
    for row in (40, 3, 299, 120):
        assert ranks.tie_groups(np.array([row])) == whole[row]
