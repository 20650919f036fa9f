"""How long notices are kept that were sent, or that nobody tries to send any more."""

from backend.core.retention import Retention
from backend.notifications.models import Notice

POLICIES = (
    Retention(
        "notices",
        "RETAIN_NOTICES_DAYS",
        lambda before: Notice.objects.filter(created_at__lt=before, next_due_at=None),
    ),
)
