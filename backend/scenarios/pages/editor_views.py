"""The editor of scenarios: every field of the document, and what it comes to while one types."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.bills.pages.views import bill_document
from backend.core.work import retry_later
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.scenarios.calc.templates import TEMPLATES, Template, is_as_template
from backend.scenarios.models import Scenario
from backend.scenarios.pages.editor import editor_context
from backend.scenarios.pages.edits import MOST_NAMED, document_of_address, edit, with_offer
from backend.scenarios.pages.forms import ScenarioForm, is_editable
from backend.scenarios.pages.job_views import job_begun
from backend.scenarios.pages.part_prices import part_prices
from backend.scenarios.pages.preview import preview
from backend.scenarios.pages.views import scenario_or_404
from backend.scenarios.selectors.offer_matches import offer_names
from backend.scenarios.services.job_requests import TooManyJobs
from backend.scenarios.services.scenarios import ScenarioFrozen, scenario_create, scenario_update
from backend.site.access import demand, may, readable
from backend.site.language import _

# Never an empty form: a document that can be calculated is easier to change than to write.
FIRST = "startup"


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def scenario_new(request: HttpRequest) -> HttpResponse:
    """The editor, opened from a template; everybody may calculate, and who may write may save."""
    chosen = request.GET.get("template", FIRST)
    template = TEMPLATES.get(chosen) or TEMPLATES[FIRST]
    if request.method == "POST":
        return _answer_button(request, None, template)
    if bill := request.GET.get("bill"):
        return _page(request, ScenarioForm(document=bill_document(request, bill)))
    form = ScenarioForm(document=_template_of(request, template.document))
    return _page(request, form, template=template, is_unknown=chosen not in TEMPLATES)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def scenario_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """The editor of a scenario that is kept."""
    scenario = scenario_or_404(request, slug)
    if scenario.frozen_at is not None:
        messages.info(request, _("A frozen scenario never changes; a copy of it may."))
        return HttpResponseRedirect(reverse("scenario", args=[slug]))
    document = _with_offer_asked_for(request, scenario)
    if not is_editable(document):
        messages.info(request, _("It has more options or windows than the editor: use the API."))
        return HttpResponseRedirect(reverse("scenario", args=[slug]))
    if request.method == "POST":
        return _answer_button(request, scenario)
    return _page(request, ScenarioForm(document=document), scenario=scenario)


@readable
@require_POST
def scenario_preview(request: HttpRequest) -> HttpResponse:
    """Result of the typed document, as a fragment."""
    form = ScenarioForm(request.POST)
    shown = preview(form, workspace_slug(request))
    prices = part_prices(form, form.stated, workspace_slug(request))
    context = {"preview": shown, "prices": prices.values()}
    # The script waits as long as the server asks it to, instead of asking at every key.
    return retry_later(render(request, "scenarios/_followed.html", context), shown.wait_s)


def _answer_button(
    request: HttpRequest, scenario: Scenario | None, template: Template | None = None
) -> HttpResponse:
    """The page with what its button changed, or the way to what it saved or began."""
    form = edit(request.POST, workspace_slug(request))
    if "save" in request.POST:
        demand(request, Scope.WRITE)
        saved = _save(request, form, scenario, template.key if template else "")
        if saved is not None:
            is_new = _("“{name}” is saved.", name=saved.name)
            messages.success(request, _("The changes are saved.") if scenario else is_new)
            return HttpResponseRedirect(reverse("scenario", args=[saved.slug]))
    elif "background" in request.POST and (begun := _begin_job(request, form)):
        return begun
    return _page(request, form, scenario=scenario, template=template)


def _save(
    request: HttpRequest, form: ScenarioForm, scenario: Scenario | None, template: str
) -> Scenario | None:
    """The scenario as it is now kept; None where it is refused, which the form then says."""
    document, actor = form.document(), request.user.get_username()
    try:
        if scenario is not None:
            return scenario_update(scenario=scenario, document=document, actor=actor)
        return scenario_create(
            workspace=workspace_of(request), document=document, actor=actor, template=template
        )
    except (InvalidDocument, InvalidValue) as error:
        form.report(error)
    except ScenarioFrozen as error:
        form.add_error(None, str(error))
    return None


def _begin_job(request: HttpRequest, form: ScenarioForm) -> HttpResponse | None:
    """The way to the job of what was typed; None where it is refused, which the form then says."""
    try:
        return job_begun(request, form.document())
    except (InvalidDocument, InvalidValue) as error:
        form.report(error)
        form.is_too_much = False
    except TooManyJobs as error:
        form.add_error(None, str(error))
    return None


def _page(request: HttpRequest, form: ScenarioForm, **more: Any) -> HttpResponse:
    # What comes to a page after one of these buttons was refused.
    is_refused = not {"save", "background"}.isdisjoint(request.POST)
    template = more.get("template")
    editor = editor_context(form, workspace_slug(request), is_refused=is_refused)
    context = {
        **editor,
        "is_refused": is_refused,
        "templates": TEMPLATES.values(),
        "may_write": may(request, Scope.WRITE),
        "is_as_template": bool(template and is_as_template(template, editor["stated"])),
        **more,
    }
    return render(request, "scenarios/edit.html", context)


def _with_offer_asked_for(request: HttpRequest, scenario: Scenario) -> Mapping[str, Any]:
    """The document of a scenario, with an option more of the offer that the address names."""
    slug = request.GET.get("offer", "").replace("\0", "")
    name = offer_names([slug], workspace_slug(request)).get(slug) if slug else None
    if name is None:
        return dict(scenario.document)
    return with_offer(scenario.document, slug, name, "", term=request.GET.get("term", ""))


def _template_of(request: HttpRequest, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A template with the shape and the options that the address asks for."""
    slugs = [slug.replace("\0", "") for slug in request.GET.getlist("offer")[:MOST_NAMED]]
    return document_of_address(
        document, request.GET, offer_names(slugs, workspace_slug(request)) if slugs else {}
    )
