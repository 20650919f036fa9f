"""All runs, so that one can be found again."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.accounts.models import Workspace
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.api.runs import RunsView
from backend.benchmarks.models import TERMINAL_STATES, Run
from backend.benchmarks.selectors.campaigns import campaigns_of
from backend.benchmarks.selectors.hosts import hosts_visible
from backend.benchmarks.selectors.runs import STAGES, runs_listed
from backend.catalog.selectors.offers import offers_with_words
from backend.measure.profiles import PROFILES
from backend.site.access import readable
from backend.site.language import _, lazy
from backend.site.offer_field import offer_field
from backend.site.paging import paging_context

GOING_ON = "active"
READERS = RunsView().parameter_readers()
# The API's conditions of the query by their parameters.
LOOKUPS = {name: lookup for name, (lookup, _reader) in RunsView.lookups.items()} | {
    "since": f"{RunsView.since}__gte"
}


class ReadField(forms.CharField):
    """A filter that is read as the API reads it."""

    def __init__(self, name: str, **given: Any) -> None:
        super().__init__(required=False, **given)
        self.reader = READERS[name]

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return self.reader(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class RunsForm(forms.Form):
    """Filters of the list, those of the API; all of them are in the address."""

    host = forms.ChoiceField(label=lazy("Host"), required=False)
    campaign = forms.ChoiceField(label=lazy("Campaign"), required=False)
    round = ReadField("round", label=lazy("Round"))
    state = forms.ChoiceField(
        label=lazy("State"),
        required=False,
        choices=[
            ("", lazy("any")),
            (GOING_ON, lazy("in progress")),
            *((terminal_state, STAGES[terminal_state]) for terminal_state in TERMINAL_STATES),
        ],
    )
    profile = forms.ChoiceField(
        label=lazy("Profile"),
        required=False,
        choices=[("", lazy("any")), *((p, p) for p in PROFILES)],
    )
    offer = offer_field(lazy("Offer"), required=False)
    since = ReadField("since", label=lazy("Since"), widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, data: Mapping[str, Any], workspace: Workspace) -> None:
        self.workspace = workspace
        super().__init__(data, auto_id="%s", label_suffix="")
        rows: dict[str, QuerySet[Any]] = {
            # Rented ones, too: their runs stay when they are gone.
            "host": hosts_visible(workspace),
            "campaign": campaigns_of(workspace.slug).order_by("name"),
        }
        for name, named in rows.items():
            choices = [(str(pk), text) for pk, text in named.values_list("pk", "name")]
            self.fields[name].choices = [("", _("any")), *choices]  # type: ignore[attr-defined]

    def kept(self) -> QuerySet[Run]:
        """The runs that pass; a field in error narrows nothing."""
        runs = runs_listed(self.workspace)
        self.full_clean()
        stated = {n: value for n, value in self.cleaned_data.items() if value not in ("", None)}
        # One word for the states in between, which change by the second and are of use to nobody here.
        if stated.get("state") == GOING_ON:
            runs = runs.exclude(state__in=TERMINAL_STATES)
            del stated["state"]
        if words := stated.pop("offer", ""):
            runs = runs.filter(offer__in=offers_with_words(words, self.workspace.slug))
        return runs.filter(**{LOOKUPS[name]: value for name, value in stated.items()})


@readable
@require_safe
def runs_page(request: HttpRequest) -> HttpResponse:
    """Runs, newest first, fifty a page."""
    form = RunsForm(request.GET, workspace_of(request))
    return render(request, "runs/list.html", {"form": form, **paging_context(request, form.kept())})
