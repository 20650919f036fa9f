import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue, UnknownRate
from backend.money.money import EuroRate, Money, RateTable

FRIDAY = dt.date(2026, 10, 30)
THURSDAY = dt.date(2026, 10, 29)
TABLE = RateTable(
    {
        "USD": EuroRate(FRIDAY, "USD", Decimal("1.1172")),
        "GBP": EuroRate(THURSDAY, "GBP", Decimal("0.8338")),
    }
)


def test_convert_from_the_euro_multiplies_by_the_rate():
    # 49.00 × 1.1172 = 54.7428
    assert TABLE.convert(Money(Decimal("49.00"), "EUR"), "USD") == Money(Decimal("54.7428"), "USD")


def test_convert_to_the_euro_divides_and_keeps_34_digits():
    converted = TABLE.convert(Money(Decimal(1), "USD"), "EUR")
    # 1 / 1.1172 = 0.895094880057286…
    assert converted.amount == Decimal("0.8950948800572860723236663086287146")
    assert len(converted.amount.as_tuple().digits) == 34


def test_convert_crosses_through_the_euro():
    # 169.99 × 1.1172 = 189.912828 and 189.912828 / 0.8338 = 227.767843…
    converted = TABLE.convert(Money(Decimal("169.99"), "GBP"), "USD")
    assert converted.amount.quantize(Decimal("0.00001")) == Decimal("227.76784")


def test_convert_within_a_currency_changes_nothing():
    money = Money(Decimal("1.10"), "THB")
    assert TABLE.convert(money, "THB").amount.as_tuple() == money.amount.as_tuple()


def test_rate_is_dated_by_the_older_of_the_two_rates():
    assert TABLE.rate("EUR", "USD") == (Decimal("1.1172"), FRIDAY)
    assert TABLE.rate("USD", "GBP")[1] == THURSDAY
    assert TABLE.rate("USD", "USD") == (Decimal(1), None)


@given(amount=st.decimals("0.0001", "1000000", places=4))
def test_convert_there_and_back_returns_to_30_digits(amount):
    there = TABLE.convert(Money(amount, "USD"), "GBP")
    back = TABLE.convert(there, "USD").amount
    assert abs(back - amount) <= amount * Decimal("1e-30")


@pytest.mark.parametrize(("source", "target"), [("USD", "THB"), ("THB", "EUR")])
def test_rate_names_the_currency_it_does_not_know(source, target):
    with pytest.raises(UnknownRate) as caught:
        TABLE.rate(source, target)
    assert caught.value.currency == "THB"


@pytest.mark.parametrize("amount", [1.5, Decimal("NaN"), Decimal("Infinity"), None])
def test_money_refuses_anything_but_a_finite_decimal(amount):
    with pytest.raises(InvalidValue):
        Money(amount, "USD")


@pytest.mark.parametrize("currency", ["usd", "US", "USDT", ""])
def test_money_refuses_a_code_that_is_not_three_capitals(currency):
    with pytest.raises(InvalidValue):
        Money(Decimal(1), currency)


@pytest.mark.parametrize("rate", ["0", "-1", "NaN"])
def test_exchange_rate_refuses_a_rate_that_is_not_above_zero(rate):
    with pytest.raises(InvalidValue):
        EuroRate(FRIDAY, "USD", Decimal(rate))
