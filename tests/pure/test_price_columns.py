"""Prices of many charges at once are near to those of each."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.money.pricing.effective import TERM_HOURS, TIERS, Charge, price_over
from backend.money.pricing.periods import PERIODS
from backend.money.pricing.price_columns import ChargeColumns

amounts = st.decimals("0.0001", "90000", places=6)
charges = st.builds(
    Charge,
    amount=amounts,
    unit=st.sampled_from([*PERIODS, "once"]),
    term=st.sampled_from(["", *TERM_HOURS]),
    setup_amount=st.none() | amounts,
    monthly_cap=st.none() | amounts,
    sustained_use=st.sampled_from(["", *TIERS, "unknown"]),
)
questions = st.fixed_dictionaries(
    {
        "hours_run": st.none() | st.sampled_from([Decimal(1), Decimal("200.5"), Decimal(744)]),
        "setup_months": st.sampled_from([0, 12, 36]),
        "is_sustained": st.booleans(),
    }
)


@given(
    st.lists(charges, max_size=6),
    st.sampled_from(PERIODS),
    st.sampled_from([Decimal(720), Decimal("730.5")]),
    questions,
)
def test_price_columns_are_near_to_the_price_of_each_charge(column, period, hours, question):
    prices = ChargeColumns.of(column).over(period, hours, **question).tolist()
    exact = [price_over(one, period, hours, **question) for one in column]
    expected = [
        float(charge.amount if price is None else price)
        for charge, price in zip(column, exact, strict=True)
    ]
    assert prices == pytest.approx(expected, rel=1e-13)
    purchases = ChargeColumns.of(column).is_purchase.tolist()
    assert purchases == [price is None for price in exact]


@given(st.lists(charges, max_size=6), st.lists(charges, max_size=6))
def test_columns_follow_each_other_as_their_charges_do(first, second):
    # Of other rows the texts may be of other lengths.
    both = ChargeColumns.of(first[::-1]).at(np.arange(len(first))[::-1])
    both = both.concat(ChargeColumns.of(second))
    whole = ChargeColumns.of(first + second)
    question = {"hours_run": Decimal(100), "setup_months": 12, "is_sustained": True}
    prices, expected = (one.over("month", Decimal(730), **question) for one in (both, whole))
    assert prices.tolist() == expected.tolist()
    assert both.is_purchase.tolist() == whole.is_purchase.tolist()
    assert both.nbytes == whole.nbytes
