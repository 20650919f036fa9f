"""The audit trail."""

from django.db import models

from backend.accounts.models import AuditEntry, Workspace


def audit_record(
    *,
    workspace: Workspace,
    actor: str,
    action: str,
    target: models.Model,
    detail: dict[str, object] | None = None,
) -> AuditEntry:
    """Append who did what to which object; `detail` holds no secret."""
    return AuditEntry.objects.create(
        workspace=workspace,
        actor=actor,
        action=action,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        detail=detail or {},
    )
