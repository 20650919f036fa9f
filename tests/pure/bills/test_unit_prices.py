"""Whether an amount is the price of a unit or of its line, judged by the list price."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.bills.calc.unit_prices import UnclearPrice, refuse_unclear

amounts = st.decimals("0.01", "1e6", places=2)


def refusal(of_unit, of_line, listed, *, is_unit):
    try:
        refuse_unclear(
            "m5.large",
            of_unit=Decimal(of_unit),
            of_line=Decimal(of_line),
            listed=Decimal(listed),
            is_unit=is_unit,
            currency="EUR",
        )
    except UnclearPrice as error:
        return error
    return None


def test_reading_that_only_the_other_one_agrees_with_is_refused():
    # Three machines at 210: 630 as the price of each, and 600 at the list price.
    error = refusal("630", "210", "600", is_unit=False)
    assert error is not None
    assert error.field == "/price_is"
    assert error.detail == (
        "is the amount of m5.large the price of one unit or the total of its line? As the price of "
        "one unit the line costs 630.00 EUR, as the total 210.00 EUR; at the list price it would be "
        "600.00 EUR. Say price_is=unit or price_is=total"
    )


@pytest.mark.parametrize(
    ("of_unit", "of_line", "listed", "is_unit"),
    [
        ("630", "210", "600", True),  # it agrees
        ("630", "210", "210", False),
        ("630", "425", "630", False),  # 630 / 425 = 1.48, which is near enough
        ("630", "210", "6000", False),  # neither agrees
        ("630", "210", "20", True),
        ("630", "210", "0", False),  # no list price
        ("0", "0", "600", True),
        ("-630", "-210", "600", False),  # a credit
    ],
)
def test_reading_is_kept_where_nothing_speaks_for_the_other(of_unit, of_line, listed, is_unit):
    assert refusal(of_unit, of_line, listed, is_unit=is_unit) is None


@given(amounts, st.integers(1, 1000), amounts)
def test_sender_can_always_say_one_of_both(of_line, count, listed):
    both = [refusal(of_line * count, of_line, listed, is_unit=is_unit) for is_unit in (True, False)]
    assert None in both
