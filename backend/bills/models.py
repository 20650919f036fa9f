"""Bills that were read: what they contain, and nothing of whose they are."""

from django.db import models
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.core.models import Identified
from backend.foundation.texts import text as _

# Who imported the example estate.
EXAMPLE_ACTOR = "demo"


class Bill(Identified):
    """The estate behind the bills of one or more files; their lines are not kept."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="bills")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=100)
    formats = models.CharField(max_length=40)
    """Slugs of the formats of its files, separated by commas."""
    sha256 = models.CharField(max_length=64)
    """Digest of the bytes of its files as they came, one after the other."""
    currency = models.CharField(max_length=3)
    total = models.DecimalField(max_digits=38, decimal_places=15)
    line_count = models.PositiveBigIntegerField()
    unreadable_count = models.PositiveBigIntegerField()
    estate = models.JSONField()
    """bills.calc.estate_document."""
    created_by = models.CharField(max_length=150)

    class Meta:
        ordering = ("-created_at",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "slug"), name="bill_slug_once"),
            models.UniqueConstraint(fields=("workspace", "sha256"), name="bill_file_once"),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_example(self) -> bool:
        """True if it is the public sample, whose licence asks for its notice."""
        return self.created_by == EXAMPLE_ACTOR


class UploadState(models.TextChoices):
    QUEUED = "queued", _("waits or is being read")
    DONE = "done", _("read")
    FAILED = "failed", _("refused")
    ASKS = "asks", _("waits for an answer")


class BillUpload(Identified):
    """A file that somebody sent, until a worker has read it: a job for those who wait."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="bill_uploads")
    name = models.CharField(max_length=100)
    """Name of the bill that it is to become."""
    file_name = models.CharField(max_length=200)
    format = models.CharField(max_length=10, blank=True)
    """Slug of its format where it is not to be recognised."""
    price_is = models.CharField(max_length=5, blank=True)
    """bills.calc.unit_prices; "" where its sender did not say."""
    size_bytes = models.PositiveBigIntegerField()
    state = models.CharField(max_length=10, choices=UploadState, default=UploadState.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    progress_ratio = models.FloatField(default=0)
    failure = models.TextField(blank=True)
    """Why it was refused, or the question that it waits for."""
    bill = models.ForeignKey(Bill, on_delete=models.SET_NULL, null=True, related_name="uploads")
    created_by = models.CharField(max_length=150)

    class Meta:
        ordering = ("created_at",)
        indexes = [
            models.Index(
                fields=("created_at",), name="bill_upload_queued", condition=Q(state="queued")
            )
        ]

    def __str__(self) -> str:
        return self.file_name


class BillUploadPart(models.Model):
    """A piece of the file as it came; deleted as soon as the file has been read."""

    upload = models.ForeignKey(BillUpload, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ("number",)
        constraints = [
            models.UniqueConstraint(fields=("upload", "number"), name="bill_upload_part_once")
        ]
