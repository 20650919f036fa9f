"""Columns of text as amounts of money."""

import json
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

MONEY = pa.decimal128(37, 15)  # one digit is left for sums
MONEY_DIGITS = 15
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


def credit_amounts(column: pa.Array) -> pa.Array:
    """Sums of credits, which are amounts or lists of objects with one; 0 for none, null for neither."""
    encoded = pc.dictionary_encode(column)
    sums = [_credit(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(sums, MONEY).take(encoded.indices)


def _credit(text: str) -> Decimal | None:
    if not text.startswith("["):
        return _exact(text or "0")
    try:
        listed = json.loads(text, parse_float=Decimal)
        return _exact(str(sum(Decimal(one.get("amount") or 0) for one in listed)))
    except (ValueError, AttributeError, TypeError, ArithmeticError, RecursionError):
        return None


def _exact(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
        return value.quantize(Decimal(1).scaleb(-MONEY_DIGITS)) if value.is_finite() else None
    except InvalidOperation:
        return None
