"""The rule that marks an outlier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.measure.outliers import outliers


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], set()),
        ([1, 1, 1, 100], set()),  # too few to tell
        ([100, 101, 99, 100, 300], {4}),
        # Median 10, deviations 1, 1, 0, 1, 5.2: MAD 1; 0.6745 × 5.2 / 1 = 3.507 > 3.5.
        ([9, 11, 10, 9, 15.2], {4}),
        ([9, 11, 10, 9, 15.1], set()),  # 0.6745 × 5.1 = 3.44
        ([100, 100, 100, 100, 101], set()),  # almost equal: 1 % off is none
        ([100, 100, 100, 100, 97], {4}),  # 0.6745 × 3 / 0.5 = 4.05
        ([0, 0, 0, 0, 0], set()),
        ([50, 100, 100, 101, 99, 102, 200], {0, 6}),
    ],
)
def test_outliers_are_those_far_from_the_median(values, expected):
    assert outliers(values) == expected


@given(st.lists(st.floats(0.001, 1e12), max_size=30))
def test_outliers_are_a_minority_and_do_not_depend_on_the_unit(values):
    found = outliers(values)
    assert len(found) <= len(values) / 2
    assert found <= set(range(len(values)))
    # 2 is exact in binary, so that rounding cannot move a value over the edge.
    assert outliers([value * 2 for value in values]) == found
