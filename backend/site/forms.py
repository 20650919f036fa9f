"""Shared parts of forms that write: plain labels, and the services' refusals beside their fields."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib import messages
from django.core.validators import MaxValueValidator
from django.http import HttpRequest

from backend.foundation.errors import DomainError, InvalidDocument, InvalidValue
from backend.site.language import _, lazy


class WriteForm(forms.Form):
    """A form whose service judges the values; `pointers` says which field a JSON pointer means."""

    # Only where the name of the field is not that of the pointer with underscores.
    pointers: Mapping[str, str] = {}

    def __init__(self, data: Any = None, files: Any = None, **given: Any) -> None:
        super().__init__(data, files, auto_id="%s", label_suffix="", **given)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Puts a refusal of the services called within beside its field, and goes on after it."""
        try:
            yield
        except (InvalidValue, InvalidDocument) as error:
            for field, detail in error.errors:
                self.refuse(InvalidValue(field, detail))

    def refuse(self, error: InvalidValue) -> None:
        """Puts a refusal beside the field that it names, else above the form."""
        name = error.field.removeprefix("/").split("/")
        # Services name what is wrong as exactly as they can, such as one item of a list; the field
        # is that of the nearest pointer above it.
        candidates = [error.field, *("/".join(["", *name[:n]]) for n in range(len(name), 0, -1))]
        for pointer in candidates:
            field = self.pointers.get(pointer, pointer.removeprefix("/").replace("/", "_"))
            if field in self.fields:
                self.add_error(field, error.detail)
                return
        # A refusal that belongs to no field must not vanish.
        self.add_error(None, str(error).removeprefix("/"))


@contextmanager
def refusals_said(request: HttpRequest) -> Iterator[None]:
    """Says on the next page why the services called within refused; for buttons without a form."""
    try:
        yield
    except DomainError as error:
        refusal_said(request, error)


def refusal_said(request: HttpRequest, error: DomainError) -> None:
    """Says on the next page why a service refused."""
    detail = error.detail if isinstance(error, InvalidValue) else error
    messages.error(request, _("Not done: {detail}.", detail=detail))


class Day(forms.DateField):
    """A day in a field that browsers know how to fill; the last of the calendar has no end."""

    widget = forms.DateInput(attrs={"type": "date"})

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        # A day is filtered by the midnight after it, which has to exist, too.
        latest = dt.date.max - dt.timedelta(days=1)
        self.validators.append(MaxValueValidator(latest, lazy("This day is too far ahead.")))


class SecretText(forms.Textarea):
    """Lines of a secret: what was typed never comes back in the page."""

    # Django would write the secret back into the page beside the error.
    def format_value(self, value: Any) -> None:
        return None


def with_chosen(choices: Sequence[tuple[str, str]], chosen: str) -> list[tuple[str, str]]:
    """The choices of a select, and the value in force even when it is none of them."""
    # Without it a browser would show the first choice as if that were in force.
    others = [] if not chosen or chosen in dict(choices) else [(chosen, chosen)]
    return [*choices, *others]


def currency(*, required: bool = False, initial: str | None = "USD") -> forms.RegexField:
    """A code of three letters; the forms give it to the services in capitals."""
    return forms.RegexField(
        # \Z, since $ would let a line feed through.
        r"^[A-Za-z]{3}\Z",
        label=lazy("Currency"),
        initial=initial,
        required=required,
        widget=forms.TextInput(attrs={"maxlength": 3, "autocomplete": "off"}),
    )


def amount_typed(data: Mapping[str, Any], prefix: str) -> dict[str, Any] | None:
    """An amount and its currency as documents state them; None where no amount was typed."""
    amount = data[f"{prefix}_amount"]
    # Capitals, as exchange rates are looked up by them.
    currency = (data[f"{prefix}_currency"] or "USD").upper()
    return None if amount is None else {"amount": amount, "currency": currency}


def text(label: str, *, required: bool = True, help_text: str = "", **attributes: Any) -> Any:
    """A line of text; `attributes` are those of the input element."""
    # What a browser remembers of fields with the same name would hide our own suggestions.
    attributes.setdefault("autocomplete", "off")
    return forms.CharField(
        label=label,
        required=required,
        help_text=help_text,
        widget=forms.TextInput(attrs=attributes),
    )
