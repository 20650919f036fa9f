"""Reports: what was frozen with the words of a decision, dated and fit for paper."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.rankings.models import Report, ReportKind
from backend.rankings.services.reports import report_delete
from backend.web.reports.kinds import frozen_reports, is_ranked, source
from backend.web.reports.lines import (
    base_label,
    report_attributions,
    report_chart,
    report_conclusion,
    report_lines,
    report_units,
    top_count,
)
from backend.web.reports.ranked import ranking_sheet
from backend.web.reports.sheet import Sheet, sheet_of
from backend.web.shared import state, words
from backend.web.shared.access import demand, may, readable
from backend.web.shared.confirming import Question, confirm_first
from backend.web.shared.language import _


@readable
@require_safe
def reports_page(request: HttpRequest) -> HttpResponse:
    """All that was frozen, newest first."""
    reports = frozen_reports(workspace_of(request), has_bills=may(request, Scope.WRITE))
    return render(request, "reports/list.html", {"reports": reports})


@readable
@require_safe
def report_page(request: HttpRequest, slug: str) -> HttpResponse:
    """A report as it was frozen."""
    report = _report(request, slug)
    context = {
        "report": report,
        "address": request.build_absolute_uri(request.path),
        "source": source(report),
        "is_ranked": is_ranked(report),
    }
    if is_ranked(report):
        context |= _ranking_rows(report, is_whole=request.GET.get("rows") == "all")
    else:
        sheet = sheet_of(report.document)
        context |= {"sheet": sheet, "conclusion": sheet.conclusion, "chart": sheet.chart}
    return render(request, "reports/page.html", context)


def _ranking_rows(report: Report, *, is_whole: bool) -> dict[str, Any]:
    """Ranked rows, all of them or the first."""
    document, params = report.document, report.params
    lines, shown = report_lines(document), top_count(document)
    # Without this the page would offer a way to see more where there is no more.
    is_whole = is_whole or len(lines) <= shown
    return {
        "conclusion": report_conclusion(document),
        "basis": document["basis"],
        "base": base_label(document),
        "metric": words.metric(document["basis"]["metric"]),
        "chips": state.chips(params, ""),
        "lines": lines if is_whole else lines[:shown],
        "all_url": "" if is_whole else "?rows=all",
        "units": report_units(document),
        "chart": report_chart(document),
        "attributions": report_attributions(document),
    }


@readable
@require_safe
def report_pdf(request: HttpRequest, slug: str) -> HttpResponse:
    """The report on one page of A4, or of Letter with `?paper=letter`."""
    # Its library is loaded only for who asks for a PDF.
    from backend.web.reports.pdf import PAPERS, Frame, sheet_pdf

    report = _report(request, slug)
    paper = request.GET.get("paper", "a4").lower()
    if paper not in PAPERS:
        raise Http404(
            _(
                "There is no paper {paper!r}, only {papers}.",
                paper=paper[:20],
                papers=", ".join(PAPERS),
            )
        )
    address = request.build_absolute_uri(reverse("report", args=[slug]))
    cover = Frame(
        title=report.title,
        author=report.created_by,
        lede=_(
            "Frozen on {time} UTC by {person}. Nothing here has changed since.",
            time=f"{report.created_at:%Y-%m-%d %H:%M}",
            person=report.created_by,
        ),
        note=report.note,
        footer=_(
            "{address} · report {report} · data version {data_version} · Rackrate",
            address=address,
            report=report.pk,
            data_version=report.data_version,
        ),
    )
    return HttpResponse(
        sheet_pdf(cover, _sheet(report), paper),
        content_type="application/pdf",
        headers={"Content-Disposition": f'inline; filename="{report.slug}.pdf"'},
    )


def _sheet(report: Report) -> Sheet:
    if is_ranked(report):
        # Ranked rows are stored as cells and put in words here; other kinds store their words.
        return ranking_sheet(report.document, report.params)
    return sheet_of(report.document)


def _report(request: HttpRequest, slug: str) -> Report:
    report = get_object_or_404(Report, workspace=workspace_of(request), slug=slug)
    # As the bill itself: nobody else is to know that there is one.
    if report.kind == ReportKind.BILL and not may(request, Scope.WRITE):
        raise Http404
    return report


def _removable(request: HttpRequest, slug: str) -> Report:
    # Somebody may have quoted it: more is needed than for making one.
    demand(request, Scope.ADMIN)
    return _report(request, slug)


def _removal_question(request: HttpRequest, slug: str) -> Question:
    report = _removable(request, slug)
    return Question(
        _("Delete the report {title}?", title=report.title),
        _("Delete report"),
        reverse("report", args=[slug]),
        (
            _("Links to it stop working."),
            _("The figures frozen on {day} go.", day=f"{report.created_at:%Y-%m-%d}"),
        ),
    )


@readable
@confirm_first(_removal_question)
def report_remove(request: HttpRequest, slug: str) -> HttpResponse:
    report = _removable(request, slug)
    report_delete(report=report, actor=request.user.get_username())
    messages.success(request, _("The report “{title}” is deleted.", title=report.title))
    return HttpResponseRedirect(reverse("reports"))
