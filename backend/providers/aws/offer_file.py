"""The AWS bulk offer files, JSON and CSV: gigabytes, read as a stream.

Only the right row of each type is kept in memory (a few thousand), whatever the file holds.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import Result, Skipped, SkipReason, answers
from backend.money.price_lists.json_stream import Scanner, Stream
from backend.providers.aws.prices import (
    PROVIDER,
    PURCHASE_MODELS,
    Product,
    Rate,
    choose_json_product,
    choose_product,
    plain,
    priced,
    term_rates,
)

if TYPE_CHECKING:
    import _csv

FILE = "offer file"
# Five lines stand before the header today; a gigabyte that is no such file is not searched for one.
MOST_PREFACE_ROWS = 20
NEEDED = ("sku", "termtype", "offertermcode", "ratecode", "unit", "priceperunit", "currency")


def parse(pieces: Iterator[str]) -> Iterator[Result]:
    """Prices of an offer file in either form, from pieces of its text. Raises InvalidValue."""
    first = next(pieces, "")
    text = chain((first,), pieces)
    if first.lstrip().startswith("{"):
        return from_json(text)
    return from_csv(_lines(text))


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    """Lines with their ends, as the csv module reads them."""
    rest = ""
    for piece in pieces:
        # Not splitlines: it also cuts at characters that may stand within a quoted field.
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield f"{line}\n"
    if rest:
        yield rest


def from_json(stream: Stream) -> Iterator[Result]:
    """Prices of a region's offer file as JSON, from a file or from pieces of its text.

    Raises InvalidValue, naming the character, for text that is no such file or ends too early.
    """
    scanner = Scanner(stream, where=FILE)
    products: dict[str, Product] | None = None
    rates: list[Rate] = []
    for key in scanner.members():
        if key == "products":
            products = {}
            yield from _products(scanner, products)
        elif key == "terms":
            if products is None:
                # Terms are kept for chosen products only. The other order would mean to hold all of them,
                # gigabytes.
                raise InvalidValue(f"{FILE} terms", "stand before the products")
            yield from _terms(scanner, products, rates)
        else:
            scanner.skip()
    if products is None:
        raise InvalidValue(f"{FILE} products", "is missing")
    yield from priced(products, rates)


def _products(scanner: Scanner, products: dict[str, Product]) -> Iterator[Skipped]:
    for sku in scanner.members():
        product = choose_json_product(sku, answers.mapping(scanner.value(), where=f"{FILE} {sku}"))
        if isinstance(product, Skipped):
            yield product
        else:
            products[sku] = product


def _terms(scanner: Scanner, products: dict[str, Product], rates: list[Rate]) -> Iterator[Skipped]:
    for model in scanner.members():
        if model not in PURCHASE_MODELS:
            scanner.skip()
            continue
        for sku in scanner.members():
            terms = answers.mapping(scanner.value(), where=f"{FILE} {model}.{sku}")
            for rate in term_rates(sku, model, terms) if sku in products else ():
                if isinstance(rate, Skipped):
                    yield rate
                else:
                    rates.append(rate)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where each column stands; names are plain ones."""

    indexes: dict[str, int]
    width: int

    def read(self, row: list[str]) -> dict[str, str]:
        return {name: row[index].strip() for name, index in self.indexes.items()}


def from_csv(lines: Iterable[str]) -> Iterator[Result]:
    """Prices of an offer file as CSV, from its lines (an open file with newline="").

    Raises InvalidValue, naming the line, for text that is no such file.
    """
    rows = csv.reader(lines, strict=True)
    products: dict[str, Product] = {}
    rates: list[Rate] = []
    try:
        columns = _columns(rows)
        for row in rows:
            if not row:
                continue
            # One damaged line costs one price, not the file.
            if len(row) != columns.width:
                detail = f"line {rows.line_num} has {len(row)} of {columns.width} columns"
                yield _unreadable(row[0], detail)
                continue
            values = columns.read(row)
            product = _choose_row(values, products)
            if isinstance(product, Skipped):
                yield product
            elif values["termtype"] in PURCHASE_MODELS:
                products[product.sku] = product
                # Not priced yet: a term may be several lines, which need not follow each other.
                rates.append(_rate(values))
    except csv.Error as error:
        raise InvalidValue(f"{FILE} line {rows.line_num}", str(error)) from error
    yield from priced(products, rates)


def _unreadable(sku: str, detail: str) -> Skipped:
    return Skipped(
        reason=SkipReason.UNEXPECTED_SHAPE,
        provider=PROVIDER,
        raw_id=answers.shown(sku),
        detail=detail,
    )


def _columns(rows: "_csv.Reader") -> _Columns:
    """The header, which stands behind a preface of a few lines."""
    for row in rows:
        names = [plain(name) for name in row]
        if names[:1] == ["sku"]:
            missing = [name for name in NEEDED if name not in names]
            if missing:
                break
            return _Columns({name: index for index, name in enumerate(names)}, len(names))
        if rows.line_num > MOST_PREFACE_ROWS:
            break
    raise InvalidValue(
        f"{FILE} line {rows.line_num}", "no header with the columns of an offer file"
    )


def _choose_row(values: dict[str, str], products: dict[str, Product]) -> Product | Skipped:
    # Every row of a SKU repeats its attributes.
    product = products.get(values["sku"])
    return product or choose_product(values["sku"], values.get("productfamily", ""), values)


def _rate(values: dict[str, str]) -> Rate:
    return Rate(
        sku=values["sku"],
        model=values["termtype"],
        term_code=values["offertermcode"],
        rate_code=values["ratecode"],
        unit=values["unit"],
        amount=values["priceperunit"],
        currency=values["currency"],
        lease=values.get("leasecontractlength", ""),
        option=values.get("purchaseoption", ""),
        offering_class=values.get("offeringclass", ""),
        effective=values.get("effectivedate", ""),
    )
