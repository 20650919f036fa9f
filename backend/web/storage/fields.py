"""Fields that the forms of the storage page share; sizes and speeds are decimal."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms

from backend.domain import texts
from backend.domain.storage import PRESETS
from backend.web.shared import figures, number_fields
from backend.web.shared.language import lazy

MB = 10**6
TB = 10**12
# Far above any link; without a bound a typed exponent would overflow what is calculated from it.
MOST_MB_PER_S = 10**9
# In place of Django's “Ensure this value is …”, as which no other refusal here begins.
BOUNDS = {
    "min_value": "%(limit_value)s or more is needed.",
    "max_value": "%(limit_value)s is the most.",
}
Given = Mapping[str, Sequence[str]]


def first(given: Given, names: Sequence[str]) -> dict[str, str]:
    """The first value of each name that has one."""
    return {name: given[name][0] for name in names if given.get(name)}


def number(
    label: str,
    low: Decimal | int,
    high: int,
    help_text: str = "",
    *,
    units: number_fields.Units = {},  # noqa: B006  (never changed)
    **attributes: str,
) -> Any:
    """A decimal that may be left out."""
    return number_fields.DecimalField(
        label=label,
        required=False,
        units=units,
        min_value=low,
        max_value=high,
        error_messages=BOUNDS,
        help_text=help_text,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", **attributes}),
    )


def whole(label: str, low: int, high: int, help_text: str = "", **attributes: str) -> Any:
    """A whole number that may be left out."""
    return number_fields.IntegerField(
        label=label,
        required=False,
        min_value=low,
        max_value=high,
        error_messages=BOUNDS,
        help_text=help_text,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off", **attributes}),
    )


def speeds(kind: str, own: str) -> list[tuple[str, str]]:
    """Choices of the presets of a kind, after the one to state a speed of one's own."""
    return [
        ("", own),
        *(
            (
                key,
                # The choices of a class are made once for all readers.
                lazy(
                    "{speed} MB/s: {label}",
                    speed=texts.number(figures.quantity(preset.bytes_per_s / MB)),
                    label=preset.label,
                ),
            )
            for key, preset in PRESETS.items()
            if preset.kind == kind
        ),
    ]
