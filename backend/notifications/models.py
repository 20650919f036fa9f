"""Who is notified of what, and the notices that they get."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.core.models import Identified, Remembering
from backend.foundation.texts import text as _
from backend.notifications.channels import channel_choices


class NoticeKind(models.TextChoices):
    RUN_FAILED = "run_failed", _("a run failed or was lost")
    RUN_DONE = "run_done", _("a run has ended with results")
    CAMPAIGN_DONE = "campaign_done", _("a campaign came to its end")
    REGRESSION = "regression", _("a result is outside its normal range")
    LEAK = "leak", _("a rented machine does not go away, or a cloud does not answer")
    PRICES = "prices", _("prices are not plausible and wait for a person")
    AUDIT = "audit", _("any audit-log event")


# Of what people are notified unless they say otherwise: every run that ends well is for programs.
USUAL_KINDS = [kind for kind in NoticeKind.values if kind != NoticeKind.RUN_DONE]


class Subscription(Remembering, Identified):
    """A recipient of notices: of which kinds, and by which channel."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="subscriptions")
    channel = models.CharField(max_length=20, choices=channel_choices)
    address = models.CharField(max_length=500)
    """Checked by the channel."""
    sealed_secret = models.BinaryField(null=True, editable=False)
    """Key of the signature, where the channel signs."""
    kinds = ArrayField(models.CharField(max_length=20, choices=NoticeKind))
    # No relation: campaigns are rows of an app above this one.
    campaign = models.UUIDField(null=True)
    """The only campaign it is notified of; None: of everything."""
    is_enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ("created_at",)

    def __str__(self) -> str:
        return f"{self.channel} {self.address}"


class Notice(models.Model):
    """A message to one subscription; its key makes it go out once."""

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="notices")
    key = models.CharField(max_length=150)
    document = models.JSONField()
    """kind, title, detail, url, at, and the ids that it is about, to ask the API with."""
    created_at = models.DateTimeField(auto_now_add=True)
    next_due_at = models.DateTimeField(null=True)
    """None once sent, and after the last attempt."""
    attempt = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=("subscription", "key"), name="notice_once")]
        # Sent notices pile up; the index holds only those that may be due.
        indexes = [
            models.Index(fields=("next_due_at",), condition=Q(sent_at=None), name="notice_due_open")
        ]

    def __str__(self) -> str:
        return self.key
