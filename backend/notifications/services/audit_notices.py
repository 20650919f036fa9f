"""Tells subscribers of the audit trail of what is recorded there, such as a webhook that collects it."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.dispatch import receiver

from backend.accounts.models import AuditEntry
from backend.accounts.services.audit import recorded
from backend.notifications.models import NoticeKind
from backend.notifications.services.notices import notice_queue


@receiver(recorded)
def _notify(entries: Sequence[AuditEntry], **_: Any) -> None:
    """A notice for what was done at once: a campaign may make ten thousand runs."""
    first, last = entries[0], entries[-1]
    times = f" ×{len(entries)}" if len(entries) > 1 else ""
    where = f" from {first.address}" if first.address else ""
    changed = sorted({*first.before, *first.after})
    notice_queue(
        workspace=first.workspace,
        kind=NoticeKind.AUDIT,
        key=f"audit:{first.pk}:{last.pk}",
        document={
            "title": f"{first.actor}: {first.action.replace('_', ' ')}{times}",
            # Not the values: they stay where only admins read them.
            "detail": f"{first.object_type} {first.object_id}{where}"
            + (f"; changed: {', '.join(changed)}" if changed else ""),
            "url": f"{settings.PUBLIC_URL.rstrip('/')}/activity/?about={first.object_id}",
            "actor": first.actor,
            "action": first.action,
            "object_type": first.object_type,
            "object_ids": [entry.object_id for entry in entries[:100]],
            "address": first.address,
            "request_id": first.request_id,
        },
    )
