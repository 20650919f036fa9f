"""The form that a bill is sent with."""

from typing import Any

from django import forms

from backend.bills.calc.formats import FORMATS
from backend.bills.calc.replacing import MOST_HEADROOM
from backend.bills.calc.unit_prices import PriceIs
from backend.bills.selectors.works import ANYWHERE
from backend.bills.services.bills import MOST_NAME
from backend.measure.metrics import METRICS
from backend.rankings.calc.region_groups import REGION_GROUPS
from backend.rankings.selectors.parameters import RANKING_METRICS
from backend.site import number_fields
from backend.site.forms import WriteForm
from backend.site.language import lazy
from backend.site.words import category


def _formats() -> list[tuple[str, Any]]:
    known = [(bill_format.slug, bill_format.name) for bill_format in FORMATS.values()]
    return [("", lazy("detected from its columns")), *known]


def _region_groups() -> list[tuple[str, Any]]:
    known = [(group, category("region_group", group)) for group in REGION_GROUPS]
    return [("", lazy("as the bill")), (ANYWHERE, lazy("anywhere")), *known]


def _metric_choices() -> list[tuple[str, Any]]:
    return [(key, METRICS[key].label) for key in RANKING_METRICS if METRICS[key].better == "higher"]


class YesNoChoice(forms.ChoiceField):
    """A choice of two; also in the words of the API."""

    def to_python(self, value: Any) -> str:
        return str(value).capitalize()

    def clean(self, value: Any) -> Any:
        return super().clean(value) == "True"


class ElsewhereForm(WriteForm):
    """Assumptions about moving elsewhere that a bill does not say."""

    metric = forms.ChoiceField(label=lazy("Compared by"), choices=_metric_choices)
    moving_cost = number_fields.FloatField(
        label=lazy("Cost of moving"),
        min_value=0,
        help_text=lazy("Once: people and double running."),
    )
    staff_per_server = number_fields.FloatField(
        label=lazy("Staff per server and month"), min_value=0,
        help_text=lazy("For dedicated servers. The costs of your own hold their staff."),
    )  # fmt: skip
    spares = number_fields.IntegerField(
        label=lazy("Spare servers"), min_value=0, max_value=100,
        help_text=lazy("For dedicated servers and your own: a replacement takes days."),
    )  # fmt: skip
    headroom_percent = number_fields.FloatField(
        label=lazy("Percent of servers kept free"), min_value=0, max_value=MOST_HEADROOM,
        help_text=lazy("For servers rented by the month; 0 because your machines already include "
"today’s headroom."),
    )  # fmt: skip
    # Two words and no box to tick: a browser leaves out a box, which would mean the default.
    spread_commitments = YesNoChoice(
        label=lazy("Committed machines cost"),
        choices=[
            ("True", lazy("what the bill spreads over their use")),
            ("False", lazy("their share of the fees in the bill")),
        ],
    )
    may_change_arch = forms.BooleanField(
        label=lazy("Other CPU architectures, too"), required=False,
        help_text=lazy("Where your programs can be built for Arm as well as for x86."),
    )  # fmt: skip
    may_run_services = forms.BooleanField(
        label=lazy("Run managed services yourself"), required=False,
        help_text=lazy("On virtual servers, dedicated ones and your own; clouds have services of their own."),
    )  # fmt: skip
    managed_premium = number_fields.FloatField(
        label=lazy("Premium of managed services"), min_value=0, max_value=1,
        help_text=lazy("Share of their price that is for being managed, from 0 to 1; the rest is for machines."),
    )  # fmt: skip
    service_hours = number_fields.FloatField(
        label=lazy("Staff hours for services per month"), min_value=0,
        help_text=lazy("To run them yourself."),
    )  # fmt: skip
    staff_hour = number_fields.FloatField(label=lazy("Cost of an hour of staff"), min_value=0)
    region_group = forms.ChoiceField(
        label=lazy("Region"), required=False, choices=_region_groups,
        help_text=lazy("Region of the replacements."),
    )  # fmt: skip


class BillForm(WriteForm):
    """A bill's file, and what it is to be called."""

    name = forms.CharField(
        label=lazy("Name"), max_length=MOST_NAME, required=False,
        help_text=lazy("Defaults to the file name."),
    )  # fmt: skip
    file = forms.FileField(
        label=lazy("File"),
        help_text=lazy("CSV, Parquet or JSON, also packed as gzip or ZIP."),
    )
    format = forms.ChoiceField(label=lazy("Format"), choices=_formats, required=False)
    price_is = forms.ChoiceField(
        label=lazy("Amounts of a plain table"), required=False,
        choices=[
            (PriceIs.UNKNOWN, lazy("price is of one unit, cost is the total")),
            (PriceIs.UNIT, lazy("the price of one unit")),
            (PriceIs.TOTAL, lazy("the total of the line")),
        ],
    )  # fmt: skip
