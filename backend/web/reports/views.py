"""Reports: rankings frozen with the words of a decision, dated and fit for paper."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.workspaces import default_workspace
from backend.rankings.models import Report
from backend.rankings.selectors.ranking import ranking
from backend.rankings.services.reports import report_create, report_delete, reports_visible
from backend.web.ranking.views import ranking_request
from backend.web.reports.forms import ReportForm
from backend.web.reports.lines import (
    report_attributions,
    report_chart,
    report_conclusion,
    report_lines,
    report_units,
    top_count,
)
from backend.web.shared import state, words
from backend.web.shared.access import demand, readable
from backend.web.shared.confirming import Question, confirmed


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
    document = report.document
    lines, shown = report_lines(document), top_count(document)
    is_whole = request.GET.get("rows") == "all" or len(lines) <= shown
    context = {
        "report": report,
        "address": request.build_absolute_uri(request.path),
        "conclusion": report_conclusion(document),
        "basis": document["basis"],
        "metric": words.metric(document["basis"]["metric"]),
        "chips": state.chips(params, ""),
        "lines": lines if is_whole else lines[:shown],
        "all_url": "" if is_whole else "?rows=all",
        "units": report_units(document),
        "chart": report_chart(document),
        "attributions": report_attributions(document),
        "today_url": reverse("offers") + state.query(params),
    }
    return render(request, "reports/page.html", context)


@readable
@require_safe
def report_pdf(request: HttpRequest, slug: str) -> HttpResponse:
    """The report on one page of A4, or of Letter with `?paper=letter`."""
    # Its library is loaded only for who asks for a PDF.
    from backend.web.reports.pdf import PAPERS, sheet_pdf
    from backend.web.reports.sheet import report_sheet

    report = get_object_or_404(Report, workspace=default_workspace(), slug=slug)
    paper = request.GET.get("paper", "a4").lower()
    if paper not in PAPERS:
        raise Http404(f"There is no paper {paper[:20]!r}, only {', '.join(PAPERS)}.")
    address = request.build_absolute_uri(reverse("report", args=[slug]))
    return HttpResponse(
        sheet_pdf(report_sheet(report, address), paper),
        content_type="application/pdf",
        headers={"Content-Disposition": f'inline; filename="{report.slug}.pdf"'},
    )


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new(request: HttpRequest) -> HttpResponse:
    """Freezes the ranking that the address asks for; the form says what that is."""
    demand(request, Scope.WRITE)
    requested = ranking_request(request)
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
        "back": reverse("offers") + state.query(requested.params),
    }
    return render(request, "reports/new.html", context)


def _frozen(params: state.Params) -> state.Params:
    """All that decides rows and their order; a report has no pages."""
    return {k: v for k, v in params.items() if k not in {"page", "per_page", "view"}}


def _removable(request: HttpRequest, slug: str) -> Report:
    demand(request, Scope.ADMIN)
    return get_object_or_404(Report, workspace=default_workspace(), slug=slug)


def _removal_question(request: HttpRequest, slug: str) -> Question:
    report = _removable(request, slug)
    return Question(
        f"Delete the report {report.title}?",
        "Delete report",
        reverse("report", args=[slug]),
        ("Links to it stop working.", f"The figures frozen on {report.created_at:%Y-%m-%d} go."),
    )


@readable
@confirmed(_removal_question)
def report_remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Deletes a report."""
    report = _removable(request, slug)
    report_delete(report=report, actor=request.user.get_username())
    messages.success(request, f"The report “{report.title}” is deleted.")
    return HttpResponseRedirect(reverse("reports"))
