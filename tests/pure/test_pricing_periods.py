from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.pricing import PERIODS, price_per_period

HOURS = Decimal(720)


@pytest.mark.parametrize(
    ("amount", "unit", "period", "hours", "expected"),
    [
        ("1.64", "hour", "month", 720, "1180.80"),
        ("1.98", "hour", "month", 720, "1425.60"),
        ("99.00", "month", "hour", 720, "0.1375"),
        ("100", "month", "year", 730, "1200"),
        ("1200", "year", "month", 730, "100"),
        ("0.4", "hour", "year", 730, "3504"),  # 0.4 × 730 × 12
        ("8760", "year", "hour", 730, "1"),
    ],
)
def test_price_per_period_follows_the_hours_of_the_month(amount, unit, period, hours, expected):
    converted = price_per_period(Decimal(amount), unit, period, Decimal(hours))
    assert converted == Decimal(expected)


def test_price_per_period_carries_34_digits():
    # 20 / 720 = 1/36
    price = price_per_period(Decimal(20), "month", "hour", HOURS)
    assert price == Decimal("0.02777777777777777777777777777777778")


@given(st.decimals("0.0000000001", "99999", places=10), st.sampled_from(PERIODS))
def test_price_per_period_in_its_own_unit_is_as_quoted(amount, unit):
    assert price_per_period(amount, unit, unit, Decimal(730)).as_tuple() == amount.as_tuple()


@pytest.mark.parametrize(("unit", "period"), [("day", "hour"), ("hour", "week")])
def test_price_per_period_refuses_another_span(unit, period):
    with pytest.raises(InvalidValue) as caught:
        price_per_period(Decimal(1), unit, period, HOURS)
    assert caught.value.field == ("unit" if unit == "day" else "period")


@pytest.mark.parametrize("hours", ["0", "-720", "745"])
def test_price_per_period_refuses_a_month_of_impossible_length(hours):
    with pytest.raises(InvalidValue) as caught:
        price_per_period(Decimal(1), "hour", "hour", Decimal(hours))
    assert caught.value.field == "hours_per_month"
