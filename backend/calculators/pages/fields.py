"""Fields of the calculators' forms: each states a field of a document, in a unit that people type."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms

from backend.calculators.calc.presets import PRESETS
from backend.foundation import texts
from backend.foundation.documents.model import Document, every_field
from backend.foundation.documents.values import Number
from backend.site import figures, number_fields
from backend.site.forms import WriteForm
from backend.site.language import lazy

MB = 10**6
TB = 10**12
PERCENT = Decimal("0.01")
# Far above any disk or link; without a bound a typed exponent would overflow what is calculated from it.
MOST_TYPED = 10**9
# In place of Django's “Ensure this value is …”, as which no other refusal here begins.
BOUNDS = {
    "min_value": "%(limit_value)s or more is needed.",
    "max_value": "%(limit_value)s is the most.",
}
Given = Mapping[str, Sequence[str]]


class CalculatorForm(WriteForm):
    """A GET form of a document; what is left empty keeps the document's default."""

    def __init__(self, data: Mapping[str, str] | None) -> None:
        super().__init__(data)
        self.stating: dict[str, Any] = {
            name: field for name, field in self.fields.items() if hasattr(field, "pointer")
        }
        self.pointers = {field.pointer: name for name, field in self.stating.items()}

    def document(self) -> dict[str, Any]:
        """The document as far as it is typed."""
        document: dict[str, Any] = {}
        for name, field in self.stating.items():
            value = self.cleaned_data[name]
            if value not in (None, ""):
                *above, last = field.pointer.split("/")[1:]
                part = document
                for key in above:
                    part = part.setdefault(key, {})
                part[last] = field.convert(value)
        return document


def first(given: Given, names: Iterable[str]) -> dict[str, str]:
    """The first value of each name that has one."""
    return {name: given[name][0] for name in names if given.get(name)}


def states(pointer: str, field: Any, convert: Callable[[Any], Any] = str) -> Any:
    """The form's field, which states that of the document; `convert` into the document's unit."""
    field.pointer, field.convert = pointer, convert
    return field


def choice(
    pointer: str,
    label: str,
    choices: Iterable[tuple[str, str]],
    help_text: str = "",
    convert: Callable[[Any], Any] = str,
) -> Any:
    """A choice that may be left out."""
    field = forms.ChoiceField(
        label=label, required=False, choices=list(choices), help_text=help_text
    )
    return states(pointer, field, convert)


def number(
    model: type[Document],
    pointer: str,
    label: str,
    help_text: str = "",
    *,
    unit: Decimal | int = 1,
    **attributes: Any,
) -> Any:
    """A number that may be left out, within the range that the document gives it."""
    described = dict(every_field(model))[pointer]
    value: Any = described.value

    def typed(stated: str | int) -> Decimal:
        # Without an exponent, as people write it.
        return Decimal(format(Decimal(stated) / unit, "f"))

    if described.default is not None:
        attributes["placeholder"] = str(typed(described.default))
    is_whole = not isinstance(value, Number)
    field = typed_number(
        label,
        help_text,
        low=typed(value.low),
        high=MOST_TYPED if value.high is None else typed(value.high),
        kind=number_fields.IntegerField if is_whole and unit == 1 else number_fields.DecimalField,
        **attributes,
    )
    return states(pointer, field, lambda amount: int(amount * unit) if is_whole else amount * unit)


def typed_number(
    label: str,
    help_text: str,
    *,
    low: Decimal | int = 0,
    high: Decimal | int = MOST_TYPED,
    kind: Any = number_fields.DecimalField,
    units: number_fields.Units = {},  # noqa: B006  (never changed)
    **attributes: str,
) -> Any:
    """A number that may be left out."""
    inputmode = "numeric" if kind is number_fields.IntegerField else "decimal"
    return kind(
        label=label,
        required=False,
        units=units,
        min_value=low,
        max_value=high,
        error_messages=BOUNDS,
        help_text=help_text,
        widget=forms.TextInput(attrs={"inputmode": inputmode, "autocomplete": "off", **attributes}),
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
