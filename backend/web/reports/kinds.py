"""Kinds of reports: where their subject is today, and the list of all of them."""

import datetime as dt
from typing import NamedTuple

from django.urls import reverse

from backend.accounts.models import Workspace
from backend.rankings.models import Report, ReportKind
from backend.rankings.services.reports import reports_visible
from backend.scenarios.selectors.scenarios import scenarios_visible
from backend.web.shared import state
from backend.web.shared.language import _


class LivePage(NamedTuple):
    """The page that a report was made from."""

    words: str
    url: str


class Frozen(NamedTuple):
    """A line of the list of reports."""

    title: str
    url: str
    kind: str
    at: dt.datetime
    by: str
    data_version: int


def is_ranked(report: Report) -> bool:
    """True if it has ranked rows; others have a sheet in words."""
    return report.kind in {ReportKind.RANKING, ReportKind.COMPARISON}


def source(report: Report) -> LivePage:
    """Where the figures stand with everything around them."""
    match report.kind:
        case ReportKind.COMPARISON:
            url = reverse("compare") + state.query(report.params)
            return LivePage(_("The same comparison today"), url)
        case ReportKind.SCENARIO:
            slug = report.params["scenario"][0]
            return LivePage(_("All figures of the scenario"), reverse("scenario", args=[slug]))
        case ReportKind.HARDWARE:
            model = report.params["model"][0]
            return LivePage(_("The cost model"), reverse("hardware-model", args=[model]))
        case ReportKind.BILL:
            address = reverse("bill", args=[report.params["bill"][0]])
            assumed = {k: v for k, v in report.params.items() if k != "bill"}
            return LivePage(_("The bill today"), address + state.query(assumed))
        case ReportKind.PRICES:
            url = reverse("price-changes") + state.query(report.params)
            return LivePage(_("All changes of these days"), url)
    return LivePage(_("The same ranking today"), reverse("offers") + state.query(report.params))


def frozen_reports(workspace: Workspace, *, has_bills: bool) -> list[Frozen]:
    """Reports, and scenarios that were frozen without one; the newest first."""
    reports = list(reports_visible(workspace, has_bills=has_bills))
    rows = [
        Frozen(
            report.title,
            reverse("report", args=[report.slug]),
            report.get_kind_display(),
            report.created_at,
            report.created_by,
            report.data_version,
        )
        for report in reports
    ]
    reported = {
        slug
        for report in reports
        if report.kind == ReportKind.SCENARIO
        for slug in report.params["scenario"]
    }
    # The API freezes a scenario without a report.
    rows += [
        Frozen(
            scenario.name,
            reverse("scenario", args=[scenario.slug]),
            _("scenario without a report"),
            scenario.frozen_at,
            scenario.created_by,
            scenario.data_version or 0,
        )
        for scenario in scenarios_visible(workspace).exclude(slug__in=reported)
        if scenario.frozen_at is not None
    ]
    # Both kinds of rows come from different tables, so the order is made here.
    return sorted(rows, key=lambda row: row.at, reverse=True)
