"""Reading of the JSON that price interfaces answer: strict in shape, exact in numbers."""

import datetime as dt
import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NoReturn

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import LARGEST_AMOUNT, NoPrice, Skipped, SkipReason

MAX_SHOWN = 100
NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")
CURRENCY = re.compile(r"[A-Z]{3}")
# What the interfaces write where they have no value.
MISSING = {"", "NA", "N/A"}


def shown(value: object) -> str:
    """A foreign value fit to be stored and shown: printable, and not long."""
    return _printable(str(value)[:MAX_SHOWN]).strip()


def _printable(text: str) -> str:
    # No database column takes a NUL, and no page other control characters.
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def skip_row(why: NoPrice, *, provider: str, raw_id: str, **known: str) -> Skipped:
    """The row that is no price; `known` is what it says of offer, region and purchase model."""
    detail = shown(why.detail)
    return Skipped(reason=why.reason, provider=provider, raw_id=raw_id, detail=detail, **known)


def decoder() -> json.JSONDecoder:
    """A reader of JSON whose fractions are Decimals and that knows no infinity."""
    return json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def document(text: str, *, where: str) -> Any:
    """The JSON value that is the whole text. Raises InvalidValue, naming `where` and the line."""
    try:
        return decoder().decode(text)
    except json.JSONDecodeError as error:
        raise InvalidValue(f"{where} line {error.lineno}", f"not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidValue(where, f"not JSON that can be read: {shown(error)}") from error


def mapping(value: object, *, where: str) -> dict[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise InvalidValue(where, "is missing, or no object")
    return value


def objects(value: object, *, where: str) -> list[dict[str, Any]]:
    """The value, which must be a list of objects."""
    if not isinstance(value, list):
        raise InvalidValue(where, "is missing, or no list")
    return [mapping(item, where=f"{where}[{index}]") for index, item in enumerate(value)]


def items(pages: Iterable[str], key: str) -> Iterator[dict[str, Any]]:
    """The objects in the list under the key of each page, which is the JSON text of an object."""
    for number, page in enumerate(pages, start=1):
        where = f"page {number}"
        answer = mapping(document(page, where=where), where=where)
        yield from objects(answer.get(key), where=f"{where} {key}")


def inner(item: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under the key; an empty one where there is none."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def values(item: dict[str, Any], key: str) -> list[Any]:
    """The list under the key; an empty one where there is none."""
    value = item.get(key)
    return value if isinstance(value, list) else []


def inner_objects(item: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of the list under the key; what else it holds is left out."""
    return [entry for entry in values(item, key) if isinstance(entry, dict)]


def word(item: dict[str, Any], key: str) -> str:
    """The text or whole number under the key, printable; "" where there is none."""
    value = item.get(key)
    if isinstance(value, str):
        return _printable(value.strip())
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def words(item: dict[str, Any], key: str) -> list[str]:
    """The texts of a list under the key, without those that are none."""
    return [text for text in values(item, key) if isinstance(text, str)]


def number(value: object) -> Decimal | None:
    """The number as written, zero and negative ones too; None where there is none.

    Raises InvalidValue for a float: it would carry its binary error into every sum.
    """
    if isinstance(value, float):
        raise InvalidValue("amount", f"{value!r} is a float")
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    text = str(value).strip()
    return Decimal(text) if NUMBER.fullmatch(text) else None


def amount(value: object) -> Decimal:
    """The price as written. Raises NoPrice; zero is none: nobody gives machines away."""
    figure = number(value)
    if figure is None:
        is_missing = value is None or (isinstance(value, str) and value.strip() in MISSING)
        raise NoPrice(SkipReason.NO_PRICE if is_missing else SkipReason.NOT_A_NUMBER, value)
    if figure <= 0:
        raise NoPrice(SkipReason.NEGATIVE if figure else SkipReason.ZERO, value)
    if figure >= LARGEST_AMOUNT:
        raise NoPrice(SkipReason.TOO_LARGE, value)
    return figure


def above_zero(value: object) -> Decimal | None:
    """The number as written; None where it is missing, no number or not above zero."""
    figure = number(value)
    return figure if figure is not None and figure > 0 else None


def size(value: object, unit_bytes: int) -> int | None:
    """A size in units of so many bytes as whole bytes; None where it is missing or zero."""
    figure = above_zero(value)
    return None if figure is None else int(figure * unit_bytes)


def currency(value: object) -> str:
    """The three-letter code. Raises NoPrice: no currency is taken for granted."""
    if not isinstance(value, str) or not CURRENCY.fullmatch(value):
        raise NoPrice(SkipReason.NO_CURRENCY, value)
    return value


def last_day(value: object) -> dt.date | None:
    """The last day before the end that an ISO 8601 text states; None where there is none."""
    end = day(value)
    # A midnight is the end of the day before.
    is_midnight = str(value)[11:19] == "00:00:00"
    return end - dt.timedelta(days=1) if end is not None and is_midnight else end


def day(value: object) -> dt.date | None:
    """The date at the beginning of an ISO 8601 text; None where there is none."""
    try:
        return dt.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
