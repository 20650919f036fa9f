"""Scenarios: what is kept, what each comes to, several side by side."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.core.work import WorkRefused
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.ready_options import options_with_examples
from backend.scenarios.calc.templates import TEMPLATES, Template, is_as_template
from backend.scenarios.calc.work import TooMuchWork
from backend.scenarios.models import Scenario
from backend.scenarios.pages.curves import visible_curves
from backend.scenarios.pages.outlines import template_cards
from backend.scenarios.pages.page import (
    MOST_COMPARED,
    comparison,
    map_context,
    result_context,
    scenario_outcome,
)
from backend.scenarios.selectors.scenarios import (
    follows_from,
    scenario_by_slug,
    scenarios_visible,
    scope_to_delete,
)
from backend.scenarios.services.scenarios import scenario_delete, scenario_duplicate
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.fragments import fragment
from backend.site.language import _, lazy

TABLES = {
    "steps": lazy("Over time"),
    "load_duration": lazy("Load-duration curve"),
    "months": lazy("Cost by month"),
    "cash": lazy("Money spent"),
}


@readable
@require_safe
def scenarios_page(request: HttpRequest) -> HttpResponse:
    """The scenarios that are kept, and the templates to begin from."""
    context = {
        "scenarios": scenarios_visible(workspace_of(request)),
        "templates": template_cards(),
        "most_compared": MOST_COMPARED,
        "may_write": may(request, Scope.WRITE),
    }
    return render(request, "scenarios/list.html", context)


@readable
@require_safe
def scenario_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Result of a scenario; `option` and `span` choose what the charts show."""
    scenario = scenario_or_404(request, slug)
    asked = {name: request.GET.get(name, "") for name in ("option", "span")}
    context: dict[str, Any] = {
        "scenario": scenario,
        "template": _template_of(scenario),
        "may_write": may(request, Scope.WRITE),
    }

    def result() -> dict[str, Any]:
        return {
            "scenario": scenario,
            "links": _links(slug),
            **result_context(scenario, **asked),
        }

    status = None
    try:
        content = fragment(request, "scenarios/_content.html", follows_from(scenario), result)
        context["content"] = content
    except InvalidDocument as error:
        context |= {"errors": error.errors, "is_too_much": isinstance(error, TooMuchWork)}
    except WorkRefused as error:
        # Only what takes too long: others who calculate will have ended soon.
        if error.wait is not None or not context["may_write"]:
            raise
        context |= {"errors": [("", error.detail)], "is_too_much": True}
        status = error.status_code
    return render(request, "scenarios/page.html", context, status=status)


def _template_of(scenario: Scenario) -> Template | None:
    """The template whose words still hold for the scenario."""
    template = TEMPLATES.get(scenario.template)
    return template if template and is_as_template(template, scenario.document) else None


@readable
@require_safe
def scenario_map(request: HttpRequest, slug: str) -> HttpResponse:
    """Which option is the cheapest at other prices and shapes of the demand."""
    scenario = scenario_or_404(request, slug)
    context: dict[str, Any] = {"scenario": scenario}
    try:
        context |= map_context(scenario)
    except InvalidDocument as error:
        context["errors"] = error.errors
    return render(request, "scenarios/map.html", context)


@readable
@require_safe
def scenario_curves(request: HttpRequest, slug: str) -> HttpResponse:
    """Cost of each option as the load grows or lasts longer, and where another gets cheaper."""
    scenario = scenario_or_404(request, slug)
    context: dict[str, Any] = {"scenario": scenario}
    try:
        outcome = scenario_outcome(scenario)
        context["curves"], context["coarser"] = visible_curves(outcome)
        context["examples"] = options_with_examples(outcome.resolved)
    except InvalidDocument as error:
        context["errors"] = error.errors
    return render(request, "scenarios/curves.html", context)


@readable
@require_safe
def scenarios_compare(request: HttpRequest) -> HttpResponse:
    """The options of several scenarios in one table."""
    # A box ticked twice is one scenario; the order is that of the address.
    slugs = list(dict.fromkeys(request.GET.getlist("s")))
    context = comparison(slugs, workspace_slug=workspace_slug(request))
    return render(request, "scenarios/compare.html", context)


@readable
@require_POST
def scenario_copy_form(request: HttpRequest, slug: str) -> HttpResponse:
    """Makes a copy and opens it in the editor."""
    demand(request, Scope.WRITE)
    copy = scenario_duplicate(
        scenario=scenario_or_404(request, slug), actor=request.user.get_username()
    )
    messages.success(request, _("“{name}” is a copy that may be changed.", name=copy.name))
    return HttpResponseRedirect(reverse("scenario-edit", args=[copy.slug]))


def _deletable(request: HttpRequest, slug: str) -> Scenario:
    scenario = scenario_or_404(request, slug)
    demand(request, scope_to_delete(scenario))
    return scenario


def _delete_question(request: HttpRequest, slug: str) -> Question:
    scenario = _deletable(request, slug)
    frozen = (_("It is frozen: prices and scores of that day go with it."),)
    return Question(
        _("Delete the scenario {name}?", name=scenario.name),
        _("Delete scenario"),
        reverse("scenario", args=[slug]),
        (_("Links to it stop working."), *(frozen if scenario.frozen_at else ())),
    )


@readable
@confirm_first(_delete_question)
def scenario_delete_form(request: HttpRequest, slug: str) -> HttpResponse:
    scenario = _deletable(request, slug)
    scenario_delete(scenario=scenario, actor=request.user.get_username())
    messages.success(request, _("“{name}” is deleted.", name=scenario.name))
    return HttpResponseRedirect(reverse("scenarios"))


def _links(slug: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """(words, links as (format, url)) of everything that the page shows, from the API."""
    document = ("JSON", reverse("api:scenario", args=[slug]))
    result = ("JSON", reverse("api:scenario-result", args=[slug]))
    links = [(_("Document"), [document]), (_("Result"), [result])]
    for table, words in TABLES.items():
        formats = [
            (kind.upper(), f"{reverse('api:scenario-series-as', args=[slug, kind])}?table={table}")
            for kind in ("csv", "xlsx", "json")
        ]
        links.append((words, formats))
    return links


def scenario_or_404(request: HttpRequest, slug: str) -> Scenario:
    """The scenario of this slug; raises Http404."""
    scenario = scenario_by_slug(workspace_slug(request), slug)
    if scenario is None:
        raise Http404(_("No scenario is called {slug}.", slug=slug))
    return scenario
