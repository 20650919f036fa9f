"""The form that a bill is sent with."""

from typing import Any

from django import forms

from backend.bills.services.bills import MOST_NAME
from backend.domain.bills.formats import FORMATS
from backend.web.shared.forms import WriteForm
from backend.web.shared.language import lazy


def _formats() -> list[tuple[str, Any]]:
    known = [(one.slug, one.name) for one in FORMATS.values()]
    return [("", lazy("recognised by its columns")), *known]


class BillForm(WriteForm):
    """A bill's file, and what it is to be called."""

    name = forms.CharField(
        label=lazy("Name"), max_length=MOST_NAME, required=False,
        help_text=lazy("That of the file if you leave it out."),
    )  # fmt: skip
    file = forms.FileField(
        label=lazy("File"),
        help_text=lazy("CSV, Parquet or JSON, also packed as gzip or ZIP."),
    )
    format = forms.ChoiceField(label=lazy("Format"), choices=_formats, required=False)
