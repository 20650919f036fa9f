"""The audit trail: every entry is written here, with where the request of it came from."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import models

from backend.accounts.models import AuditEntry, Workspace
from backend.common.models import Remembering

# Address and id of the request that is being answered; no service has to hand them on.
_origin: ContextVar[tuple[str, str]] = ContextVar("origin", default=("", ""))


@contextmanager
def audited_from(*, address: str, request_id: str) -> Iterator[None]:
    """What is recorded meanwhile was asked for by this request."""
    token = _origin.set((address[:45], request_id[:64]))
    try:
        yield
    finally:
        _origin.reset(token)


def audit_record(
    *,
    workspace: Workspace,
    actor: str,
    action: str,
    target: models.Model,
    detail: dict[str, object] | None = None,
    is_private: bool = False,
) -> AuditEntry:
    """Append who did what to which object; `detail` holds no secret.

    Before and after are those of the row as it was read and as it is now, where its model is
    Remembering; not of something private, since others read the trail.
    """
    before, after = (
        target.changes() if isinstance(target, Remembering) and not is_private else ({}, {})
    )
    address, request_id = _origin.get()
    return AuditEntry.objects.create(
        workspace=workspace,
        actor=actor,
        action=action,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        detail=detail or {},
        before=before,
        after=after,
        address=address,
        request_id=request_id,
    )
