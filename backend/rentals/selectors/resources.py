"""Rented machines that a workspace may see."""

from django.db.models import QuerySet, Sum

from backend.accounts.models import Workspace
from backend.benchmarks.models import Resource


def resources_visible(workspace: Workspace) -> QuerySet[Resource]:
    """Machines rented by the workspace, newest first, with run, account and offer; `charged` is
    what the ledger holds of each."""
    rented = Resource.objects.filter(workspace=workspace)
    return rented.select_related("run", "account", "offer__provider").annotate(
        charged=Sum("ledger__amount")
    )
