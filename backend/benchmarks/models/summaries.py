"""Stored summaries of an offer's samples (benchmarks.summaries)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from backend.benchmarks.models.results import Source
from backend.catalog.models import Offer


class StoredSummary(models.Model):
    """A metric of one offer: the fields are those of benchmarks.summaries.Score.

    No constraint ties it to its offer: a row that is left behind is marked, and goes.
    """

    offer = models.ForeignKey(
        Offer, on_delete=models.DO_NOTHING, db_constraint=False, related_name="summaries"
    )
    metric = models.CharField(max_length=40)
    variant = models.CharField(max_length=40)
    value = models.FloatField()
    ci95_low = models.FloatField()
    ci95_high = models.FloatField()
    n_instances = models.PositiveIntegerField(null=True)
    n_repeats = models.PositiveIntegerField(null=True)
    interval_basis = models.CharField(max_length=20)
    is_unstable = models.BooleanField()
    is_unfit = models.BooleanField()
    flags = ArrayField(models.CharField(max_length=20))
    source = models.CharField(max_length=10, choices=Source)
    measured_at = models.DateTimeField()
    method_version = models.CharField(max_length=80, blank=True)
    target = models.CharField(max_length=120, blank=True, default="", db_default="")
    licence = models.CharField(max_length=80, blank=True)
    cpu_models = models.JSONField(default=dict)
    result = models.CharField(max_length=300, blank=True)
    """A path of our own site, or the address that a source states."""

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "stored summaries"
        constraints = [
            models.UniqueConstraint(fields=("metric", "offer"), name="summary_once_a_metric")
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.value}"
