"""Prices of offers and extras, and the lists that they are read from."""

from enum import StrEnum

from django.db import models

from backend.accounts.models import Workspace
from backend.catalog.models.offers import Offer, Provider, Region
from backend.core.models import Identified, Remembering
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.money.pricing.quoted import ALL_MACHINES

# What a price of an offer is of: two observations that agree in these supersede each other.
PRICE_IDENTITY = (
    "zone",
    "operating_system",
    "tenancy",
    "purchase_model",
    "term",
    "upfront",
    "currency",
    "basis",
    "plan",
)


class Began(models.Func):
    """The moment from which a price counts: when it was read, or the begin of its first day (UTC)."""

    # Written out: a generated column takes only what no time zone of a connection changes.
    template = "greatest(observed_at, (valid_from::timestamp AT TIME ZONE 'UTC'))"
    arity = 0
    output_field = models.DateTimeField()


def _choices(members: type[StrEnum]) -> list[tuple[str, str]]:
    return [(member.value, member.name.replace("_", " ").title()) for member in members]


class QuotedPrice(models.Model):
    """Fields of a price, whoever stores it."""

    zone = models.CharField(max_length=50, blank=True)
    operating_system = models.CharField(max_length=20, default="linux")
    tenancy = models.CharField(max_length=20, default="shared")
    purchase_model = models.CharField(max_length=10, choices=_choices(PurchaseModel))
    term = models.CharField(max_length=20, blank=True)
    upfront = models.CharField(max_length=20, blank=True)
    plan = models.CharField(max_length=30, blank=True)
    """Distinguishes commitments of one term: standard, convertible, compute, ec2_instance."""
    amount = models.DecimalField(max_digits=28, decimal_places=18)
    currency = models.CharField(max_length=3)
    unit = models.CharField(max_length=5, choices=_choices(PriceUnit))
    setup_amount = models.DecimalField(max_digits=28, decimal_places=18, null=True, blank=True)
    """Paid once at the start beside it."""
    monthly_cap = models.DecimalField(max_digits=28, decimal_places=18, null=True, blank=True)
    """The most that a calendar month costs."""
    sustained_use = models.CharField(max_length=10, blank=True)
    """Table of discounts for long use in money.pricing.billing: n1 or n2."""
    valid_until = models.DateField(null=True, blank=True)
    """Last day of a quote, or of a price whose list states it."""
    minimum_months = models.PositiveSmallIntegerField(null=True, blank=True)
    """Months that have to be paid at least, where the seller states them."""
    tax_basis = models.CharField(max_length=10, default="net")
    tax_rate = models.DecimalField(max_digits=6, decimal_places=4, null=True, blank=True)
    """As stated beside the net price, as a ratio."""
    included = models.JSONField(default=dict, blank=True)
    """Things in the price beside the machine, such as traffic_bytes."""
    basis = models.CharField(max_length=60, default="machine")
    """Parts in the price: machine, +disk, +ip, +egress, sustained_use."""
    observed_at = models.DateTimeField()
    missing_since = models.DateTimeField(null=True, blank=True)
    """Since when its feed does not list it any more: stale, never deleted at once."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}/{self.unit}"


class PriceObservation(Identified, QuotedPrice):
    """A price as quoted. Append-only: a change is a new row."""

    offer = models.ForeignKey(Offer, on_delete=models.CASCADE, related_name="prices")
    source = models.CharField(max_length=300)
    feed = models.ForeignKey(
        "PriceFeed", on_delete=models.PROTECT, null=True, blank=True, related_name="prices"
    )
    """The list that it was read from; None for what a person stated."""
    raw_id = models.CharField(max_length=100, blank=True)
    payload_sha256 = models.CharField(max_length=64, blank=True)
    valid_from = models.DateField(null=True, blank=True)
    """First day, as stated; a price whose first day is to come is announced and counts from then."""
    applies_to = models.CharField(max_length=3, default=ALL_MACHINES, db_default=ALL_MACHINES)
    """`new`: machines ordered before its first day keep the price that they are billed at."""
    began_at = models.GeneratedField(
        expression=Began(), output_field=models.DateTimeField(), db_persist=True
    )
    is_published = models.BooleanField(default=True)
    """True if it counts. One that is not plausible waits in quarantine for a person."""
    anomaly = models.TextField(blank=True, db_column="doubt")
    """Why it was put into quarantine."""
    reviewed_by = models.CharField(max_length=150, blank=True)
    reviewed_at = models.DateTimeField(null=True, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("offer_id", "purchase_model", "-observed_at")
        constraints = [
            models.CheckConstraint(condition=models.Q(amount__gt=0), name="price_is_positive"),
            models.UniqueConstraint(
                fields=("offer", *PRICE_IDENTITY, "began_at", "observed_at"),
                name="price_once_an_observation",
            ),
        ]
        indexes = [
            models.Index(
                fields=("feed",),
                condition=models.Q(is_published=False, reviewed_at=None),
                name="price_in_quarantine",
            ),
            # Which currencies there are is asked for by most pages (selectors.rates.currencies).
            models.Index(fields=("currency",), name="price_by_currency"),
            # Which prices begin next is asked for after each change (services.current_prices).
            models.Index(
                fields=("valid_from",),
                condition=models.Q(valid_from__isnull=False),
                name="price_by_first_day",
            ),
        ]

    @property
    def owner(self) -> Workspace | None:
        """Who may write it (accounts.services.workspaces)."""
        return self.offer.owner


class PriceFeed(Remembering, Identified):
    """A list of prices that is read again and again: of a provider, a kind and a region."""

    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="feeds")
    kind = models.CharField(max_length=20)
    """on_demand (with reserved), spot, savings, … : the kind of the feed in the provider's record."""
    region = models.CharField(max_length=50, blank=True)
    """The provider's code; empty for a list of all regions."""
    is_enabled = models.BooleanField(default=True)
    """True if it is fetched by itself."""
    every_s = models.PositiveIntegerField(default=86_400)
    next_due_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    etag = models.CharField(max_length=300, blank=True)
    last_modified = models.CharField(max_length=100, blank=True)
    """Last-Modified that the next conditional request sends."""
    checked_at = models.DateTimeField(null=True)
    """When the provider last answered, be it that nothing changed."""
    changed_at = models.DateTimeField(null=True)
    requested_at = models.DateTimeField(null=True)
    """When a refresh last asked for it, whether or not it is fetched by itself."""
    tried_at = models.DateTimeField(null=True)
    """When it was last read, or could not be."""
    last_error = models.TextField(blank=True)
    trouble = models.CharField(max_length=12, blank=True)
    """Kind of the last error (providers.price_refresh.Trouble)."""
    failures = models.PositiveIntegerField(default=0)
    """Fetches that failed in a row."""
    summary = models.JSONField(default=dict)
    """Counts of the last answer: priced, unchanged, published, quarantined, missing, skipped."""

    class Meta:
        ordering = ("provider_id", "kind", "region")
        constraints = [
            models.UniqueConstraint(fields=("provider", "kind", "region"), name="feed_once")
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.kind} {self.region}".strip()

    @property
    def owner(self) -> Workspace | None:
        """Who may write it (accounts.services.workspaces)."""
        return None


class PricePayload(models.Model):
    """An answer of a price interface as it came, kept for 90 days."""

    feed = models.ForeignKey(PriceFeed, on_delete=models.CASCADE, related_name="payloads")
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    raw_gzip = models.BinaryField()
    fetched_at = models.DateTimeField()

    class Meta:
        ordering = ("-fetched_at",)
        constraints = [
            models.UniqueConstraint(fields=("feed", "sha256"), name="payload_once_a_feed")
        ]

    def __str__(self) -> str:
        return self.sha256


class UnpricedType(models.Model):
    """A type that a feed names without any price, and why."""

    feed = models.ForeignKey(PriceFeed, on_delete=models.CASCADE, related_name="unpriced")
    region = models.CharField(max_length=50, blank=True)
    name = models.CharField(max_length=150)
    reason = models.CharField(max_length=30)
    """money.price_lists.Reason."""
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("feed_id", "region", "name")
        constraints = [
            models.UniqueConstraint(
                fields=("feed", "region", "name"), name="unpriced_type_once_a_feed"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class ExtraKind(models.TextChoices):
    """Things bought beside a machine."""

    DISK = "disk", "disk"
    IPV4 = "ipv4", "public IPv4 address"
    EGRESS = "egress", "traffic to the internet"


class ExtraPrice(Identified):
    """A provider's price beside the machine. Append-only: a change is a new row."""

    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="extras")
    region = models.ForeignKey(
        Region, on_delete=models.PROTECT, null=True, blank=True, related_name="extras"
    )
    """None = every region that has no row of its own."""
    kind = models.CharField(max_length=6, choices=ExtraKind)
    tiers = models.JSONField()
    """[[up_to, amount], …] with decimal strings, the last up_to None: amount for each GB (egress),
    GB-month (disk), or address and hour (ipv4); quantities are of one month."""
    currency = models.CharField(max_length=3)
    tax_basis = models.CharField(max_length=10, default="net")
    observed_on = models.DateField()
    source = models.CharField(max_length=300)

    class Meta:
        ordering = ("provider_id", "region_id", "kind", "-observed_on")
        constraints = [
            models.UniqueConstraint(
                fields=("provider", "region", "kind", "observed_on"),
                name="extra_once_a_day",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.provider_id}"
