"""The audit trail."""

import datetime as dt

from django.db.models import Q, QuerySet

from backend.accounts.models import AuditEntry, Workspace


def audit_entries(workspace: Workspace) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(workspace=workspace)


def audit_narrowed(
    entries: QuerySet[AuditEntry],
    *,
    actor: str = "",
    action: str = "",
    about: str = "",
    since: dt.date | None = None,
    until: dt.date | None = None,
) -> QuerySet[AuditEntry]:
    """The entries that pass; what is empty narrows nothing. Days are those of UTC."""
    if actor:
        entries = entries.filter(actor__icontains=actor)
    if action:
        entries = entries.filter(action=action)
    if about:
        entries = entries.filter(Q(object_id__icontains=about) | Q(object_type__icontains=about))
    if since:
        entries = entries.filter(at__gte=_midnight(since))
    if until:
        entries = entries.filter(at__lt=_midnight(until) + dt.timedelta(days=1))
    return entries


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)
