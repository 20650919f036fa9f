"""The audit trail."""

from django.db.models import QuerySet

from backend.accounts.models import AuditEntry, Workspace


def audit_entries(workspace: Workspace) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(workspace=workspace)
