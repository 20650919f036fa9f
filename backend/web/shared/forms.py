"""What the forms that write share: plain labels, and the services' refusals beside their fields."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator

from backend.domain.errors import InvalidValue


class WriteForm(forms.Form):
    """A form whose service judges the values; `pointers` says which field a JSON pointer means."""

    pointers: Mapping[str, str] = {}

    def __init__(self, data: Any = None, files: Any = None, **given: Any) -> None:
        super().__init__(data, files, auto_id="%s", label_suffix="", **given)

    def refuse(self, error: InvalidValue) -> None:
        """Puts a refusal beside the field that it names, else above the form."""
        name = error.field.removeprefix("/").split("/")
        candidates = [error.field, *("/".join(["", *name[:n]]) for n in range(len(name), 0, -1))]
        for pointer in candidates:
            field = self.pointers.get(pointer, pointer.removeprefix("/").replace("/", "_"))
            if field in self.fields:
                self.add_error(field, error.detail)
                return
        self.add_error(None, str(error).removeprefix("/"))


class Day(forms.DateField):
    """A day in a field that browsers know how to fill; the last of the calendar has no end."""

    widget = forms.DateInput(attrs={"type": "date"})

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        latest = dt.date.max - dt.timedelta(days=1)
        self.validators.append(MaxValueValidator(latest, "This day is too far ahead."))


class SecretText(forms.Textarea):
    """Lines of a secret: what was typed never comes back in the page."""

    def format_value(self, value: Any) -> None:
        return None


def text(label: str, *, required: bool = True, help_text: str = "", **attributes: Any) -> Any:
    """A line of text; `attributes` are those of the input element."""
    attributes.setdefault("autocomplete", "off")
    return forms.CharField(
        label=label,
        required=required,
        help_text=help_text,
        widget=forms.TextInput(attrs=attributes),
    )
