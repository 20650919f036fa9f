"""Reads of a workspace's contract discounts; nobody else sees them."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.accounts.services.acting import workspace_of
from backend.catalog.models import ContractDiscount, PriceObservation
from backend.core import clock
from backend.core.rest.parameters import InvalidParameters
from backend.core.rest.permissions import WRITE
from backend.money.pricing.discounts import (
    Discount,
    DiscountService,
    discount_of,
)


def discounts_visible(workspace: Workspace) -> QuerySet[ContractDiscount]:
    """The rows of a workspace, by provider and service."""
    rows = ContractDiscount.objects.filter(workspace=workspace).select_related("provider")
    return rows.order_by("provider__slug", "service", "valid_from")


def contract(workspace: Workspace) -> list[Discount]:
    """The same as the domain reckons with them."""
    return [
        Discount(row.provider.slug, row.service, row.percent, row.valid_from, row.valid_until)
        for row in discounts_visible(workspace)
    ]


def no_discounts() -> list[Discount]:
    """Raises InvalidParameters: a contract is in no public figure."""
    detail = (
        "contract: rankings, comparisons and answers show prices of a contract, to those who may "
        "write prices: sign in"
    )
    raise InvalidParameters([("basis", detail)])


def discounts_of(request: Any) -> Callable[[], list[Discount]]:
    """Reads the contract of the workspace that a request acts in, where its reader may see that."""
    user = request.user
    if not (user.is_authenticated and user.scope.includes(WRITE)):
        return no_discounts
    return lambda: contract(workspace_of(request))


def machine_discount(discounts: list[Discount], price: PriceObservation) -> Discount | None:
    """The discount of today on the price of a machine."""
    return discount_of(
        discounts,
        provider=price.offer.provider.slug,
        service=DiscountService.COMPUTE,
        purchase_model=price.purchase_model,
        day=clock.now().date(),
    )
