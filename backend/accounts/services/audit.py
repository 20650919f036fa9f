"""The audit trail: every entry is written here, with where the request of it came from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import models
from django.dispatch import Signal

from backend.accounts.models import AuditEntry, User, Workspace
from backend.accounts.services.workspaces import home_workspace
from backend.core.models import Remembering

# Sent with `entries`, all of one workspace and action, once they are written.
recorded = Signal()
# Address and id of the request that is being answered; no service has to hand them on.
_origin: ContextVar[tuple[str, str]] = ContextVar("origin", default=("", ""))


@contextmanager
def audit_context(*, address: str, request_id: str) -> Iterator[None]:
    """Record the audit entries within as asked for by this request."""
    token = _origin.set((address[:45], request_id[:64]))
    try:
        yield
    finally:
        _origin.reset(token)


def audit_record(
    *,
    actor: str,
    action: str,
    target: models.Model,
    workspace: Workspace | None = None,
    detail: Mapping[str, object] | None = None,
    is_private: bool = False,
) -> AuditEntry:
    """Append who did what to which object; `detail` holds no secret.

    Where no workspace is named it is the one that owns the object, of a person the one that they
    act in. Before and after are those of the row as it was read and as it is now, where its model
    is Remembering; not of something private, since others read the trail.
    """
    entry = _entry(
        workspace or _owner_of(target), actor, action, target, detail, is_private=is_private
    )
    _append([entry])
    return entry


def _owner_of(target: Any) -> Workspace:
    if isinstance(target, User):
        return home_workspace(target)
    owner: Workspace = target if isinstance(target, Workspace) else target.workspace
    return owner


def audit_record_all(
    *,
    workspace: Workspace,
    actor: str,
    action: str,
    targets: Iterable[models.Model],
    detail: Mapping[str, object] | None = None,
) -> None:
    """The same for many objects in one statement."""
    _append([_entry(workspace, actor, action, target, detail) for target in targets])


def audit_record_changes(
    *,
    workspace: Workspace,
    actor: str,
    action: str,
    changes: Iterable[tuple[models.Model, dict[str, object], dict[str, object]]],
) -> None:
    """An entry for each (object, fields before, fields after), in one statement."""
    entries = []
    for target, before, after in changes:
        entry = _entry(workspace, actor, action, target, None)
        entry.before, entry.after = before, after
        entries.append(entry)
    _append(entries)


def _append(entries: Sequence[AuditEntry]) -> None:
    AuditEntry.objects.bulk_create(entries, batch_size=1000)
    if entries:
        recorded.send(AuditEntry, entries=entries)


def _entry(
    workspace: Workspace,
    actor: str,
    action: str,
    target: models.Model,
    detail: Mapping[str, object] | None,
    *,
    is_private: bool = False,
) -> AuditEntry:
    before, after = (
        target.changes() if isinstance(target, Remembering) and not is_private else ({}, {})
    )
    address, request_id = _origin.get()
    return AuditEntry(
        workspace=workspace,
        actor=actor,
        action=action,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        detail=dict(detail or {}),
        before=before,
        after=after,
        address=address,
        request_id=request_id,
    )
