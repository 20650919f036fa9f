"""Who sells what where: providers, regions and offers."""

from django.db import models

from backend.accounts.models import Workspace
from backend.core.models import Identified, Remembering
from backend.measure.credits import STANDARD, UNLIMITED


class Provider(Remembering):
    """A cloud, a hoster, or `own` for machines that belong to the workspace."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    homepage = models.URLField(blank=True)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.name


class Region(Remembering):
    """A provider's own name for a place."""

    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="regions")
    code = models.CharField(max_length=50)
    name = models.CharField(max_length=100, blank=True)
    country = models.CharField(max_length=2, blank=True)

    class Meta:
        ordering = ("provider__slug", "code")
        constraints = [
            models.UniqueConstraint(fields=("provider", "code"), name="region_code_once_a_provider")
        ]

    def __str__(self) -> str:
        return self.code


class OfferKind(models.TextChoices):
    CLOUD = "cloud", "cloud"
    VPS = "vps", "VPS"
    DEDICATED = "dedicated", "dedicated"
    ONPREM = "onprem", "own rack"


class VcpuKind(models.TextChoices):
    DEDICATED = "dedicated", "dedicated"
    SHARED = "shared", "shared"
    BURSTABLE = "burstable", "burstable"


class CreditMode(models.TextChoices):
    STANDARD = STANDARD, "standard"
    UNLIMITED = UNLIMITED, "unlimited"


class Offer(Remembering, Identified):
    """A type in one region, or one machine of our own. Unknown figures are None."""

    slug = models.SlugField(max_length=120, unique=True)
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="offers")
    region = models.ForeignKey(
        Region, on_delete=models.PROTECT, null=True, blank=True, related_name="offers"
    )
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, null=True, blank=True, related_name="offers"
    )
    """Owner of a private machine; None for what a provider sells to everybody."""
    name = models.CharField(max_length=150)
    kind = models.CharField(max_length=10, choices=OfferKind)
    arch = models.CharField(max_length=10, blank=True)
    cpu_model = models.CharField(max_length=150, blank=True)
    vcpu_count = models.DecimalField(max_digits=8, decimal_places=3, null=True, blank=True)
    is_vcpu_derived = models.BooleanField(default=False)
    """True if vCPUs and threads are those of its processors, as the seller states none."""
    vcpu_kind = models.CharField(max_length=10, choices=VcpuKind, blank=True)
    cpu_baseline_ratio = models.DecimalField(max_digits=7, decimal_places=6, null=True, blank=True)
    """Share of each vCPU that a type with CPU credits sustains; None where it earns none."""
    cpu_credit_price_usd_per_vcpu_hour = models.DecimalField(
        max_digits=9, decimal_places=6, null=True, blank=True
    )
    """Charge for running on without credits; None where that is not sold."""
    cpu_credit_default = models.CharField(max_length=10, choices=CreditMode, blank=True)
    """Mode of credits that a new machine starts in."""
    thread_count = models.PositiveIntegerField(null=True, blank=True)
    memory_bytes = models.BigIntegerField(null=True, blank=True)
    disk_bytes = models.BigIntegerField(null=True, blank=True)
    disk_kind = models.CharField(max_length=20, blank=True)
    inventory_facts = models.JSONField(default=dict, db_default={}, editable=False)
    """Field → value that an inventory filled in. Where the field has another one by now, somebody stated it."""
    is_demo = models.BooleanField(default=False)
    """Loaded from the fixtures; removed by `demo remove` unless measured since."""
    figures_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, editable=False, related_name="twins"
    )
    """The offer with the published figures of this machine type, where another region sells it, too."""
    note = models.TextField(blank=True)
    source = models.CharField(max_length=300, blank=True)
    stated_on = models.DateField(null=True, blank=True)
    discontinued_on = models.DateField(null=True, blank=True)
    """Day by which it was known that it can no longer be bought; None as long as it can."""
    no_orders_on = models.DateField(null=True, blank=True, editable=False)
    """Day on which its provider took no orders for it; stock changes from day to day."""

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug

    @property
    def owner(self) -> Workspace | None:
        """Who may write it (accounts.services.workspaces)."""
        return self.workspace
