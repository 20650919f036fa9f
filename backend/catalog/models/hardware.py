"""Models of one's own servers."""

from django.db import models

from backend.accounts.models import Workspace
from backend.catalog.models.offers import Offer
from backend.catalog.models.prices import PriceObservation
from backend.core.models import Identified


class HardwareModel(Identified):
    """Cost of one's own servers: a document and its result. A change is a new version."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="hardware")
    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField(default=1)
    document = models.JSONField()
    """As stated (catalog.calc.hardware.Hardware); amounts are decimal strings."""
    cost = models.JSONField()
    """As calculated (catalog.calc.hardware.HardwareCost), with 34 digits."""
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="hardware")
    price = models.OneToOneField(
        PriceObservation, on_delete=models.PROTECT, related_name="hardware"
    )
    created_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ("name", "-version")
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "name", "version"), name="hardware_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"
