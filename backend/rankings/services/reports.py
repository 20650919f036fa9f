"""Reports: a ranking frozen on a day, with the words of whoever decided by it."""

from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils.text import slugify

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.common.rest.table import json_rows
from backend.domain.errors import InvalidValue
from backend.rankings.models import Report
from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.ranking import Ranking

MOST_ROWS = 2000
MOST_TITLE = 150
MOST_NOTE = 20_000
TOP = 10
"""Rows that a report shows first where no other number was chosen."""


def reports_visible(workspace: Workspace) -> QuerySet[Report]:
    """Reports of the workspace without what they froze, newest first."""
    return Report.objects.filter(workspace=workspace).defer("document")


@transaction.atomic
def report_create(
    *,
    workspace: Workspace,
    title: str,
    note: str,
    params: Mapping[str, Sequence[str]],
    listed: Ranking,
    actor: str,
    top: int = TOP,
) -> Report:
    """Freeze the rows of a ranking as they are now, under the parameters that gave them.

    The report shows the first `top` of them before the others.

    Raises InvalidValue for a title without a letter or digit or one in use, words too long,
    nothing to freeze, or too many rows.
    """
    slug = slugify(title)[:80]
    if not slug or len(title) > MOST_TITLE:
        raise InvalidValue("/title", f"1 to {MOST_TITLE} characters are needed, a letter or digit")
    if len(note) > MOST_NOTE:
        raise InvalidValue("/note", f"more than {MOST_NOTE} characters")
    if Report.objects.filter(workspace=workspace, slug=slug).exists():
        raise InvalidValue("/title", f"a report {slug!r} exists; reports are never overwritten")
    if not 0 < listed.count <= MOST_ROWS:
        raise InvalidValue("/params", f"{listed.count} rows; 1 to {MOST_ROWS} can be frozen")
    report = Report.objects.create(
        workspace=workspace,
        slug=slug,
        title=title,
        note=note,
        params={name: list(values) for name, values in params.items()},
        document={
            "basis": dict(listed.basis),
            "count": listed.count,
            "top": top,
            "columns": [column.name for column in COLUMNS],
            "rows": json_rows(COLUMNS, map(vars, listed.rows)),
        },
        data_version=listed.data_version,
        created_by=actor,
    )
    audit_record(
        workspace=workspace,
        actor=actor,
        action="report_create",
        target=report,
        detail={"title": title, "rows": listed.count, "data_version": listed.data_version},
    )
    return report


@transaction.atomic
def report_delete(*, report: Report, actor: str) -> None:
    """Take a report away; the audit trail keeps that it was."""
    audit_record(
        workspace=report.workspace,
        actor=actor,
        action="report_delete",
        target=report,
        detail={"title": report.title},
    )
    report.delete()
