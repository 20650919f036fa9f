"""The document of own hardware as it goes over the wire (schema 1), read strictly.

Amounts and ratios are decimal strings, or JSON numbers that were read as Decimal; counts are whole
numbers. An assumption that is left out, or null, is taken from ASSUMPTIONS.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from decimal import Decimal
from typing import Any

from backend.domain.errors import InvalidDocument
from backend.domain.hardware import Hardware, HardwareCost, Item, faults
from backend.domain.parsing.texts import why_not_kept
from backend.domain.pricing.quoted import MOST_DECIMALS

REQUIRED = ("name", "currency", "servers", "items")
FIELDS = tuple(field.name for field in fields(Hardware))
ITEM_FIELDS = tuple(field.name for field in fields(Item))
WHOLE = frozenset({"servers", "life_months", "count"})
TEXTS: Mapping[str, int] = {"name": 100, "currency": 3}
"""Fields of text, and the most characters of each."""

_MOST_DIGITS = 40
_SHOWN = 40
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")

Document = Mapping[str, object]


def hardware_from(document: object) -> Hardware:
    """The hardware that a document describes.

    Raises InvalidDocument with every field that is unknown, missing, of another type or outside
    its range.
    """
    if not isinstance(document, Mapping):
        raise InvalidDocument([("", "an object is needed")])
    reader = _Reader()
    found = reader.fields("", document, FIELDS, REQUIRED)
    items = found.pop("items", ())
    hardware = Hardware(**_STAND_IN | found | {"items": reader.items(items)})
    read = set(reader.errors)
    reader.errors |= {
        fault.field: fault.detail for fault in faults(hardware) if fault.field not in read
    }
    if reader.errors:
        raise InvalidDocument(sorted(reader.errors.items()))
    return hardware


def hardware_document(hardware: Hardware) -> dict[str, Any]:
    """The whole document, defaults included, that hardware_from reads back."""
    return {name: _plain(value) for name, value in asdict(hardware).items()}


def cost_document(cost: HardwareCost) -> dict[str, Any]:
    """The cost with amounts as decimal strings, not rounded."""
    return {name: _plain(value) for name, value in asdict(cost).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


# Stands for what could not be read, so that every other field is still held to its range.
_STAND_IN: dict[str, Any] = {"name": "?", "currency": "EUR", "servers": 1}
_ITEM_STAND_IN: dict[str, Any] = {"name": "?", "count": 1, "unit_price": Decimal(0)}


class _Reader:
    """Reads values by their names; `errors` holds what is wrong by JSON pointer."""

    def __init__(self) -> None:
        self.errors: dict[str, str] = {}

    def fields(
        self, place: str, document: object, known: tuple[str, ...], required: tuple[str, ...]
    ) -> dict[str, Any]:
        """The fields that can be read."""
        if not isinstance(document, Mapping):
            self.errors[place] = "an object is needed"
            return {}
        for name in document:
            if name not in known:
                self.errors[f"{place}/{_escaped(str(name))}"] = "unknown field"
        found: dict[str, Any] = {}
        for name in known:
            value = document.get(name)
            if value is None:
                if name in required:
                    self.errors[f"{place}/{name}"] = "a value is needed"
                continue
            read = value if name == "items" else self._value(f"{place}/{name}", name, value)
            if read is not None:
                found[name] = read
        return found

    def items(self, values: object) -> tuple[Item, ...]:
        if not isinstance(values, (list, tuple)):
            self.errors["/items"] = "a list is needed"
            return ()
        required = ("name", "count", "unit_price")
        return tuple(
            Item(**_ITEM_STAND_IN | self.fields(f"/items/{index}", value, ITEM_FIELDS, required))
            for index, value in enumerate(values)
        )

    def _value(self, place: str, name: str, value: object) -> Any:
        if name in TEXTS:
            return self._text(place, value, TEXTS[name])
        if name not in WHOLE:
            return self._decimal(place, value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.errors[place] = "a whole number is needed"
        return None

    def _text(self, place: str, value: object, most: int) -> str | None:
        wrong = why_not_kept(value) if isinstance(value, str) else "text is needed"
        if wrong is None and len(str(value)) <= most:
            return str(value).strip()
        self.errors[place] = wrong or f"at most {most} characters"
        return None

    def _decimal(self, place: str, value: object) -> Decimal | None:
        text = str(value)[:_SHOWN]
        is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
        is_text = isinstance(value, str) and len(value) <= _MOST_DIGITS
        if not is_number and not (is_text and _NUMBER.fullmatch(str(value))):
            self.errors[place] = f"{text!r} is not a decimal number"
            return None
        number = Decimal(value)  # type: ignore[arg-type]
        if not number.is_finite() or number.adjusted() > _MOST_DIGITS:
            self.errors[place] = f"{text!r} is not a decimal number"
            return None
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int) and -exponent > MOST_DECIMALS:
            self.errors[place] = f"{text} has more than {MOST_DECIMALS} decimals"
            return None
        return number


def _escaped(name: str) -> str:
    return name[:_SHOWN].replace("~", "~0").replace("/", "~1")
