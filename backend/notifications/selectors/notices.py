"""Notices that wait."""

from dataclasses import dataclass

from django.db.models import Count, Min
from django.db.models.functions import Now

from backend.core import clock
from backend.notifications.models import Notice


def has_due_notices() -> bool:
    """True if something waits to be delivered now."""
    return Notice.objects.filter(sent_at=None, next_due_at__lte=Now()).exists()


@dataclass(frozen=True)
class NoticeFigures:
    """Figures for the monitoring."""

    waiting_count: int
    """Notices to be sent, now or after a pause."""
    oldest_due_s: float
    """Since the first of them was due; 0 while none is late."""


def notice_figures() -> NoticeFigures:
    waiting = Notice.objects.filter(sent_at=None, next_due_at__isnull=False).aggregate(
        count=Count("pk"), oldest=Min("next_due_at")
    )
    late_s = (clock.now() - waiting["oldest"]).total_seconds() if waiting["oldest"] else 0.0
    return NoticeFigures(waiting["count"], max(late_s, 0.0))
