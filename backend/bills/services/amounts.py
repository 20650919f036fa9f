"""Columns of text as amounts of money."""

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


def _exact(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
        return value.quantize(Decimal(1).scaleb(-MONEY_DIGITS)) if value.is_finite() else None
    except InvalidOperation:
        return None
