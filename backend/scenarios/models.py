"""Scenarios that people keep: the document that was asked, and of frozen ones the answer."""

from django.db import models

from backend.accounts.models import Workspace
from backend.common.models import Identified, Remembering


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
