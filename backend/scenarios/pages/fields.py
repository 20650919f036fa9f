"""Fields of the editor: each is a field of the document, which says its label, help and choices."""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from django import forms

from backend.catalog.calc.hardware_document import HardwareDocument
from backend.catalog.selectors.price_choice import TERMS
from backend.foundation.documents.model import Described, Document
from backend.foundation.documents.values import (
    Flag,
    Number,
    Value,
    WholeNumber,
    WholeNumberOr,
    Word,
)
from backend.measure.metrics import METRICS
from backend.scenarios.calc.document_values import OwnHardware
from backend.scenarios.calc.price_document import BILLINGS
from backend.scenarios.pages.kinds import ValueKind, kind_of
from backend.site import figures, words
from backend.site.language import _, lazy

Choices = tuple[tuple[str, str], ...]

YES_NO: Choices = (("", lazy("yes")), ("false", lazy("no")))
# By the name of the field, where the document does not list them, or none may be chosen.
CHOICES: Mapping[str, Choices] = {
    "metric": (
        ("", lazy("as stated")),
        *((m.key, words.metric(m.key)) for m in METRICS.values() if m.is_higher_better),
    ),
    "term": (("", lazy("as set")), *((term, words.term(term)) for term in TERMS)),
    "billing": (("", lazy("as the offer")), *BILLINGS.items()),
}
# The amount that a template proposed: it says something of the amount alone.
EXAMPLE = "example"


class Condition(NamedTuple):
    """A choice, by the name of its field, and the values with which a field counts."""

    choice: str = ""
    values: tuple[str, ...] = ()


ALWAYS = Condition()


class DocumentField(forms.CharField):
    """A field of a document as text."""

    def __init__(self, field: Described, condition: Condition, *, is_repeated: bool) -> None:
        """`is_repeated` is true in a line of a list, where a table explains the fields of all."""
        self.kind = kind_of(field)
        self.when, self.values = condition.choice, " ".join(sorted(condition.values))
        choices = _choices(field)
        self.is_wide = self.kind.rows > 0
        self.is_long = field.name == "offer"
        # An empty line of a list has something chosen, too.
        self.says_something = not choices and field.name != EXAMPLE
        if isinstance(field.value, Flag):
            choices = YES_NO
        super().__init__(
            label=field.value.label,
            required=False,
            help_text=_help(field.value, self.kind, is_repeated=is_repeated),
            widget=forms.Select(choices=choices) if choices else _typed(field, self.kind),
        )


def inner_model(field: Described) -> type[Document] | None:
    """The document within a field, if it holds one."""
    return HardwareDocument if isinstance(field.value, OwnHardware) else field.model


def default_text(field: Described) -> str:
    """Value where nothing is typed."""
    return "" if field.default is None else str(field.default)


def bounds(value: Value) -> str:
    """`0 to 1`, `above 0`, or nothing where there is no bound."""
    if not isinstance(value, Number | WholeNumber):
        return ""
    is_above = isinstance(value, Number) and value.is_above
    low = figures.quantity(Decimal(value.low))
    if value.high is None or Decimal(value.high) >= figures.NO_BOUND:
        return _("above {low}", low=low) if is_above else _("from {low}", low=low)
    if not is_above:
        return figures.bounds(Decimal(value.low), Decimal(value.high))
    return _("above {low}, up to {high}", low=low, high=figures.quantity(Decimal(value.high)))


def _choices(field: Described) -> Choices:
    if field.name in CHOICES:
        return CHOICES[field.name]
    choices = field.value.choices if isinstance(field.value, Word) else ()
    return tuple(choices.items()) if isinstance(choices, Mapping) else ()


def _help(value: Value, kind: ValueKind, *, is_repeated: bool) -> str:
    """Meaning, format, unit, range and source."""
    said = [] if kind.is_explained or is_repeated else [value.meaning]
    said += [kind.format, value.unit]
    # The format of a number that may be a word says its range.
    said += [] if isinstance(value, WholeNumberOr) else [bounds(value)]
    text = "; ".join(map(str, filter(None, said)))
    return text if is_repeated else f"{text}. {value.source}".strip()


def _typed(field: Described, kind: ValueKind) -> forms.Widget:
    placeholder = kind.placeholder or default_text(field)
    if field.name == "offer":
        placeholder = _("Search by type, provider or region")
    if kind.rows:
        return forms.Textarea(attrs={"rows": kind.rows, "placeholder": placeholder})
    more = {"placeholder": placeholder, "inputmode": kind.keyboard}
    return forms.TextInput(
        attrs={"autocomplete": "off", **{name: text for name, text in more.items() if text}}
    )
