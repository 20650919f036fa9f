"""Campaigns and when they start by themselves."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.benchmarks.calc.campaign_document import NetworkPairs
from backend.benchmarks.models.hosts import Host
from backend.catalog.models import Offer
from backend.core.models import Identified, Remembering
from backend.providers.rentals import Budget


class CampaignState(models.TextChoices):
    DRAFT = "draft"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class Campaign(Remembering, Identified):
    """Hosts × a profile × a budget. Each start is a round of runs of its own."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="campaigns")
    name = models.CharField(max_length=100)
    hosts = models.ManyToManyField(Host, related_name="campaigns")
    offers = models.ManyToManyField(Offer, related_name="campaigns")
    """Machines to rent, which only drivers that launch can do."""
    profile = models.CharField(max_length=10)
    probes = ArrayField(models.CharField(max_length=20), null=True)
    parameters = models.JSONField(default=dict)
    repeats = models.PositiveIntegerField(default=1)
    concurrency = models.PositiveIntegerField(default=4)
    budget_amount = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    budget_currency = models.CharField(max_length=3, blank=True)
    install_tools = models.BooleanField(null=True)
    """True if missing tools are installed for a run; None = on machines that are rented only."""
    network_pairs = models.CharField(max_length=5, default=NetworkPairs.NONE.value)
    state = models.CharField(max_length=10, choices=CampaignState, default=CampaignState.DRAFT)
    round = models.PositiveIntegerField(default=0)
    """Number of the newest round; 0 before the first start."""

    class Meta:
        ordering = ("-created_at",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "name"), name="campaign_name_once")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def budget(self) -> Budget | None:
        """The most that a round may cost."""
        if self.budget_amount is None:
            return None
        return Budget(self.budget_amount, self.budget_currency)

    @budget.setter
    def budget(self, budget: Budget | None) -> None:
        self.budget_amount = budget.amount if budget else None
        self.budget_currency = budget.currency if budget else ""


class RoundStart(models.Model):
    """A round of which not all runs are made yet: they are made some hundreds at a time."""

    campaign = models.OneToOneField(
        Campaign, on_delete=models.CASCADE, primary_key=True, related_name="round_start"
    )
    requests = models.JSONField()
    """Machines to measure, in order: host, offer to rent, other end of a pair."""
    made_count = models.PositiveIntegerField(default=0)
    """How many of these were dealt with, saved with their runs."""
    actor = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"{self.made_count} of {len(self.requests)} runs made"


class Schedule(Remembering, Identified):
    """When a campaign starts by itself: a cron line or an interval, in a time zone."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="schedules")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="schedules")
    cron = models.CharField(max_length=100, blank=True)
    every_s = models.PositiveIntegerField(null=True)
    time_zone = models.CharField(max_length=50)
    window_from = models.TimeField(null=True)
    window_to = models.TimeField(null=True)
    """Maintenance window in the time zone; it may cross midnight. None = at any time."""
    is_enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    last_outcome = models.CharField(max_length=200, blank=True)
    """Outcome of the last due time: a round, or why it was skipped."""

    class Meta:
        ordering = ("created_at",)
        # The tick asks for these every few seconds, and disabled ones never come due.
        indexes = [
            models.Index(fields=("next_at",), condition=Q(is_enabled=True), name="schedule_due")
        ]

    def __str__(self) -> str:
        return self.cron or f"every {self.every_s} s"
