"""Subscriptions: their one description, and those that a workspace may see."""

from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from pydantic import Field

from backend.accounts.models import Workspace
from backend.foundation.documents.model import Document
from backend.foundation.documents.values import Flag, Many, Text, Word
from backend.notifications.channels import CHANNELS
from backend.notifications.models import Notice, NoticeKind, Subscription

NEEDED_LENGTH = "16 to 200 characters are needed"


@dataclass(frozen=True)
class Secret(Text):
    """Key of signatures, with the blanks around it: the receiver signs with it as it was typed."""

    least: int = 16
    allowed: str = NEEDED_LENGTH
    is_secret: bool = True

    def read(self, value: Any) -> str:
        super().read(value)
        return str(value)


Kinds = list[Annotated[str, Word(choices=NoticeKind.values)]]


class SubscriptionFields(Document):
    """Fields of a subscription that may change and are shown."""

    address: Annotated[str, Text("E-mail address or URL", most=500)]
    kinds: Annotated[Kinds, Many(", ".join(NoticeKind.values), low=1)]
    is_enabled: Annotated[bool, Flag("Whether anything is sent"), Field(alias="enabled")] = True


class SubscriptionSettings(SubscriptionFields):
    """Everything that may change of a subscription; no secret leaves the stored one."""

    secret: Annotated[str | None, Secret("Signs the messages"), Field(repr=False)] = None


class SubscriptionDocument(SubscriptionSettings):
    """Who is notified of what; the secret that signs a webhook is kept encrypted and never shown."""

    channel: Annotated[str, Word(" or ".join(CHANNELS), choices=CHANNELS)]


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
