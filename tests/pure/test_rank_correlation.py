import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.measure.rank_correlation import rank_correlation

VALUES = st.lists(st.integers(0, 50), min_size=3, max_size=30, unique=True)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3], [10, 20, 300], 1),
        ([1, 2, 3], [3, 2, 1], -1),
        # Ranks 0 1 2 3 and 1 0 2 3: 1 − 6 · (1 + 1) / (4 · 15) = 0.8.
        ([1, 2, 3, 4], [2, 1, 3, 4], 0.8),
        # Ranks 0 1½ 1½ and 0 1 2: covariance 1½ over √(1½ · 2).
        ([1, 5, 5], [1, 2, 3], 1.5 / 3**0.5),
    ],
)
def test_rank_correlation_follows_the_formula(first, second, expected):
    assert rank_correlation(first, second) == pytest.approx(expected)


@given(VALUES)
def test_rank_correlation_sees_the_order_alone(values):
    assert rank_correlation(values, [value**3 for value in values]) == pytest.approx(1)
    assert rank_correlation(values, [-value for value in values]) == pytest.approx(-1)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3])])
def test_rank_correlation_is_unknown_without_an_order(first, second):
    assert rank_correlation(first, second) is None
    assert rank_correlation(second, first) is None
