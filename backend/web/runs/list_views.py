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
from backend.benchmarks.models import TERMINAL_STATES, Run
from backend.benchmarks.selectors.hosts import hosts_visible
from backend.benchmarks.selectors.runs import STAGES, runs_listed
from backend.catalog.selectors.offers import offers_with_words
from backend.domain.profiles import PROFILES
from backend.web.shared.access import readable
from backend.web.shared.language import _, lazy
from backend.web.shared.offer_field import offer_field
from backend.web.shared.paging import paging_context

GOING_ON = "active"


class RunsForm(forms.Form):
    """Filters of the list; all of them are in the address."""

    host = forms.ChoiceField(label=lazy("Host"), required=False)
    state = forms.ChoiceField(
        label=lazy("State"),
        required=False,
        choices=[
            ("", lazy("any")),
            (GOING_ON, lazy("going on")),
            *((terminal_state, STAGES[terminal_state]) for terminal_state in TERMINAL_STATES),
        ],
    )
    profile = forms.ChoiceField(
        label=lazy("Profile"),
        required=False,
        choices=[("", lazy("any")), *((p, p) for p in PROFILES)],
    )
    offer = offer_field(lazy("Offer"), required=False)

    def __init__(self, data: Mapping[str, Any], workspace: Workspace) -> None:
        self.workspace = workspace
        super().__init__(data, auto_id="%s", label_suffix="")
        # Rented ones, too: their runs stay when they are gone.
        hosts = hosts_visible(workspace).values_list("pk", "name")
        choices = [(str(pk), name) for pk, name in hosts]
        self.fields["host"].choices = [("", _("any")), *choices]  # type: ignore[attr-defined]

    def kept(self) -> QuerySet[Run]:
        """The runs that pass; a field in error narrows nothing."""
        runs = runs_listed(self.workspace)
        self.full_clean()
        data = self.cleaned_data
        if data.get("host"):
            runs = runs.filter(host=data["host"])
        # One word for the states in between, which change by the second and are of use to nobody here.
        if data.get("state") == GOING_ON:
            runs = runs.exclude(state__in=TERMINAL_STATES)
        elif data.get("state"):
            runs = runs.filter(state=data["state"])
        if data.get("profile"):
            runs = runs.filter(profile=data["profile"])
        if data.get("offer"):
            runs = runs.filter(offer__in=offers_with_words(data["offer"], self.workspace.slug))
        return runs


@readable
@require_safe
def runs_page(request: HttpRequest) -> HttpResponse:
    """Runs, newest first, fifty a page."""
    form = RunsForm(request.GET, workspace_of(request))
    return render(request, "runs/list.html", {"form": form, **paging_context(request, form.kept())})
