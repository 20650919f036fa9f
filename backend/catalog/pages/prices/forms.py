"""Filters of the price list, a price entered by hand, and a table brought along."""

import base64
import binascii
import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.http import QueryDict

from backend.catalog.calc.tables.tables import Options
from backend.catalog.selectors.offers import providers
from backend.catalog.selectors.price_list import STATES, PriceFilter
from backend.catalog.services.prices import PriceInput
from backend.core import clock
from backend.foundation.texts import join_texts
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.money.pricing.quoted import ALL_MACHINES, NEW_MACHINES
from backend.providers.registry import PROVIDERS
from backend.site import number_fields, words
from backend.site.forms import Day, WriteForm, text
from backend.site.language import _, lazy

ANY = ("", lazy("any"))
CURRENT_OR_STALE = ("", lazy("current or stale"))
TABLES = (
    ("quotes", lazy("Quotes for dedicated servers")),
    ("offers", lazy("Your own offers")),
    ("prices", lazy("Prices as the list of prices is downloaded")),
)


LOCALES = tuple(
    (name, f"{name}: {figure}, {day}")
    for name, figure, day in (
        ("en-US", "1,234.56", "11/30/2026"),
        ("en-GB", "1,234.56", "30/11/2026"),
        ("de", "1.234,56", "30.11.2026"),
        ("de-CH", "1'234.56", "30.11.2026"),
        ("es", "1.234,56", "30/11/2026"),
        ("fr", "1 234,56", "30/11/2026"),
        ("it", "1.234,56", "30/11/2026"),
        ("nl", "1.234,56", "30-11-2026"),
        ("pl", "1 234,56", "30.11.2026"),
        ("pt", "1.234,56", "30/11/2026"),
    )
)
# Of a file of 1 MB in base64.
MOST_KEPT = 1_400_000


def text_to_keep(content: bytes | str) -> str:
    """A table for the hidden field of the next look; "" for one that no import would take."""
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    encoded = base64.b64encode(raw).decode()
    return encoded if len(encoded) <= MOST_KEPT else ""


class NarrowForm(forms.Form):
    """Which prices; all of it is in the address, and a field in error narrows nothing."""

    provider = forms.ChoiceField(label=lazy("Provider"), required=False)
    offer = text(lazy("Offer"), required=False, placeholder="m5.large")
    region = text(lazy("Region"), required=False, placeholder="us-east-1")
    purchase_model = forms.ChoiceField(
        label=lazy("Purchase model"),
        required=False,
        choices=[ANY, *((model, words.term(model)) for model in tuple(PurchaseModel))],
    )

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data, auto_id="%s", label_suffix="")
        known = providers().values_list("slug", "name")
        # Only providers that are there: a new one appears with its first list, without a new version.
        self.fields["provider"].choices = [ANY, *known]  # type: ignore[attr-defined]
        self.full_clean()

    def price_filter(self) -> PriceFilter:
        given = {name: value for name, value in self.cleaned_data.items() if value}
        names = ("provider", "offer", "region", "purchase_model", "state", "as_of")
        return PriceFilter(**{name: given[name] for name in names if name in given})


class PricesForm(NarrowForm):
    """Prices of one state, as known on a day."""

    state = forms.ChoiceField(
        label=lazy("State"),
        required=False,
        choices=[CURRENT_OR_STALE, *((state, words.price_state(state)) for state in STATES)],
    )
    as_of = Day(label=lazy("As known on"), required=False)


class ChangesForm(NarrowForm):
    """Prices at the ends of two days, side by side."""

    since = Day(label=lazy("From the end of"))
    until = Day(label=lazy("To the end of"))
    change = forms.ChoiceField(
        label=lazy("Change"),
        required=False,
        choices=[
            ANY,
            ("appeared", lazy("appeared")),
            ("vanished", lazy("no longer listed")),
            ("changed", lazy("changed")),
        ],
    )

    def __init__(self, data: Mapping[str, Any]) -> None:
        today = clock.now().date()
        days = {"since": today - dt.timedelta(days=30), "until": today}
        # Defaults go into the data and not into `initial`: the form is bound, and an empty address
        # means the last thirty days.
        super().__init__({**days, **{name: value for name, value in data.items() if value}})

    def clean(self) -> None:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and since >= until:
            self.add_error("since", _("{since} is not before {until}", since=since, until=until))

    @property
    def days(self) -> tuple[dt.date, dt.date] | None:
        """Both days; None where one of them is in error."""
        data = self.cleaned_data
        return (data["since"], data["until"]) if {"since", "until"} <= data.keys() else None

    def params(self, **names: str) -> dict[str, list[str]]:
        """The sound fields as parameters of an address; `names` calls some of them otherwise."""
        data = self.cleaned_data.items()
        return {names.get(name, name): [str(value)] for name, value in data if value}


class PriceForm(WriteForm):
    """A price that a person knows better than any list."""

    amount = number_fields.DecimalField(
        label=lazy("Amount"), min_value=Decimal(0), help_text="Net."
    )
    currency = text(lazy("Currency"), maxlength=3)
    unit = forms.ChoiceField(label=lazy("Per"), choices=[(name, name) for name in tuple(PriceUnit)])
    setup = number_fields.DecimalField(
        label=lazy("Set-up fee"),
        required=False,
        min_value=Decimal(0),
        help_text=lazy("Leave blank if none is known."),
    )
    valid_from = Day(
        label=lazy("First day"),
        required=False,
        help_text=lazy(
            "Leave blank for today. With a later day the price is announced and counts from then."
        ),
    )
    applies_to = forms.ChoiceField(
        label=lazy("Applies to"),
        required=False,
        choices=[
            (ALL_MACHINES, lazy("all machines")),
            (NEW_MACHINES, lazy("new orders only")),
        ],
    )
    reason = text(lazy("Reason"), help_text=lazy("Source or reason (shown with the price)."))

    def price(self) -> PriceInput:
        data = self.cleaned_data
        return PriceInput(
            data["amount"],
            data["currency"].upper(),
            data["unit"],
            data["setup"],
            valid_from=data["valid_from"],
            applies_to=data["applies_to"] or ALL_MACHINES,
        )


class FeedForm(WriteForm):
    """A list that is to be read by itself."""

    list = forms.ChoiceField(
        label=lazy("List"),
        choices=[
            (f"{slug}/{feed.kind}", join_texts(": ", (record.short_name, feed.meaning)))
            for slug, record in PROVIDERS.items()
            for feed in record.feeds
        ],
    )
    region = text(
        lazy("Region"), required=False, help_text=lazy("Where each region has its own list.")
    )

    pointers = {"/provider": "list", "/kind": "list"}


class TableForm(WriteForm):
    """A table of quotes or offers: a file or pasted cells, and what is said of it."""

    kind = forms.ChoiceField(label=lazy("What is in it"), choices=TABLES)
    file = forms.FileField(label=lazy("CSV or XLSX file"), required=False, allow_empty_file=True)
    pasted = forms.CharField(
        label=lazy("or pasted cells"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    kept = forms.CharField(required=False, widget=forms.HiddenInput)
    locale = forms.ChoiceField(
        label=lazy("Number and date format"),
        required=False,
        choices=[("", lazy("detect automatically")), *LOCALES],
        help_text=lazy("Only needed if a number could be read in two ways."),
    )
    currency = text(
        lazy("Currency"),
        required=False,
        maxlength=3,
        help_text=lazy("Used for rows that name none."),
    )
    provider = text(
        lazy("Provider"), required=False, help_text=lazy("Used for rows that name none.")
    )
    quoted_on = text(
        lazy("Day of the quotes"), required=False, help_text=lazy("Used for rows that state none.")
    )
    columns = forms.CharField(
        label=lazy("Meaning of headers"),
        required=False,
        help_text=lazy(
            "One mapping per line, such as Price = monthly_net. Use “-” to skip a column."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    new_provider = text(
        lazy("New provider"),
        required=False,
        help_text=lazy("Create this provider even though a similar name exists."),
    )
    replace = forms.BooleanField(label=lazy("Correct other prices of the same day"), required=False)
    anew = forms.BooleanField(
        label=lazy("Ignore the saved column mapping of this provider"), required=False
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        sent = bool(data.get("file")) + bool(data.get("pasted"))
        if not self.errors and (sent > 1 or not (sent or data.get("kept"))):
            self.add_error("file", _("Choose a file, or paste the cells."))
        try:
            data["kept"] = base64.b64decode(data.get("kept", "")[:MOST_KEPT], validate=True)
        except (binascii.Error, ValueError):
            self.add_error("file", _("Choose the file again."))
        return data

    def clean_columns(self) -> dict[str, str]:
        pairs = {}
        for line in self.cleaned_data["columns"].splitlines():
            header, sign, column = line.rpartition("=")
            if line.strip() and not sign:
                raise forms.ValidationError(_("{line!r} has no =.", line=line))
            if sign:
                pairs[header.strip()] = column.strip()
        return pairs | self._header_choices()

    def _header_choices(self) -> dict[str, str]:
        """The meanings that were chosen for headers nobody knew."""
        data = cast("QueryDict", self.data)
        headers, meanings = (data.getlist(name) for name in ("header", "meaning"))
        return {
            header: meaning
            for header, meaning in zip(headers, meanings, strict=False)
            if header.strip() and meaning.strip()
        }

    def given(self) -> dict[str, Any]:
        """Arguments of the service beside workspace and actor."""
        data = self.cleaned_data
        names = ("locale", "currency", "provider", "quoted_on")
        return {
            # Bytes: the importer judges the encoding, as it does for the command and the API.
            "text": data["file"].read() if data["file"] else data["pasted"] or data["kept"],
            "options": Options({name: data[name] for name in names}, data["columns"]),
            "is_replacing": data["replace"],
            "known_providers": [data["new_provider"]],
            "is_recalling": not data["anew"],
        }
