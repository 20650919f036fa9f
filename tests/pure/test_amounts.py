"""Columns of figures: in order, compared and filtered as they are printed."""

import operator
from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.units import round_derived
from backend.money.amounts import Figures, as_one, codes_of, equal_groups

# Figures with neighbours that rounding splits (1e-15) and that print apart (1e-10).
figures = st.lists(
    st.none()
    | st.builds(
        lambda whole, ratio: whole / 8 * (1 + ratio),
        st.integers(1, 12),
        st.sampled_from((0.0, 1e-15, -1e-15, 1e-10)),
    ),
    max_size=30,
)


def column(values):
    return Figures(np.array([np.nan if value is None else value for value in values], float))


@given(figures)
def test_figures_rank_by_what_they_print(values):
    printed = [None if value is None else round_derived(value) for value in values]
    known = sorted({figure for figure in printed if figure is not None})
    expected = [-1 if figure is None else known.index(figure) for figure in printed]
    assert column(values).ranks().tolist() == expected


COMPARED = (operator.ge, operator.le, operator.gt, operator.lt, operator.eq)


@given(figures, st.integers(1, 12), st.sampled_from(COMPARED))
def test_figures_meet_what_their_printed_figures_meet(values, whole, compared):
    bound = Decimal(whole) / 8
    met = column(values).meets(lambda figure: compared(figure, bound), (bound,))
    expected = [value is not None and compared(round_derived(value), bound) for value in values]
    assert met.tolist() == expected


@given(figures)
def test_figures_are_one_of_several_values(values):
    asked = (Decimal(1), Decimal("1.0000000001"), Decimal("0.5"))
    met = column(values).meets(lambda figure: figure in asked, asked)
    expected = [value is not None and round_derived(value) in asked for value in values]
    assert met.tolist() == expected


def test_equal_figures_are_one_group_without_a_chain():
    step = 0.9e-12
    groups, highest = equal_groups(np.array([1.0, 1 - step, 1 - 2 * step, 5.0]))
    assert groups.tolist() == [1, 1, 0, 2]
    assert highest.tolist() == [1 - 2 * step, 1.0, 5.0]


def test_codes_number_what_differs_and_name_the_first_of_each():
    codes, first = codes_of(np.array([7, 7, -1, 7]), np.array([2**40, 3, 3, 2**40]))
    assert codes[0] == codes[3]
    assert len({*codes.tolist()}) == 3
    assert sorted(first.tolist()) == [0, 1, 2]


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2), st.integers(-1, 1))), st.booleans()
)
def test_codes_stand_in_the_order_of_the_combinations(rows, are_far):
    # Far apart they are sorted instead of counted.
    columns = np.array(rows, np.int64).reshape(-1, 3).T * (2**30 if are_far else 1)
    codes, first = codes_of(*columns)
    known = sorted({*rows})
    assert codes.tolist() == [known.index(row) for row in rows]
    assert first.tolist() == [rows.index(row) for row in known]


@given(figures, st.data())
def test_figures_of_some_rows_are_theirs_in_the_order_asked_for(values, data):
    rows = data.draw(st.lists(st.sampled_from(range(len(values))), max_size=9)) if values else []
    picked = column(values).at(np.array(rows, np.int64)).floats
    np.testing.assert_array_equal(picked, column([values[row] for row in rows]).floats)


pairs = st.lists(st.tuples(st.integers(-3, 2**20), st.integers(0, 5)))


@given(pairs)
def test_pairs_as_one_number_keep_their_order(rows):
    first, second = np.array(rows, np.int32).reshape(-1, 2).T
    numbers = as_one(first, second).tolist()
    assert [rows[at] for at in np.argsort(numbers, kind="stable")] == sorted(rows)
    assert len({*numbers}) == len({*rows})
