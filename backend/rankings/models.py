"""Objects that people keep: saved views of a ranking, the keys of their feeds, and frozen reports."""

from django.db import models

from backend.accounts.models import AccessKey, User, Workspace
from backend.core.models import Identified, Remembering


class Visibility(models.TextChoices):
    """Who sees a saved view beside its owner."""

    PRIVATE = "private", "private"
    SHARED = "shared", "shared"


class SavedView(Remembering, Identified):
    """The parameters of a page under a name: filters, columns, order and units."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="views")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=100)
    params = models.JSONField()
    """Parameter name to its values, as in a URL; never page, per_page, view or dialect."""
    visibility = models.CharField(max_length=7, choices=Visibility, default=Visibility.SHARED)
    owner = models.CharField(max_length=150)
    """User name, or `token <name>`."""
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name", "slug")
        constraints = [
            models.UniqueConstraint(fields=("workspace", "slug"), name="view_slug_once"),
            models.UniqueConstraint(fields=("workspace", "owner", "name"), name="view_name_once"),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_private(self) -> bool:
        return self.visibility == Visibility.PRIVATE


class FeedKey(AccessKey):
    """A secret address under which one saved view is read."""

    view = models.ForeignKey(SavedView, on_delete=models.CASCADE, related_name="feed_keys")
    created_by = models.CharField(max_length=150)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="feed_keys")
    """It ends with their membership; None for a key that a command made."""

    class Meta:
        ordering = ("created_at",)

    def __str__(self) -> str:
        return f"{self.name} of {self.view_id}"


class ReportKind(models.TextChoices):
    """Subject of a frozen report."""

    RANKING = "ranking", "ranking"
    COMPARISON = "comparison", "comparison"
    SCENARIO = "scenario", "scenario"
    HARDWARE = "hardware", "own hardware"
    BILL = "bill", "bill"
    PRICES = "prices", "price changes"


class Report(Identified):
    """A decision as it looked on its day: figures, what they rest on and words, frozen."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="reports")
    kind = models.CharField(max_length=10, choices=ReportKind, default=ReportKind.RANKING)
    slug = models.SlugField(max_length=80)
    title = models.CharField(max_length=150)
    note = models.TextField(blank=True)
    params = models.JSONField()
    """Parameters of what was frozen, so that it can be asked for again: those of the ranking or
    comparison; `scenario`, its slug; `model`, the id of a cost model."""
    document = models.JSONField()
    """The frozen content. Of a ranking or comparison: `columns`, `rows` (decimal strings as in the
    API), `basis`, `count`; `top`, how many rows come first. Of the others a sheet: `conclusion`,
    `chart`, `columns`, `rows` and `facts` in words."""
    data_version = models.BigIntegerField()
    created_by = models.CharField(max_length=150)

    class Meta:
        ordering = ("-created_at",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "slug"), name="report_slug_once")
        ]

    def __str__(self) -> str:
        return self.slug
