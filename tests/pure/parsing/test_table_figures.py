"""Numbers as readers of a language type them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.catalog.calc.tables.table_figures import AmbiguousNumber, parse_number


@pytest.mark.parametrize(
    ("text", "language", "number"),
    [
        (" 12 ", "de", "12"),
        ("1.234,56", "de", "1234.56"),
        ("1,234.56", "de", "1234.56"),
        # Keyboards have a point, also where the language writes a comma.
        ("1.5", "de", "1.5"),
        ("1,000", "de", "1"),
        ("1,000", "en", "1000"),
        ("1.000", "en", "1"),
        ("1.000", "de-ch", "1"),
        ("1.000.000", "de", "1000000"),
        (".5", "de", "0.5"),
        (",5", "en", "0.5"),
        ("-.25", "en", "-0.25"),
        ("+,25", "de", "0.25"),
    ],
)
def test_number_is_read_as_it_is_typed(text, language, number):
    assert parse_number(text, language) == Decimal(number)


@pytest.mark.parametrize(("text", "language"), [("1.000", "de"), ("1.000", "es"), ("1,000", "")])
def test_number_that_may_be_a_thousand_or_one_is_ambiguous(text, language):
    with pytest.raises(AmbiguousNumber, match=r"may be 1000 or 1\.000"):
        parse_number(text, language)


@pytest.mark.parametrize("text", ["", "x", ".", "1..5", "12,34,56", "1" * 41])
def test_text_that_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="is not a decimal number"):
        parse_number(text, "en")


@given(st.decimals("0", "999", places=2), st.sampled_from(("de", "en")))
def test_two_decimals_are_read_with_either_mark(number, language):
    for mark in ".,":
        assert parse_number(str(number).replace(".", mark), language) == number
