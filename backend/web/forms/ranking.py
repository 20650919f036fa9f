"""The form above the ranking. It shows what is in force; the ranking's own parser judges it."""

from collections.abc import Iterable, Sequence

from django import forms

from backend.catalog.selectors import TERMS
from backend.domain.metrics import METRICS
from backend.web import state, words

Choices = list[tuple[str, str]]


def _with(choices: Choices, chosen: str) -> Choices:
    """The choices, and the value in force even when it is none of them."""
    if chosen and chosen not in dict(choices):
        return [*choices, (chosen, chosen)]
    return choices


class RankingForm(forms.Form):
    """Selectors and search; every field is text, so that only one place judges values."""

    metric = forms.CharField(required=False, label="Metric")
    period = forms.CharField(required=False, label="Cost per")
    currency = forms.CharField(required=False, label="Currency")
    term = forms.CharField(required=False, label="Price term")
    hours_per_month = forms.CharField(
        required=False,
        label="Hours a month",
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )
    q = forms.CharField(
        required=False,
        label="Search",
        widget=forms.TextInput(
            attrs={"type": "search", "placeholder": "name, region, CPU…", "autocomplete": "off"}
        ),
    )

    def __init__(
        self,
        params: state.Params,
        *,
        currencies: Sequence[str],
        errors: Iterable[tuple[str, str]] = (),
    ) -> None:
        values = {name: state.value(params, name) for name in self.base_fields}
        super().__init__(data=values, auto_id="%s", label_suffix="")
        choices: dict[str, Choices] = {
            "metric": [(key, metric.label) for key, metric in METRICS.items()],
            "period": [(key, words.PERIODS[key]) for key in ("hour", "month", "year")],
            "currency": [(code, code) for code in currencies],
            "term": [(code, words.term(code)) for code in TERMS],
        }
        for name, offered in choices.items():
            self.fields[name].widget = forms.Select(choices=_with(offered, values[name]))
        self.other_errors: list[tuple[str, str]] = []
        self.full_clean()
        for field, detail in errors:
            if field in self.fields:
                self.add_error(field, detail)
            else:
                _, label, _ = words.parameter(field)
                self.other_errors.append((label, detail))
