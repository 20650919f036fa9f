"""Numbers of documents, addresses and bodies."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.decimals import read_decimal


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (".5", "0.5"),
        ("5", "5"),
        ("5.0", "5.0"),
        ("5.", "5"),
        ("+5", "5"),
        ("-0.25", "-0.25"),
        (" 7 ", "7"),
        ("5e3", "5000"),
        (5, "5"),
        (0.1, "0.1"),
        (Decimal("12.50"), "12.50"),
        ("0e9", "0"),
    ],
)
def test_decimal_is_read_from_json_numbers_and_text(value, number):
    assert read_decimal(value) == Decimal(number)


@pytest.mark.parametrize(
    "value",
    ["", ".", "1,5", "1_000", "٣", "nan", "inf", "1e99", "9" * 41, True, None, [1], 10**40,
     float("nan"), float("inf"), Decimal("NaN"), Decimal("1e31"), "1 000", "0x10"],
)  # fmt: skip
def test_decimal_is_not_read_from_anything_else(value):
    assert read_decimal(value) is None


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=6))
def test_decimal_is_the_same_as_json_number_text_and_decimal(number):
    as_json = json.loads(format(number, "f"), parse_float=Decimal, parse_int=Decimal)
    assert (
        read_decimal(format(number, "f")) == read_decimal(number) == read_decimal(as_json) == number
    )
