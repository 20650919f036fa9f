"""Notices that wait."""

from django.db.models.functions import Now

from backend.notifications.models import Notice


def has_due_notices() -> bool:
    """Whether something waits to be delivered now."""
    return Notice.objects.filter(sent_at=None, next_due_at__lte=Now()).exists()
