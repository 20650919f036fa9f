"""Scenarios that workers calculate, for those who wait on a page."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.foundation.errors import DomainError
from backend.scenarios.calc.conclusion import conclude
from backend.scenarios.models import OPEN_STATES, ScenarioJob
from backend.scenarios.pages import plots
from backend.scenarios.pages.figures import currency_of, horizon_words, mark_options
from backend.scenarios.pages.views import scenario_or_404
from backend.scenarios.selectors.jobs import job_by_id, job_document, job_progress, job_result
from backend.scenarios.selectors.scenarios import Simulated
from backend.scenarios.services.job_requests import job_create
from backend.scenarios.services.jobs import job_cancel
from backend.site.access import demand, readable


@readable
@require_POST
def scenario_job_form(request: HttpRequest, slug: str) -> HttpResponse:
    """Has workers calculate a scenario that is kept, and leads to where that is followed."""
    demand(request, Scope.WRITE)
    scenario = scenario_or_404(request, slug)
    try:
        return job_begun(request, scenario.document)
    except DomainError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(reverse("scenario", args=[slug]))


def job_begun(request: HttpRequest, document: object) -> HttpResponse:
    """Has workers calculate a document, and leads to the page that follows it; raises as job_create."""
    demand(request, Scope.WRITE)
    job = job_create(
        workspace=workspace_of(request), document=document, actor=request.user.get_username()
    )
    return HttpResponseRedirect(reverse("scenario-job", args=[job.pk]))


@readable
@require_safe
def scenario_job_page(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """How far it is, and what it came to."""
    demand(request, Scope.WRITE)
    job = _job_or_404(request, job_id)
    context: dict[str, Any] = {
        "job": job,
        "is_open": job.state in OPEN_STATES,
        "progress": job_progress(job),
        **_result(job),
    }
    return render(request, "scenarios/job.html", context)


@readable
@require_POST
def scenario_job_cancel_form(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Ends it, if it has not ended by itself."""
    demand(request, Scope.WRITE)
    job = _job_or_404(request, job_id)
    job_cancel(job=job, actor=request.user.get_username())
    return HttpResponseRedirect(reverse("scenario-job", args=[job.pk]))


def _job_or_404(request: HttpRequest, job_id: UUID) -> ScenarioJob:
    job = job_by_id(workspace_of(request), job_id)
    if job is None:
        raise Http404
    return job


def _result(job: ScenarioJob) -> dict[str, Any]:
    """The figures of one that is done, as long as they are kept."""
    result = job_result(job)
    if result is None:
        return {}
    outcome = Simulated(result, job_document(job.pk), job.data_version)
    currency = currency_of(outcome)
    price = outcome.resolved.get("price_per_unserved_unit_hour")
    return {
        "result": result,
        "currency": currency,
        "options": mark_options(result["options"], outcome),
        "has_spread": any(option["interval"] for option in result["options"]),
        "conclusion": conclude(result, currency, horizon_words(outcome.resolved), price),
        "plot": plots.cost_plot(result, currency),
    }
