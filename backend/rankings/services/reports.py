"""Reports: what was decided by, frozen on a day with the words of whoever decided."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.core.rest.table import json_rows
from backend.core.slugs import slug_base
from backend.foundation.errors import InvalidValue
from backend.rankings.models import Report, ReportKind
from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.rows import RankingRow

MOST_ROWS = 2000
MOST_TITLE = 150
MOST_NOTE = 20_000
# Rows that a report shows first where no other number was chosen.
TOP = 10
# Slugs that are pages of their own.
RESERVED = frozenset({"new"})


def reports_visible(workspace: Workspace, *, has_bills: bool = False) -> QuerySet[Report]:
    """Reports of the workspace without what they froze, newest first; those of bills, which say what
    a company spends, only where they are asked for."""
    reports = Report.objects.filter(workspace=workspace).defer("document")
    return reports if has_bills else reports.exclude(kind=ReportKind.BILL)


def ranking_document(
    basis: Mapping[str, Any], rows: Sequence[RankingRow], top: int = TOP
) -> dict[str, Any]:
    """Frozen content of ranked rows; it shows the first `top` of them before the others.

    Raises InvalidValue for nothing to freeze, or too many rows.
    """
    if not 0 < len(rows) <= MOST_ROWS:
        raise InvalidValue("/params", f"{len(rows)} rows; 1 to {MOST_ROWS} can be frozen")
    return {
        "basis": dict(basis),
        "count": len(rows),
        "top": top,
        "columns": [column.name for column in COLUMNS],
        "rows": json_rows(COLUMNS, map(vars, rows)),
    }


@transaction.atomic
def report_create(
    *,
    workspace: Workspace,
    kind: str,
    title: str,
    note: str,
    params: Mapping[str, Sequence[str]],
    document: Mapping[str, Any],
    data_version: int,
    actor: str,
) -> Report:
    """Freeze a document as it is now, under the parameters that gave it.

    Raises InvalidValue for a title without a letter or digit or one in use, or words too long.
    """
    slug = slug_base(title, "")
    if not slug or len(title) > MOST_TITLE:
        raise InvalidValue("/title", f"1 to {MOST_TITLE} characters are needed, a letter or digit")
    if len(note) > MOST_NOTE:
        raise InvalidValue("/note", f"more than {MOST_NOTE} characters")
    is_taken = Report.objects.filter(workspace=workspace, slug=slug).exists()
    if is_taken or slug in RESERVED:
        raise InvalidValue("/title", f"a report {slug!r} exists; reports are never overwritten")
    report = Report.objects.create(
        workspace=workspace,
        kind=kind,
        slug=slug,
        title=title,
        note=note,
        params={name: list(values) for name, values in params.items()},
        document=document,
        data_version=data_version,
        created_by=actor,
    )
    audit_record(
        actor=actor,
        action="report_create",
        target=report,
        detail={"title": title, "kind": kind, "data_version": data_version},
    )
    return report


@transaction.atomic
def report_delete(*, report: Report, actor: str) -> None:
    """Take a report away; the audit trail keeps that it was."""
    # First: the row's key is gone once it is deleted.
    audit_record(actor=actor, action="report_delete", target=report, detail={"title": report.title})
    report.delete()
