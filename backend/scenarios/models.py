"""Scenarios that people keep: the document that was asked, and of frozen ones the answer."""

from django.db import models
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.core.models import Identified, Remembering


class Scenario(Remembering, Identified):
    """A scenario document under a name. A frozen one never changes and keeps its result."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="scenarios")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=100)
    document = models.JSONField()
    """As stated (schema 1); amounts are decimal strings."""
    template = models.CharField(max_length=40, blank=True)
    """Key of the template that it was opened from."""
    updated_at = models.DateTimeField(auto_now=True)
    created_by = models.CharField(max_length=150)
    frozen_at = models.DateTimeField(null=True)
    resolved = models.JSONField(null=True)
    """Frozen: the document with prices and scores instead of offers."""
    result = models.JSONField(null=True)
    data_version = models.BigIntegerField(null=True)
    """Frozen: state of the data that prices and scores were taken from."""
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("name", "slug")
        constraints = [
            models.UniqueConstraint(fields=("workspace", "slug"), name="scenario_slug_once")
        ]

    def __str__(self) -> str:
        return self.slug


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)


class ScenarioJob(Identified):
    """A document that workers calculate for somebody who does not wait for the answer."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="scenario_jobs")
    created_by = models.CharField(max_length=150)
    name = models.CharField(max_length=100)
    """Name of its document."""
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    # As text: PostgreSQL puts members of JSON in another order, and the answer has that of the request.
    document = models.TextField(blank=True)
    """With the prices and scores of the moment it was asked for; of a job that has a result or may
    come to one."""
    assumptions = models.TextField()
    """Values that stand for offers in it, as JSON."""
    data_version = models.BigIntegerField()
    options_count = models.PositiveIntegerField()
    result = models.TextField(null=True)  # noqa: DJ001 - an empty text is no result
    reason = models.CharField(max_length=20, blank=True)
    """Why it failed: one of foundation.errors.Reason."""
    failure = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    woken_at = models.DateTimeField()
    """When the last message for it was sent to workers, or one of them last began a piece of it."""

    class Meta:
        ordering = ("created_at",)
        indexes = [
            models.Index(
                fields=("woken_at",),
                name="scenario_job_open",
                condition=Q(state__in=("queued", "running")),
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)


class ScenarioJobPiece(models.Model):
    """Some options of a job for one worker, or without any the comparison of all; deleted when the
    job ends."""

    job = models.ForeignKey(ScenarioJob, on_delete=models.CASCADE, related_name="pieces")
    first = models.PositiveIntegerField()
    count = models.PositiveIntegerField()
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_token = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    figures = models.TextField(null=True)  # noqa: DJ001 - None: it was not calculated yet
    """Its options by themselves (scenarios.calc.alone), as JSON."""

    class Meta:
        ordering = ("first",)
        constraints = [
            models.UniqueConstraint(fields=("job", "first"), name="scenario_job_piece_once")
        ]

    def __str__(self) -> str:
        return f"{self.job_id}/{self.first}"
