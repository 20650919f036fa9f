"""What the list of prices is narrowed to, a price entered by hand, and a table brought along."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms

from backend.catalog.selectors.offers import providers
from backend.catalog.selectors.price_list import STATES, PriceFilter
from backend.catalog.services.prices import PriceInput
from backend.common import clock
from backend.domain.pricing.purchase import PriceUnit, PurchaseModel
from backend.domain.texts import joined
from backend.providers.registry import PROVIDERS
from backend.web.shared import words
from backend.web.shared.forms import Day, WriteForm, text
from backend.web.shared.language import lazy

ANY = ("", lazy("any"))
CURRENT_OR_STALE = ("", lazy("current or stale"))
TABLES = (("quotes", lazy("Quotes for dedicated servers")), ("offers", lazy("Offers of one's own")))


class NarrowForm(forms.Form):
    """Which prices; all of it is in the address, and a field in error narrows nothing."""

    provider = forms.ChoiceField(label=lazy("Provider"), required=False)
    offer = text(lazy("Offer"), required=False, placeholder="m5.large")
    region = text(lazy("Region"), required=False, placeholder="us-east-1")
    purchase_model = forms.ChoiceField(
        label=lazy("Purchase model"),
        required=False,
        choices=[ANY, *((one, words.term(one)) for one in tuple(PurchaseModel))],
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
        choices=[CURRENT_OR_STALE, *((one, words.price_state(one)) for one in STATES)],
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
            ("appeared", "appeared"),
            ("vanished", lazy("no longer listed")),
            ("changed", "changed"),
        ],
    )

    def __init__(self, data: Mapping[str, Any]) -> None:
        today = clock.now().date()
        days = {"since": today - dt.timedelta(days=30), "until": today}
        # Defaults go into the data and not into `initial`: the form is bound, and an empty address
        # means the last thirty days.
        super().__init__({**days, **{name: value for name, value in data.items() if value}})


class PriceForm(WriteForm):
    """A price that a person knows better than any list."""

    amount = forms.DecimalField(label=lazy("Amount"), min_value=Decimal(0), help_text="Net.")
    currency = text(lazy("Currency"), maxlength=3)
    unit = forms.ChoiceField(label=lazy("Per"), choices=[(one, one) for one in tuple(PriceUnit)])
    setup = forms.DecimalField(
        label=lazy("Set-up fee"),
        required=False,
        min_value=Decimal(0),
        help_text=lazy("Empty: none is known."),
    )
    reason = text(
        lazy("Reason"), help_text=lazy("Where you know it from. It stays beside the price.")
    )

    def price(self) -> PriceInput:
        data = self.cleaned_data
        return PriceInput(data["amount"], data["currency"].upper(), data["unit"], data["setup"])


class FeedForm(WriteForm):
    """A list that is to be read by itself."""

    list = forms.ChoiceField(
        label=lazy("List"),
        choices=[
            (f"{slug}/{feed.kind}", joined(": ", (record.short_name, feed.meaning)))
            for slug, record in PROVIDERS.items()
            for feed in record.feeds
        ],
    )
    region = text(
        lazy("Region"), required=False, help_text=lazy("Where each region has its own list.")
    )

    pointers = {"/provider": "list", "/kind": "list"}


class TableForm(WriteForm):
    """A CSV table of quotes or offers."""

    kind = forms.ChoiceField(label=lazy("What is in it"), choices=TABLES)
    file = forms.FileField(label=lazy("CSV file"), allow_empty_file=True)
