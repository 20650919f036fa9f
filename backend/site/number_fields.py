"""Fields of numbers: read and written by the page's language, with units where people type them."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from backend.catalog.calc.tables.table_figures import AmbiguousNumber, decimal_mark, parse_number
from backend.foundation.decimals import read_decimal
from backend.site import figures
from backend.site.language import _, language

Units = Mapping[str, Decimal]


class AmbiguousTyped(ValueError):
    """Digits that can mean two numbers on this page."""


_BINARY = {"mib": Decimal(2) ** 20, "gib": Decimal(2) ** 30, "tib": Decimal(2) ** 40}
_DECIMAL = {"mb": Decimal(10) ** 6, "gb": Decimal(10) ** 9, "tb": Decimal(10) ** 12}
# Memory is sold in binary sizes under decimal names: 256 GB of it are 256 GiB.
MEMORY_GIB: Units = {
    name: factor / 2**30
    for name, factor in (*_BINARY.items(), *zip(_DECIMAL, _BINARY.values(), strict=True))
}
DISK_GB: Units = {name: factor / 10**9 for name, factor in (*_BINARY.items(), *_DECIMAL.items())}
DISK_TB: Units = {name: factor / 1000 for name, factor in DISK_GB.items()}
RATE_MB_PER_S: Units = {
    "mb/s": Decimal(1),
    "gb/s": Decimal(1000),
    "mib/s": _BINARY["mib"] / 10**6,
    "gib/s": _BINARY["gib"] / 10**6,
    "mbit/s": Decimal("0.125"),
    "gbit/s": Decimal(125),
}
RATIO: Units = {"%": Decimal("0.01")}
PERCENT: Units = {"%": Decimal(1)}
WATTS: Units = {"w": Decimal(1), "kw": Decimal(1000)}
_TYPED = re.compile(r"(.*[0-9.,])\s*([^0-9.,\s]\S*)?")
_ATTRIBUTES = {"inputmode": "decimal", "autocomplete": "off"}


def read_typed(text: str, units: Units = {}) -> Decimal:  # noqa: B006  (never changed)
    """The number that somebody typed. ValueError says, in the page's language, what to type."""
    match = _TYPED.fullmatch(text.strip())
    digits, unit = match.groups("") if match else (text, "")
    if unit and unit.lower() not in units:
        known = ", ".join(units)
        raise ValueError(
            _("{text} has the unit {unit}; known here: {known}.", text=text, unit=unit, known=known)
            if units
            else _("{text} is not a number. Type digits alone.", text=text)
        )
    try:
        number = parse_number(digits, language())
    except AmbiguousNumber:
        whole, part = digits.replace(".", ""), digits.replace(".", ",").rstrip("0")
        raise AmbiguousTyped(
            _(
                "{text} can mean {whole} or {part}. Type one of these.",
                text=digits,
                whole=whole,
                part=f"{part}0" if part.endswith(",") else part,
            )
        ) from None
    except ValueError:
        raise ValueError(_("{text} is not a number.", text=text)) from None
    return number * units.get(unit.lower(), Decimal(1)) if unit else number


def document_number(text: str, units: Units = {}) -> str:  # noqa: B006  (never changed)
    """A typed number as the decimal string of a document; what cannot be read stays text, or says
    what it can mean, so that the document's reader refuses it beside its field."""
    try:
        return format(read_typed(text, units), "f")
    except AmbiguousTyped as error:
        return str(error)
    except ValueError:
        return text


def number_text(value: Any) -> Any:
    """A number as its field shows it, so that it is read back as the same."""
    number = read_decimal(value)
    if number is None:
        return value
    return figures.plain(number).replace(".", decimal_mark(language()))


class _Typed:
    """The base of the number fields."""

    def __init__(self, *, units: Units = {}, widget: Any = None, **given: Any) -> None:  # noqa: B006
        self.units = units
        given["widget"] = widget or forms.TextInput(attrs=_ATTRIBUTES)
        super().__init__(**given)

    def to_python(self, value: Any) -> Any:
        """The number typed, as Django's own field takes it."""
        if isinstance(value, str) and value.strip():
            try:
                value = format(read_typed(value, self.units), "f")
            except ValueError as error:
                raise ValidationError(str(error), code="invalid") from None
        return super().to_python(value)  # type: ignore[misc]

    def prepare_value(self, value: Any) -> Any:
        """A number in the page's language; what was typed stays as it is."""
        return value if isinstance(value, str) else number_text(value)


class DecimalField(_Typed, forms.DecimalField):
    """A decimal."""


class FloatField(_Typed, forms.FloatField):
    """A number that is calculated with in floating point."""


class IntegerField(_Typed, forms.IntegerField):
    """A whole number."""
