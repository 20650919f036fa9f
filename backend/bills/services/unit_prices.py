"""Amounts of a plain table: of one unit, or of the whole line."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from backend.bills.calc.unit_prices import PriceIs
from backend.bills.services.amounts import MONEY, SMALLEST
from backend.catalog.calc.tables.table_headers import is_total


def priced(columns: Mapping[str, pa.Array], price_is: PriceIs) -> tuple[dict[str, pa.Array], bool]:
    """The same columns with `billed` as the total of each line and both readings of it, and whether
    its amounts are of one unit.

    A column `price` is of one unit and `cost` of the line, unless `price_is` says otherwise. The unit
    is a machine where the table counts machines, else an hour.
    """
    is_price = "unit_price" in columns and columns["billed"].equals(columns["unit_price"])
    texts = columns["billed"].to_pylist()
    counts = columns.get("count", columns.get("quantity"))
    units = ["1"] * len(texts) if counts is None else counts.to_pylist()
    of_line = [_number(text) for text in texts]
    of_unit = [
        None if amount is None else _product(amount, _number(unit))
        for amount, unit in zip(of_line, units, strict=True)
    ]
    is_of_unit = price_is is PriceIs.UNIT or (price_is is PriceIs.UNKNOWN and is_price)
    billed = of_unit if is_of_unit else of_line
    return {
        **columns,
        # What is no number stays as it is, so that its line is named with it.
        "billed": pa.array(
            [
                text if amount is None else f"{amount:f}"
                for text, amount in zip(texts, billed, strict=True)
            ],
            pa.string(),
        ),
        "of_unit": pa.array(of_unit, MONEY),
        "of_line": pa.array(of_line, MONEY),
    }, is_of_unit


def sum_lines(names: pa.Array, amounts: pa.Array) -> list[bool]:
    """True for lines that sum others: by their name, or without one by the amount of all that have one."""
    lines = [
        (name, is_total([name]), _number(amount))
        for name, amount in zip(names.to_pylist(), amounts.to_pylist(), strict=True)
    ]
    whole = sum(amount or 0 for name, is_named, amount in lines if name and not is_named)
    return [
        is_named or (not name and bool(amount) and amount == whole)
        for name, is_named, amount in lines
    ]


def _number(text: str) -> Decimal | None:
    try:
        value = Decimal(text).quantize(SMALLEST)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def _product(amount: Decimal, units: Decimal | None) -> Decimal:
    """The amount itself where the units are none, or more than there can be."""
    try:
        return amount if units is None else (amount * units).quantize(SMALLEST)
    except InvalidOperation:
        return amount
