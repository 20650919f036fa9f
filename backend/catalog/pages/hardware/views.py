"""Own hardware: what it costs a month by its parts, under which assumptions."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.catalog.calc.hardware import HardwareCost, cost_document, costs_by_year
from backend.catalog.calc.hardware_assumptions import ASSUMPTIONS, PUBLISHED
from backend.catalog.calc.hardware_document import hardware_from, shortest_document
from backend.catalog.models import HardwareModel
from backend.catalog.pages.hardware.forms import HardwareForm
from backend.catalog.pages.hardware.plots import conclusion, hardware_plot
from backend.catalog.pages.hardware.shown import assumption_rows, cost_rows
from backend.catalog.selectors.consequences import hardware_consequences
from backend.catalog.selectors.hardware import hardware_visible
from backend.catalog.selectors.rates import rate_table
from backend.catalog.services.hardware import calculate_hardware, hardware_create, hardware_delete
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.foundation.facts import PARTS
from backend.scenarios.calc.templates import OWN_SERVERS
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _


@readable
@require_safe
def hardware_page(request: HttpRequest) -> HttpResponse:
    """The cost models, newest versions, side by side; and every assumption with its source."""
    models = list(hardware_visible(workspace_of(request)))
    context = {
        "models": models,
        "plot": hardware_plot(models, [model.name for model in models], rate_table()),
        "assumptions": ASSUMPTIONS.values(),
        "published": PUBLISHED,
        "parts": PARTS,
        "may_write": may(request, Scope.WRITE),
    }
    return render(request, "hardware/list.html", context)


@readable
@require_safe
def hardware_model_page(request: HttpRequest, model_id: UUID) -> HttpResponse:
    """A version: its breakdown, bill of materials and assumptions; and the other versions."""
    every = hardware_visible(workspace_of(request), is_newest_only=False)
    model = get_object_or_404(every, pk=model_id)
    versions = list(every.filter(name=model.name))
    labels = [_("version {version}", version=version.version) for version in versions]
    context = {
        "model": model,
        "cost": cost_rows(model.cost),
        "conclusion": conclusion(model.cost),
        "assumptions": assumption_rows(model),
        "by_year": costs_by_year(hardware_from(model.document)),
        "versions": versions,
        # The list begins with the newest, time runs from the left.
        "plot": hardware_plot(versions[::-1], labels[::-1], rate_table()),
        "may_write": may(request, Scope.WRITE),
    }
    return render(request, "hardware/page.html", context)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def hardware_new(request: HttpRequest) -> HttpResponse:
    """The form, with an example or a version; it calculates without storing, or stores the next version."""
    demand(request, Scope.WRITE)
    # `or None`: an empty POST is a form nobody has typed into, not one full of errors.
    form = HardwareForm(request.POST or None, document=_document(request))
    cost: HardwareCost | None = None
    if request.POST:
        document: dict[str, Any] = form.document()
        try:
            if "save" in request.POST:
                actor = request.user.get_username()
                model = hardware_create(
                    workspace=workspace_of(request), document=document, actor=actor
                )
                messages.success(
                    request,
                    _(
                        "Version {version} of {name} is stored.",
                        version=model.version,
                        name=model.name,
                    ),
                )
                return HttpResponseRedirect(reverse("hardware-model", args=[model.pk]))
            cost = calculate_hardware(document)[1]
            form = HardwareForm(document=document)  # with empty lines again
        except (InvalidDocument, InvalidValue) as error:
            form.report(error)
    context = {
        "form": form,
        "cost": None if cost is None else cost_rows(cost_document(cost)),
        "is_example": request.method != "POST" and not request.GET.get("from"),
    }
    return render(request, "hardware/new.html", context)


def _document(request: HttpRequest) -> dict[str, Any] | None:
    """The version that the address names with `from`, else an example to change."""
    original = request.GET.get("from", "")
    if not original:
        return shortest_document(OWN_SERVERS)
    every = hardware_visible(workspace_of(request), is_newest_only=False)
    try:
        model = every.filter(pk=UUID(original)).first()
    except ValueError:
        return None
    return shortest_document(model.document) if model else None


def _delete_question(request: HttpRequest, model_id: UUID) -> Question:
    model = _deletable(request, model_id)
    return Question(
        _("Delete version {version} of {name}?", version=model.version, name=model.name),
        _("Delete version"),
        reverse("hardware-model", args=[model_id]),
        tuple(hardware_consequences(model)),
    )


def _deletable(request: HttpRequest, model_id: UUID) -> HardwareModel:
    demand(request, Scope.WRITE)
    every = hardware_visible(workspace_of(request), is_newest_only=False)
    return get_object_or_404(every, pk=model_id)


@readable
@confirm_first(_delete_question)
def hardware_delete_form(request: HttpRequest, model_id: UUID) -> HttpResponse:
    """Deletes one version of a cost model with its price."""
    model = _deletable(request, model_id)
    hardware_delete(model=model, actor=request.user.get_username())
    messages.success(request, _("The version is deleted."))
    return HttpResponseRedirect(reverse("hardware"))
