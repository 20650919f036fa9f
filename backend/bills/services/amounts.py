"""Columns of text as amounts of money."""

import json
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from backend.catalog.calc.tables.table_headers import SIGNS
from backend.foundation.errors import InvalidValue

MONEY = pa.decimal128(37, 15)  # one digit is left for sums
MONEY_DIGITS = 15
SMALLEST = Decimal(1).scaleb(-MONEY_DIGITS)
# Type of Google's credits that are given and end; all others make a price lower.
PROMOTION = "PROMOTION"
PLAIN_NUMBER = rf"^-?\d{{1,20}}(\.\d{{0,{MONEY_DIGITS}}})?$"
LONG_NUMBER = rf"^(-?\d{{1,20}}\.\d{{{MONEY_DIGITS}}})\d+$"


def money(column: pa.Array) -> pa.Array:
    """Decimals of texts; null where a text is no number. Beyond 15 places they are cut off."""
    column = pc.replace_substring_regex(column, LONG_NUMBER, r"\1")
    is_plain = pc.match_substring_regex(column, PLAIN_NUMBER)
    plain = pc.if_else(is_plain, column, None)
    values = pc.cast(plain, MONEY)
    if pc.all(is_plain).as_py():
        return values
    # Few are written with an exponent or without a digit before the point.
    others = pc.if_else(is_plain, None, column)
    read = [None if text is None else _exact(text) for text in others.to_pylist()]
    return pc.coalesce(values, pa.array(read, MONEY))


def currency_codes(column: pa.Array) -> pa.Array:
    """Codes of currencies of words in any case and of signs; InvalidValue for one of several."""
    encoded = pc.dictionary_encode(column)
    codes = [SIGNS.get(text.lower(), text.upper()) for text in encoded.dictionary.to_pylist()]
    if "$" in codes:
        raise InvalidValue(
            "/currency", "$ may be one of several currencies: write its code, such as USD"
        )
    return pa.array(codes, pa.string()).take(encoded.indices)


def credit_amounts(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Sums of credits that lower a price, and of promotions; null for what is no credit.

    A credit is an amount, or a list of objects with one.
    """
    encoded = pc.dictionary_encode(column)
    sums = [_credit(text) for text in encoded.dictionary.to_pylist()]
    parts = [
        pa.array([column[at] for column in sums], MONEY).take(encoded.indices) for at in (0, 1)
    ]
    return parts[0], parts[1]


def _credit(text: str) -> tuple[Decimal | None, Decimal | None]:
    if not text.startswith("["):
        return _exact(text or "0"), Decimal(0)
    sums = [Decimal(0), Decimal(0)]
    try:
        for credit in json.loads(text, parse_float=Decimal):
            sums[credit.get("type") == PROMOTION] += Decimal(credit.get("amount") or 0)
    except (ValueError, AttributeError, TypeError, ArithmeticError, RecursionError):
        return None, None
    return _exact(str(sums[0])), _exact(str(sums[1]))


def _exact(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
        return value.quantize(SMALLEST) if value.is_finite() else None
    except InvalidOperation:
        return None
