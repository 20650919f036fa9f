"""Machines that are or were rented: what they are, how long they may live, what they cost."""

from decimal import Decimal
from typing import Any

from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from backend.accounts.services.acting import workspace_of
from backend.benchmarks.models import Resource, ResourceState
from backend.benchmarks.selectors.rental_prices import parts_without_price, resource_cost
from backend.catalog.selectors.read_prices import as_quoted
from backend.core.rest.parameters import identifier, one_of, text
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import FilteredListView, ListAnswer
from backend.rentals.selectors.resources import resources_visible


class ResourcesView(FilteredListView):
    """Rented machines of the workspace, newest first; for callers who are known."""

    name = "resources"
    lookups = {
        "state": ("state", one_of(ResourceState.values)),
        "provider": ("account__provider", text),
        "account": ("account_id", identifier),
        "run": ("run_id", identifier),
        "campaign": ("run__campaign_id", identifier),
    }
    since = "created_at"
    orders = {"state": "state", "created_at": "created_at", "gone_at": "gone_at"}
    columns = (
        Column("id", ColumnType.TEXT, "Identifier, which is the launch token at the provider"),
        Column("state", ColumnType.TEXT, "wanted, reserved, called, created or gone"),
        Column("run", ColumnType.TEXT, "Identifier of the run that it is rented for"),
        Column("offer", ColumnType.TEXT, "Slug of the offer"),
        Column("provider", ColumnType.TEXT, "Slug of the provider"),
        Column("account", ColumnType.TEXT, "Identifier of the cloud account"),
        Column("machine_type", ColumnType.TEXT, "The provider's name of the type"),
        Column("region", ColumnType.TEXT, "Region"),
        Column("zone", ColumnType.TEXT, "Zone"),
        Column("purchase_model", ColumnType.TEXT, "on_demand or spot"),
        Column("provider_id", ColumnType.TEXT, "The provider's name of the machine"),
        Column("called_at", ColumnType.TIME, "When the provider was asked for it"),
        Column("launched_at", ColumnType.TIME, "When it began, by the provider's word"),
        Column("expires_at", ColumnType.TIME, "When it ends itself at the latest"),
        Column("gone_at", ColumnType.TIME, "When it was over"),
        Column("reserved", ColumnType.DECIMAL, "What it may cost at most"),
        Column("cost", ColumnType.DECIMAL, "What it has cost so far"),
        Column("currency", ColumnType.TEXT, "Currency of both"),
        Column("last_error", ColumnType.TEXT, "What the provider refused last"),
        Column("created_at", ColumnType.TIME, "When the run was asked for"),
        Column("credit_mode", ColumnType.TEXT, "Without CPU credits: standard, unlimited"),
        Column(
            "unpriced",
            ColumnType.TEXT,
            "Parts that cost without a known price: disk, address, traffic",
        ),
    )

    def listing(self, request: Request) -> ListAnswer:
        # Also where strangers may read: what is rented shows accounts and what they cost.
        if not request.user.is_authenticated:
            raise NotAuthenticated
        conditions, shown = self.asked(request)
        resources = resources_visible(workspace_of(request)).filter(**conditions)
        resources = resources.order_by("-created_at", "id")
        return ListAnswer(self.columns, resources, resources.count(), cells=_cells, **shown)


def _cells(resource: Any) -> dict[str, Any]:
    """A row of resources_visible."""
    return {
        **vars(resource),
        "run": resource.run_id,
        "offer": resource.offer.slug,
        "provider": resource.account.provider,
        "account": resource.account_id,
        "zone": resource.zone or None,
        "provider_id": resource.provider_id or None,
        "reserved": resource.reserved_amount and as_quoted(resource.reserved_amount),
        "cost": _cost(resource),
        "currency": resource.currency or None,
        "last_error": resource.last_error or None,
        "credit_mode": resource.credit_mode or None,
        "unpriced": ", ".join(parts_without_price(resource)) or None,
    }


def _cost(resource: Resource) -> Decimal | None:
    """As resource_cost, without a query for each row; nothing for a machine that never was."""
    cost: Decimal | None = getattr(resource, "charged", None)
    if resource.state != ResourceState.GONE:
        cost = resource_cost(resource)
    return None if cost is None else as_quoted(cost)
