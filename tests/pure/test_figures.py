"""Numbers as people read them, against readings written by hand."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation import figures

D = Decimal
amounts = st.decimals("0.0001", "1e12", places=6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0, "0"),
        (D("1.5000"), "1.5"),
        (3.14159, "3.142"),
        (1_234_567, "1,235,000"),
        (0.00001234567, "0.00001235"),
        (-98765, "-98,760"),  # a half goes to the even digit
        (1e-16, "≈ 0"),
        (-1e-16, "≈ 0"),
    ],
)
def test_figure_has_four_digits_and_no_exponent(value, text):
    assert figures.figure(value) == text


@given(st.floats(1e-12, 1e15))
def test_figure_is_the_value_to_half_of_its_fourth_digit(value):
    text = figures.figure(value).replace(",", "")
    assert "E" not in text
    assert len(text.replace(".", "").strip("0")) <= 4
    assert abs(D(text) - D(value)) <= D("0.0005") * D(value)


@pytest.mark.parametrize(
    ("size", "decimals"),
    [(1000, 0), (999, 1), (100, 1), (99, 2), (10, 2), (9, 3), (1, 3), (0.9, 4)],
)
def test_decimals_give_a_size_four_digits(size, decimals):
    assert figures.decimals_of(size) == decimals


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1_640_000_000, "bytes/s", "1.64 GB/s"),
        (-2_000_000, "bytes/s", "-2 MB/s"),
        (999, "bytes", "999 B"),
        (12_345, "bytes", "12.3 kB"),
        (D(25_000_000_000), "bits/s", "25 Gbit/s"),
        (3.5e12, "bytes", "3.5 TB"),
        (1234, "W", "1.23 kW"),
        (250.25, "W", "250.2 W"),
        (388_000, "ns", "388 µs"),
        (81.25, "ns", "81.25 ns"),
        (4_200_000, "ns", "4.2 ms"),
        (1_500_000_000, "ns", "1.5 s"),
        (65_000, "operations/s", "65k operations/s"),
        (12_345_678, "bogo ops/s", "12.3M bogo ops/s"),
        (9_999, "operations/s", "9,999 operations/s"),
        (65_000, "points", "65,000 points"),
        (5, "", "5"),
    ],
)
def test_measure_is_in_the_unit_that_people_read(value, unit, text):
    assert figures.measure(value, unit) == text


@pytest.mark.parametrize(
    ("amount", "period", "text"),
    [
        (D("0.0416"), "hour", "0.0416"),
        (D("0.1"), "hour", "0.1000"),
        (D("1.23456"), "hour", "1.235"),
        (D("12.3456"), "hour", "12.35"),
        (D("3.07"), "month", "3.07"),
        (0, "", "0.00"),
        (D("99.9"), "", "99.90"),
        (D("99.996"), "", "100"),
        (189, "year", "189"),
        (1234.56, "", "1,235"),
        (-1_234_567, "", "-1,235,000"),
        (D("0.00004"), "hour", "< 0.0001"),
        (D("0.004"), "month", "< 0.01"),
    ],
)
def test_money_has_the_decimals_of_its_period(amount, period, text):
    assert figures.money(amount, period) == text


def test_money_of_a_sentence_has_fewer_digits():
    assert figures.money(12_345, digits=figures.SENTENCE_DIGITS) == "12,300"


@pytest.mark.parametrize(
    ("amount", "currency", "period", "text"),
    [
        (D("3.07"), "USD", "month", "$3.07/mo"),
        (189, "CHF", "", "CHF 189"),
        (D("0.1"), "EUR", "hour", "€0.10/h"),
        (D("0.125"), "GBP", "hour", "£0.125/h"),
        (D("0.0416"), "USD", "hour", "$0.0416/h"),
        (250, "USD", "hour", "$250/h"),
        (D("0.00001"), "USD", "hour", "< $0.0001/h"),
        (-5, "EUR", "year", "−€5.00/yr"),
        (5, "", "", "5.00"),
    ],
)
def test_price_has_its_sign_and_its_period(amount, currency, period, text):
    assert figures.price(amount, currency, period) == text


@pytest.mark.parametrize(
    ("amount", "currency", "period", "text"),
    [
        ("3.070", "USD", "month", "$3.07/mo"),
        ("3", "USD", "month", "$3.00/mo"),
        ("2.5", "CHF", "", "CHF 2.50"),
        ("0.041612345", "USD", "hour", "$0.041612345/h"),
        ("12000", "EUR", "year", "€12,000.00/yr"),
        ("-2.5", "", "", "−2.50"),
    ],
)
def test_quote_is_the_price_as_its_seller_states_it(amount, currency, period, text):
    assert figures.quote(D(amount), currency, period) == text


@given(amounts)
def test_quote_keeps_every_digit_and_has_cents(amount):
    text = figures.quote(amount, "").replace(",", "")
    assert D(text) == amount
    assert len(text.partition(".")[2]) >= 2


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.95, "95%"),
        (0.989, "98.9%"),
        (-0.05, "-5%"),
        (0.00123, "0.1%"),
        (12.3456, "1,235%"),
        (0, "0%"),
    ],
)
def test_percent_has_a_decimal_where_it_says_something(ratio, text):
    assert figures.percent(ratio) == text


def test_percent_may_be_whole():
    assert figures.percent(0.123, decimals=0) == "12%"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.05, "+5%"),
        (-0.05, "−5%"),
        (9.5, "+950%"),
        (10, "11×"),
        (D("24.67"), "25.7×"),
        (0, "±0%"),
        (0.0001, "±0%"),
        (-0.0001, "±0%"),
    ],
)
def test_difference_has_a_sign_or_is_a_factor(ratio, text):
    assert figures.percent_change(ratio) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0, "0"),
        (1_234_567, "1,234,567"),
        (4.0, "4"),
        (D("3.14159"), "3.14"),
        (0.5, "0.5"),
        (0.0123456, "0.012"),
        (-0.05, "-0.05"),
        (1234.567, "1,235"),
    ],
)
def test_quantity_is_whole_or_has_two_decimals(value, text):
    assert figures.quantity(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (999_999, "bytes/s", "1 MB/s"),
        (999_960, "operations/s", "1M operations/s"),
        (999.96, "ns", "1 µs"),
        (9_996, "operations/s", "9,996 operations/s"),
        (65_432, "operations/s", "65.4k operations/s"),
    ],
)
def test_unit_is_that_of_the_value_as_it_is_printed(value: float, unit: str, text: str) -> None:
    assert figures.measure(value, unit) == text


@pytest.mark.parametrize(
    ("amount", "period", "text"),
    [("0.005", "month", "< $0.01/mo"), ("0.00005", "hour", "< $0.0001/h"), ("-0.004", "", "$0.00")],
)
def test_price_above_nothing_never_reads_as_nothing(amount: str, period: str, text: str) -> None:
    assert figures.price(Decimal(amount), "USD", period) == text
