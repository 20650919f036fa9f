"""Subscriptions that a workspace may see."""

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery

from backend.accounts.models import Workspace
from backend.notifications.models import Notice, Subscription


def subscriptions_visible(workspace: Workspace) -> QuerySet[Subscription]:
    """Subscriptions with counts of their notices, and the newest error."""
    newest = Notice.objects.filter(subscription=OuterRef("pk")).exclude(last_error="")
    return Subscription.objects.filter(workspace=workspace).annotate(
        sent_count=Count("notices", filter=Q(notices__sent_at__isnull=False)),
        waiting_count=Count("notices", filter=Q(notices__next_due_at__isnull=False)),
        given_up_count=Count("notices", filter=Q(notices__sent_at=None, notices__next_due_at=None)),
        last_sent_at=Max("notices__sent_at"),
        last_error=Subquery(newest.order_by("-id").values("last_error")[:1]),
    )
