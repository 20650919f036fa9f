"""Tells subscribers of the audit trail of each of its entries, such as a webhook that collects them."""

from typing import Any

from django.conf import settings
from django.db.models.signals import post_save
from django.dispatch import receiver

from backend.accounts.models import AuditEntry
from backend.notifications.models import NoticeKind
from backend.notifications.services.notices import notice_queue


@receiver(post_save, sender=AuditEntry)
def _notify(instance: AuditEntry, **_: Any) -> None:
    words = instance.action.replace("_", " ")
    where = f" from {instance.address}" if instance.address else ""
    changed = sorted({*instance.before, *instance.after})
    notice_queue(
        workspace=instance.workspace,
        kind=NoticeKind.AUDIT,
        key=f"audit:{instance.pk}",
        document={
            "title": f"{instance.actor}: {words}",
            # Not the values: they stay where only admins read them.
            "detail": f"{instance.object_type} {instance.object_id}{where}"
            + (f"; changed: {', '.join(changed)}" if changed else ""),
            "url": f"{settings.PUBLIC_URL.rstrip('/')}/activity/?about={instance.object_id}",
            "actor": instance.actor,
            "action": instance.action,
            "object_type": instance.object_type,
            "object_id": instance.object_id,
            "address": instance.address,
            "request_id": instance.request_id,
        },
    )
