"""Reports: what was frozen with the words of a decision, dated and fit for paper."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope, Workspace
from backend.accounts.services.acting import workspace_of
from backend.rankings.models import Report, ReportKind
from backend.rankings.services.reports import report_delete, reports_visible
from backend.reports.pages.ranked import RankedReport
from backend.reports.pages.sheet import Sheet, sheet_of
from backend.scenarios.selectors.scenarios import scenarios_visible
from backend.site import state
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _, lazy


class LivePage(NamedTuple):
    """The page that a report was made from."""

    words: str
    url: str


# Kind of report → words, page, and the parameter that is a part of its path.
LIVE_PAGES: Mapping[str, tuple[str, str, str]] = {
    ReportKind.RANKING: (lazy("The same ranking today"), "offers", ""),
    ReportKind.COMPARISON: (lazy("The same comparison today"), "compare", ""),
    ReportKind.SCENARIO: (lazy("All figures of the scenario"), "scenario", "scenario"),
    ReportKind.HARDWARE: (lazy("The cost model"), "hardware-model", "model"),
    ReportKind.BILL: (lazy("The bill today"), "bill", "bill"),
    ReportKind.PRICES: (lazy("All changes of these days"), "price-changes", ""),
}


class ReportEntry(NamedTuple):
    """A line of the list of reports."""

    title: str
    url: str
    kind: str
    at: dt.datetime
    by: str
    data_version: int


@readable
@require_safe
def reports_page(request: HttpRequest) -> HttpResponse:
    """Reports, and scenarios that were frozen without one; the newest first."""
    workspace = workspace_of(request)
    reports = list(reports_visible(workspace, has_bills=may(request, Scope.WRITE)))
    entries = [*map(_entry, reports), *_scenarios_without(reports, workspace)]
    # Both kinds of rows come from different tables, so the order is made here.
    entries.sort(key=lambda entry: entry.at, reverse=True)
    return render(request, "reports/list.html", {"reports": entries})


def _entry(report: Report) -> ReportEntry:
    return ReportEntry(
        report.title,
        reverse("report", args=[report.slug]),
        report.get_kind_display(),
        report.created_at,
        report.created_by,
        report.data_version,
    )


def _scenarios_without(reports: list[Report], workspace: Workspace) -> Iterator[ReportEntry]:
    """Frozen scenarios that no report is of: the API freezes them alone."""
    reported = {
        report.params["scenario"][0] for report in reports if report.kind == ReportKind.SCENARIO
    }
    for scenario in scenarios_visible(workspace).exclude(slug__in=reported):
        if scenario.frozen_at is not None:
            yield ReportEntry(
                scenario.name,
                reverse("scenario", args=[scenario.slug]),
                _("scenario without a report"),
                scenario.frozen_at,
                scenario.created_by,
                scenario.data_version or 0,
            )


@readable
@require_safe
def report_page(request: HttpRequest, slug: str) -> HttpResponse:
    """A report as it was frozen."""
    report = _report(request, slug)
    context: dict[str, Any] = {
        "report": report,
        "address": request.build_absolute_uri(request.path),
        "source": _source(report),
    }
    shown: RankedReport | Sheet
    if _is_ranked(report):
        shown = ranked = RankedReport(report.document)
        # Else the page would offer a way to see more where there is no more.
        is_whole = request.GET.get("rows") == "all" or ranked.count <= ranked.top
        context |= {
            "ranked": ranked,
            "lines": ranked.lines if is_whole else ranked.lines[: ranked.top],
            "all_url": "" if is_whole else "?rows=all",
            "chips": state.chips(report.params, ""),
            "attributions": ranked.attributions,
        }
    else:
        shown = context["sheet"] = sheet_of(report.document)
    context |= {"conclusion": shown.conclusion, "chart": shown.chart}
    return render(request, "reports/page.html", context)


@readable
@require_safe
def report_pdf(request: HttpRequest, slug: str) -> HttpResponse:
    """The report on one page of A4, or of Letter with `?paper=letter`."""
    # Its library is loaded only for who asks for a PDF.
    from backend.reports.pages import pdf

    report = _report(request, slug)
    paper = request.GET.get("paper", "a4").lower()
    if paper not in pdf.PAPERS:
        raise Http404(
            _(
                "There is no paper {paper!r}, only {papers}.",
                paper=paper[:20],
                papers=", ".join(pdf.PAPERS),
            )
        )
    address = request.build_absolute_uri(reverse("report", args=[slug]))
    return HttpResponse(
        pdf.report_pdf(report, _sheet(report), address, paper),
        content_type="application/pdf",
        headers={"Content-Disposition": f'inline; filename="{report.slug}.pdf"'},
    )


def _is_ranked(report: Report) -> bool:
    """True if it has ranked rows; others have a sheet in words."""
    return report.kind in {ReportKind.RANKING, ReportKind.COMPARISON}


def _source(report: Report) -> LivePage:
    """Where the figures stand with everything around them."""
    words, page, subject = LIVE_PAGES[report.kind]
    params = dict(report.params)
    address = reverse(page, args=params.pop(subject, []))
    return LivePage(words, address + state.query(params))


def _sheet(report: Report) -> Sheet:
    if _is_ranked(report):
        # Ranked rows are stored as cells and put in words here; other kinds store their words.
        return RankedReport(report.document).sheet(report.params)
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
            _("The snapshot of {day} will be deleted.", day=f"{report.created_at:%Y-%m-%d}"),
        ),
    )


@readable
@confirm_first(_removal_question)
def report_remove(request: HttpRequest, slug: str) -> HttpResponse:
    report = _removable(request, slug)
    report_delete(report=report, actor=request.user.get_username())
    messages.success(request, _("The report “{title}” is deleted.", title=report.title))
    return HttpResponseRedirect(reverse("reports"))
