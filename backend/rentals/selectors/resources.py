"""Rented machines that a workspace may see."""

from django.db.models import QuerySet, Sum

from backend.accounts.models import Workspace
from backend.benchmarks.models import Resource, ResourceState


def resources_visible(workspace: Workspace) -> QuerySet[Resource]:
    """Machines rented by the workspace, newest first, with run, account and offer; `charged` is
    what the ledger holds of each."""
    rented = Resource.objects.filter(workspace=workspace)
    return rented.select_related("run", "account", "offer__provider").annotate(
        charged=Sum("ledger__amount")
    )


def resources_beside(resource: Resource) -> QuerySet[Resource]:
    """Other machines of the same account that may exist now."""
    living = (ResourceState.CALLED, ResourceState.CREATED)
    return Resource.objects.filter(account_id=resource.account_id, state__in=living).exclude(
        pk=resource.pk
    )


def is_type_proven(resource: Resource) -> bool:
    """True where its account has rented such a machine in the region before."""
    alike = Resource.objects.filter(
        account_id=resource.account_id,
        machine_type=resource.machine_type,
        region=resource.region,
        launched_at__isnull=False,
    )
    return alike.exclude(pk=resource.pk).exists()
