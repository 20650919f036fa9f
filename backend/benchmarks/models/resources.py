"""Things rented at a provider for a run, their budget and their cost."""

from django.db import models
from django.db.models import Q

from backend.accounts.models import CloudAccount, Workspace
from backend.benchmarks.calc.rented_parts import LedgerKind
from backend.benchmarks.models.runs import Run
from backend.catalog.models import Offer, PriceObservation
from backend.core.models import Identified


class ResourceState(models.TextChoices):
    # The stored word stays as it is: callers filter by it.
    REQUESTED = "wanted", "Wanted"
    """Nothing is reserved and nothing was asked of the provider."""
    RESERVED = "reserved"
    # The launch was asked for, perhaps in vain; a machine may exist.
    CALLED = "called"
    CREATED = "created"
    """The provider named the machine."""
    GONE = "gone"
    """The provider says that nothing of it is left, or nothing was ever asked for."""


class ResourcePurchase(models.TextChoices):
    ON_DEMAND = "on_demand"
    SPOT = "spot"


class Resource(Identified):
    """A rented machine with all that belongs to it. Its id is the launch token: it is saved
    before the provider is called, and the same for every retry."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="resources")
    account = models.ForeignKey(CloudAccount, on_delete=models.PROTECT, related_name="resources")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="resource")
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="resources")
    state = models.CharField(max_length=10, choices=ResourceState, default=ResourceState.REQUESTED)
    purchase_model = models.CharField(
        max_length=10, choices=ResourcePurchase, default=ResourcePurchase.ON_DEMAND
    )
    credit_mode = models.CharField(max_length=10, blank=True)
    """Behaviour without CPU credits (measure.credits); empty for types that have none."""
    region = models.CharField(max_length=50)
    zone = models.CharField(max_length=50, blank=True)
    """Where it is tried now; empty leaves the choice to the provider."""
    zones = models.JSONField(default=list)
    """Zones to try, in this order; empty leaves the choice to the provider."""
    tried_zones = models.JSONField(default=list)
    """Zones that had no capacity in this round."""
    rounds = models.PositiveIntegerField(default=0)
    """How often every zone was full before."""
    machine_type = models.CharField(max_length=150)
    arch = models.CharField(max_length=10, blank=True)
    provider_id = models.CharField(max_length=200, blank=True)
    price = models.ForeignKey(
        PriceObservation, on_delete=models.PROTECT, null=True, related_name="resources"
    )
    hourly_amount = models.DecimalField(max_digits=28, decimal_places=18, null=True)
    """Price of an hour in the ledger, in `currency`: the price when it was reserved, with the
    surcharge of its credit mode."""
    parts = models.JSONField(default=list)
    """Parts that are charged by the hour beside it (benchmarks.calc.rented_parts)."""
    surplus = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    """Machines that the provider made of the launch beside the one that it is known to be: by their id
    `since`, `until` and `is_over`. They are charged until they are over."""
    currency = models.CharField(max_length=3, blank=True)
    # The machine ends itself after so many seconds, whatever becomes of us.
    lifetime_s = models.PositiveIntegerField()
    reserved_amount = models.DecimalField(max_digits=28, decimal_places=18, null=True)
    """Highest cost of `lifetime_s` with its parts, in `currency`."""
    budget_amount = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    budget_currency = models.CharField(max_length=3, blank=True)
    """The cap of this run alone; that of a campaign is the campaign's."""
    expires_at = models.DateTimeField(null=True)
    called_at = models.DateTimeField(null=True)
    """When the provider was first asked to launch it."""
    launched_at = models.DateTimeField(null=True)
    """When it began, by the provider's word."""
    gone_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    """When the provider last listed or described it."""
    last_error = models.TextField(blank=True)
    is_alarmed = models.BooleanField(default=False)

    class Meta:
        ordering = ("-created_at",)
        # Machines that are gone pile up; looks and limits ask for the others.
        indexes = [
            models.Index(
                fields=("account", "state"), condition=~Q(state="gone"), name="resource_alive"
            )
        ]

    def __str__(self) -> str:
        return f"{self.machine_type} {self.provider_id or self.pk} {self.state}"


class LedgerEntry(models.Model):
    """Cost of an hour of a machine's life, or of a part of it; written again with a later look,
    never twice."""

    resource = models.ForeignKey(Resource, on_delete=models.PROTECT, related_name="ledger")
    kind = models.CharField(
        max_length=10,
        choices=[(kind.value, kind.value) for kind in LedgerKind],
        default=LedgerKind.MACHINE.value,
    )
    period_start = models.DateTimeField()
    """A whole number of hours after the launch."""
    seconds = models.DecimalField(max_digits=10, decimal_places=3)
    """Seconds of the period in which the machine lived."""
    amount = models.DecimalField(max_digits=28, decimal_places=18)
    currency = models.CharField(max_length=3)

    class Meta:
        ordering = ("resource_id", "period_start", "id")
        # Each look writes its hours again: the constraint is what makes that a change and no second
        # entry.
        constraints = [
            models.UniqueConstraint(
                fields=("resource", "kind", "period_start"), name="ledger_once_a_period"
            )
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"
