"""Numbers that people type, by the language of the page."""

from contextvars import copy_context
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from backend.site.language import _language
from backend.site.number_fields import (
    DISK_GB,
    MEMORY_GIB,
    DecimalField,
    number_text,
    read_typed,
)
from backend.site.typed_parameters import read_number, read_numbers


def in_language(code, function, *given):
    reader = copy_context()
    reader.run(_language.set, code)
    return reader.run(function, *given)


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [
        ("en", "1,249.90", "1249.90"),
        ("en", "1,000", "1000"),
        ("en", "1.000", "1"),
        ("de", "5.500,00", "5500"),
        ("de", "32,5", "32.5"),
        ("de", "32.5", "32.5"),
        ("de", ",5", "0.5"),
        ("es", "0,24", "0.24"),
        ("es", "1.000.000", "1000000"),
    ],
)
def test_number_is_read_by_the_language_of_the_page(language, text, number):
    assert in_language(language, read_typed, text) == Decimal(number)


@pytest.mark.parametrize("language", ["de", "es"])
def test_number_that_can_mean_two_is_asked_back_with_both_readings(language):
    with pytest.raises(ValueError, match=r"1\.000 .*1000 .*1,0"):
        in_language(language, read_typed, "1.000")
    with pytest.raises(ValidationError, match=r"1250 .*1,25"):
        in_language(language, DecimalField().clean, "1.250")


@pytest.mark.parametrize(
    ("text", "units", "number"),
    [
        ("256 GB", MEMORY_GIB, "256"),
        ("1 TB", MEMORY_GIB, "1024"),
        ("1 TB", DISK_GB, "1000"),
        ("1TiB", DISK_GB, "1099.511627776"),
    ],
)
def test_units_are_read(text, units, number):
    assert read_typed(text, units) == Decimal(number)


def test_parameters_of_an_address_keep_what_cannot_be_read():
    given = {"budget": ["1.000"], "ram": ["256 GB"], "q": ["1.000"]}
    read, errors = in_language("de", read_numbers, given)
    assert (read["budget"], read["ram"], read["q"]) == (["1.000"], ["256"], ["1.000"])
    assert [name for name, _ in errors] == ["budget"]


@pytest.mark.parametrize("language", ["en", "de", "es"])
@pytest.mark.parametrize("number", ["1.125", "0.05", "1234.5", "7"])
def test_what_a_field_or_address_shows_is_read_back_as_the_same(language, number):
    shown = in_language(language, number_text, Decimal(number))
    assert in_language(language, read_typed, shown) == Decimal(number)
    address = in_language(language, read_number, shown)
    assert in_language(language, read_number, address) == address
