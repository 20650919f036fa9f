"""What can be bought and what it costs: providers, regions, offers, prices, exchange rates."""

from django.db import models

from backend.accounts.models import Workspace
from backend.common.models import Identified


class Provider(models.Model):
    """A cloud, a hoster, or `own` for machines that belong to the workspace."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    homepage = models.URLField(blank=True)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.name


class Region(models.Model):
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


class Kind(models.TextChoices):
    CLOUD = "cloud", "cloud"
    VPS = "vps", "VPS"
    DEDICATED = "dedicated", "dedicated"
    ONPREM = "onprem", "own rack"


class VcpuKind(models.TextChoices):
    DEDICATED = "dedicated", "dedicated"
    SHARED = "shared", "shared"
    BURSTABLE = "burstable", "burstable"


class Offer(Identified):
    """One type in one region, or one machine of our own. Unknown figures are None."""

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
    kind = models.CharField(max_length=10, choices=Kind)
    arch = models.CharField(max_length=10, blank=True)
    cpu_model = models.CharField(max_length=150, blank=True)
    vcpu_count = models.DecimalField(max_digits=8, decimal_places=3, null=True, blank=True)
    vcpu_kind = models.CharField(max_length=10, choices=VcpuKind, blank=True)
    thread_count = models.PositiveIntegerField(null=True, blank=True)
    memory_bytes = models.BigIntegerField(null=True, blank=True)
    disk_bytes = models.BigIntegerField(null=True, blank=True)
    disk_kind = models.CharField(max_length=20, blank=True)
    is_demo = models.BooleanField(default=False)
    """Loaded from the fixtures; removed by `demo remove` unless measured since."""
    note = models.TextField(blank=True)
    source = models.CharField(max_length=300, blank=True)
    stated_on = models.DateField(null=True, blank=True)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug


class PurchaseModel(models.TextChoices):
    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"
    SAVINGS = "savings"
    COMMITTED = "committed"
    MONTHLY = "monthly"
    PURCHASE = "purchase"


class PriceUnit(models.TextChoices):
    HOUR = "hour"
    MONTH = "month"
    YEAR = "year"
    ONCE = "once"


class PriceObservation(Identified):
    """One price as quoted. Append-only: a change is a new row."""

    offer = models.ForeignKey(Offer, on_delete=models.CASCADE, related_name="prices")
    zone = models.CharField(max_length=50, blank=True)
    operating_system = models.CharField(max_length=20, default="linux")
    tenancy = models.CharField(max_length=20, default="shared")
    purchase_model = models.CharField(max_length=10, choices=PurchaseModel)
    term = models.CharField(max_length=20, blank=True)
    upfront = models.CharField(max_length=20, blank=True)
    amount = models.DecimalField(max_digits=20, decimal_places=10)
    currency = models.CharField(max_length=3)
    unit = models.CharField(max_length=5, choices=PriceUnit)
    setup_amount = models.DecimalField(max_digits=20, decimal_places=10, null=True, blank=True)
    tax_basis = models.CharField(max_length=10, default="net")
    basis = models.CharField(max_length=60, default="machine")
    """What the price holds: machine, +disk, +ip, +egress, sustained_use."""
    source = models.CharField(max_length=300)
    raw_id = models.CharField(max_length=100, blank=True)
    payload_sha256 = models.CharField(max_length=64, blank=True)
    effective_from = models.DateField(null=True, blank=True)
    observed_at = models.DateTimeField()
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("offer_id", "purchase_model", "-observed_at")
        constraints = [
            models.CheckConstraint(condition=models.Q(amount__gt=0), name="price_is_positive"),
            models.UniqueConstraint(
                fields=(
                    "offer",
                    "zone",
                    "operating_system",
                    "tenancy",
                    "purchase_model",
                    "term",
                    "upfront",
                    "currency",
                    "basis",
                    "observed_at",
                ),
                name="price_once_an_observation",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}/{self.unit}"


class ExchangeRate(models.Model):
    """Units of a currency for one euro on a date."""

    date = models.DateField()
    currency = models.CharField(max_length=3)
    units_per_eur = models.DecimalField(max_digits=20, decimal_places=10)
    source = models.CharField(max_length=200)

    class Meta:
        ordering = ("-date", "currency")
        constraints = [
            models.UniqueConstraint(fields=("date", "currency"), name="rate_once_a_day"),
            models.CheckConstraint(
                condition=models.Q(units_per_eur__gt=0), name="rate_is_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.units_per_eur} {self.currency}/EUR on {self.date}"


class DataVersion(models.Model):
    """One row whose number grows whenever a price, offer, rate or sample changes."""

    number = models.BigIntegerField(default=1)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return str(self.number)
