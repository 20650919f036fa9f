"""Reports: rankings frozen with the words of a decision, dated and fit for paper."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.workspaces import default_workspace
from backend.rankings.models import Report
from backend.rankings.selectors.ranking import ranking
from backend.rankings.services.reports import report_create, report_delete, reports_visible
from backend.web.ranking.views import ranking_request
from backend.web.reports.forms import ReportForm
from backend.web.reports.lines import report_chart, report_lines, report_units
from backend.web.shared import state
from backend.web.shared.access import demand, may, readable


@readable
@require_safe
def reports_page(request: HttpRequest) -> HttpResponse:
    """All reports, newest first."""
    context = {"reports": reports_visible(default_workspace())}
    return render(request, "reports/list.html", context)


@readable
@require_safe
def report_page(request: HttpRequest, slug: str) -> HttpResponse:
    """One report as it was frozen."""
    report = get_object_or_404(Report, workspace=default_workspace(), slug=slug)
    params: state.Params = report.params
    context = {
        "report": report,
        "basis": report.document["basis"],
        "chips": state.chips(params, ""),
        "lines": report_lines(report.document),
        "units": report_units(report.document),
        "chart": report_chart(report.document),
        "today_url": reverse("ranking") + state.query(params),
        "may_write": may(request, Scope.WRITE),
    }
    return render(request, "reports/page.html", context)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new(request: HttpRequest) -> HttpResponse:
    """Freezes the ranking that the address asks for; the form says what that is."""
    demand(request, Scope.WRITE)
    requested = ranking_request(dict(request.GET.lists()))
    ranked = ranking(requested.query, stamp=requested.stamp)
    form = ReportForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            report = report_create(
                workspace=default_workspace(),
                **form.cleaned_data,
                params=_frozen(requested.params),
                listed=ranked,
                actor=request.user.get_username(),
            )
            return HttpResponseRedirect(reverse("report", args=[report.slug]))
    context: dict[str, Any] = {
        "form": form,
        "ranking": ranked,
        "chips": state.chips(requested.params, ""),
        "errors": requested.errors,
        "back": reverse("ranking") + state.query(requested.params),
    }
    return render(request, "reports/new.html", context)


def _frozen(params: state.Params) -> state.Params:
    """All that decides rows and their order; a report has no pages."""
    return {k: v for k, v in params.items() if k not in {"page", "per_page", "view"}}


@readable
@require_POST
def report_remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Takes a report away."""
    demand(request, Scope.ADMIN)
    report = get_object_or_404(Report, workspace=default_workspace(), slug=slug)
    report_delete(report=report, actor=request.user.get_username())
    messages.success(request, f"The report “{report.title}” is gone.")
    return HttpResponseRedirect(reverse("reports"))
