"""The selectors that pages beside the ranking share; the ranking's own parser judges values."""

from collections.abc import Iterable, Sequence, Set

from django import forms

from backend.catalog.selectors.price_choice import TERMS
from backend.rankings.selectors.coverage import metrics_scored
from backend.site import state, words
from backend.site.forms import with_chosen
from backend.site.language import lazy
from backend.site.metric_field import MetricSelect


class BasisForm(forms.Form):
    """Metric, period, currency and term; every other parameter travels with the form unseen.

    `scored` are the metrics that have a figure where the page shows less than all offers.
    `more` are text fields by name: a label and the attributes of the input.
    """

    metric = forms.CharField(required=False, label=lazy("Metric"))
    period = forms.CharField(required=False, label=lazy("Cost per"))
    currency = forms.CharField(required=False, label=lazy("Currency"))
    term = forms.CharField(required=False, label=lazy("Payment option"))

    def __init__(
        self,
        params: state.Params,
        *,
        currencies: Sequence[str],
        scored: Set[str] | None = None,
        more: dict[str, tuple[str, dict[str, str]]] | None = None,
        errors: Iterable[tuple[str, str]] = (),
    ) -> None:
        more = more or {}
        values = {name: state.value(params, name) for name in (*self.base_fields, *more)}
        super().__init__(data=values, auto_id="%s", label_suffix="")
        for name, (label, attributes) in more.items():
            widget = forms.TextInput(attrs={"autocomplete": "off", **attributes})
            self.fields[name] = forms.CharField(required=False, label=label, widget=widget)
        choices = {
            "period": [(name, name) for name in ("hour", "month", "year")],
            "currency": [(code, code) for code in currencies],
            "term": [(code, words.term(code)) for code in TERMS],
        }
        for name, offered in choices.items():
            self.fields[name].widget = forms.Select(choices=with_chosen(offered, values[name]))
        self.fields["metric"].widget = MetricSelect(
            metrics_scored() if scored is None else scored, values["metric"]
        )
        # What has no field here still has to be said somewhere on the page.
        self.other_errors: list[tuple[str, str]] = []
        # Nothing is judged here, but errors can only be added to a form that was cleaned.
        self.full_clean()
        for field, detail in errors:
            if field in self.fields:
                self.add_error(field, detail)
            else:
                self.other_errors.append((words.parameter(field)[1], detail))
