"""Evidence and the samples read from it."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.benchmarks.models.hosts import Host
from backend.benchmarks.models.runs import Run
from backend.catalog.models import Offer


class Evidence(models.Model):
    """A command with its complete raw output, compressed, and its checksum.

    A result that was imported has an offer and no run; its text is kept in the same way.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="evidence")
    offer = models.ForeignKey(
        Offer, on_delete=models.CASCADE, null=True, related_name="imported_evidence"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    n = models.PositiveIntegerField()
    probe = models.CharField(max_length=20)
    variant = models.CharField(max_length=40, blank=True)
    repeat = models.PositiveIntegerField(default=0)
    command = models.TextField()
    tool_version = models.CharField(max_length=100, blank=True)
    conditions = models.JSONField(default=dict)
    """Observations of `observe` around the command (measure.readers.observe.Conditions)."""
    series = models.JSONField(null=True)
    """Observations of `observe`, one a second: column → values (measure.readers.observe.series)."""
    exit_code = models.IntegerField(null=True)
    error = models.TextField(blank=True)
    raw_gzip = models.BinaryField()
    object_key = models.CharField(max_length=200, blank=True, default="", db_default="")
    """Where the compressed text lies in the object store; empty where `raw_gzip` holds it."""
    size_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    file_hashes = models.JSONField(default=dict)
    """sha256 of each file as the target wrote it, by its suffix: what its manifest lists."""

    class Meta:
        ordering = ("run_id", "n")
        verbose_name_plural = "evidence"
        constraints = [
            # A step may be done twice, and its results come twice then.
            models.UniqueConstraint(fields=("run", "n"), name="evidence_number_once_a_run"),
            # Each text once for an offer; what runs measured may well be alike.
            models.UniqueConstraint(
                fields=("offer", "sha256"), condition=Q(run=None), name="text_imported_once"
            ),
            models.CheckConstraint(
                condition=Q(run=None, offer__isnull=False) | Q(run__isnull=False, offer=None),
                name="evidence_of_a_run_or_an_offer",
            ),
        ]
        indexes = [
            models.Index("created_at", condition=Q(object_key=""), name="evidence_in_the_database")
        ]

    def __str__(self) -> str:
        return f"{self.probe} {self.variant} {self.repeat}"


class Source(models.TextChoices):
    MEASURED = "measured"
    PUBLISHED = "published"
    IMPORTED = "imported"


class Sample(models.Model):
    """A number of one metric from one repeat, or one published figure."""

    offer = models.ForeignKey(Offer, on_delete=models.CASCADE, related_name="samples")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, null=True, related_name="samples")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="samples")
    evidence = models.ForeignKey(
        Evidence, on_delete=models.CASCADE, null=True, related_name="samples"
    )
    metric = models.CharField(max_length=40)
    variant = models.CharField(max_length=40)
    repeat = models.PositiveIntegerField(default=0)
    value = models.FloatField()
    unit = models.CharField(max_length=20)
    parameters = models.JSONField(default=dict)
    flags = ArrayField(models.CharField(max_length=20), default=list)
    source = models.CharField(max_length=10, choices=Source)
    source_note = models.CharField(max_length=300, blank=True)
    published_sd_ratio = models.FloatField(null=True)
    published_count = models.PositiveIntegerField(null=True)
    published_low = models.FloatField(null=True)
    """Lowest result behind a published figure, where its source states it with the highest."""
    published_high = models.FloatField(null=True)
    licence = models.CharField(max_length=80, blank=True)
    """Under which a published figure may be passed on, and whose it is."""
    method_version = models.CharField(max_length=80, blank=True)
    target = models.CharField(max_length=120, blank=True, default="", db_default="")
    """The volume or the other end that it is of (benchmarks.calc.targets); "" for the machine alone."""
    measured_at = models.DateTimeField()
    # A person's reason for leaving the sample out of summaries; nothing is deleted.
    excluded_reason = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("run", "metric", "variant", "repeat"), name="sample_once_a_repeat"
            ),
            models.UniqueConstraint(
                fields=("offer", "metric", "variant", "source_note"),
                # Loading the published tables again must change nothing.
                condition=Q(source="published"),
                name="published_figure_once",
            ),
        ]
        indexes = [
            models.Index(fields=("metric", "variant", "offer"), name="sample_by_metric"),
            # As the lists sort: without it each page of them would sort every sample.
            models.Index(fields=("-measured_at", "id"), name="sample_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.value} {self.unit}"

    @property
    def owner(self) -> Workspace | None:
        """Who may write it (accounts.services.workspaces)."""
        return self.run.workspace if self.run else self.offer.owner
