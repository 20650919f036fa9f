"""Discounts that a workspace has agreed with providers."""

from django.db import models

from backend.accounts.models import Workspace
from backend.catalog.models.offers import Provider
from backend.core.models import Identified, Remembering
from backend.money.pricing.discounts import DiscountService


class ContractDiscount(Remembering, Identified):
    """A row of a contract: so many percent off a service of a provider, for a time."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="discounts")
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="discounts")
    service = models.CharField(
        max_length=10, choices=[(service.value, service.value) for service in DiscountService]
    )
    percent = models.DecimalField(max_digits=6, decimal_places=3)
    valid_from = models.DateField(null=True, blank=True)
    valid_until = models.DateField(null=True, blank=True)
    """Last day."""

    class Meta:
        ordering = ("provider_id", "service", "valid_from")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(percent__gt=0, percent__lt=100), name="discount_in_percent"
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.service} {self.percent} %"

    @property
    def owner(self) -> Workspace | None:
        """Who may write it (accounts.services.workspaces)."""
        return self.workspace
