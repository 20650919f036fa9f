"""Columns of exact figures: in order, compared and filtered as if each were compared exactly."""

import operator
from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.domain.amounts import CLOSE, codes_of
from tests.domain.candidates import amounts

HAIR = Decimal("1e-25")
figures = st.lists(
    st.none()
    | st.builds(
        lambda whole, hairs: Decimal(whole) / 8 + hairs * HAIR,
        st.integers(1, 12),
        st.integers(-2, 2),
    ),
    max_size=30,
)


@given(figures)
def test_amounts_rank_by_their_exact_figures(column):
    known = sorted({one for one in column if one is not None})
    expected = [-1 if one is None else known.index(one) for one in column]
    assert amounts(column).ranks().tolist() == expected


COMPARED = (operator.ge, operator.le, operator.gt, operator.lt, operator.eq)


@given(figures, st.integers(1, 12), st.integers(-2, 2), st.sampled_from(COMPARED))
def test_amounts_meet_what_their_exact_figures_meet(column, whole, hairs, compared):
    bound = Decimal(whole) / 8 + hairs * HAIR
    met = amounts(column).meets(lambda one: compared(one, bound), (bound,))
    assert met.tolist() == [one is not None and compared(one, bound) for one in column]


@given(figures)
def test_amounts_are_one_of_several_values(column):
    values = (Decimal(1), Decimal(1) + HAIR, Decimal("0.5"))
    met = amounts(column).meets(lambda one: one in values, values)
    assert met.tolist() == [one in values for one in column]


def test_amounts_work_out_few_exact_figures():
    column = amounts([Decimal(n) for n in range(1, 1000)])
    column.ranks()
    assert not column._known
    column.meets(lambda one: one >= 500, (Decimal(500),))
    assert len(column._known) == 1
    assert CLOSE < 1e-9


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
