"""Samples that a workspace may see."""

from django.db.models import Q, QuerySet

from backend.accounts.models import Workspace
from backend.benchmarks.models import Sample


def samples_visible(workspace: Workspace) -> QuerySet[Sample]:
    """Those of its runs, and of no run those of public offers and of its own."""
    return Sample.objects.filter(
        Q(run__workspace=workspace)
        | Q(run=None, offer__workspace=None)
        | Q(run=None, offer__workspace=workspace)
    ).select_related("offer", "evidence")
