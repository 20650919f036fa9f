"""Samples of an offer, and those that a workspace may see."""

from uuid import UUID

from django.db.models import F, Q, QuerySet

from backend.accounts.models import Workspace
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import Run, Sample, Source
from backend.catalog.models import Offer

# Samples that count: all see the score of a shared offer, and its owner alone may change it.
BY_OWNER = (
    Q(run=None)
    | Q(run__workspace=F("offer__workspace"))
    | Q(offer__workspace=None, run__workspace__slug=DEFAULT_WORKSPACE)
)


def of_offer(offer_id: UUID) -> Q:
    """Samples of the offer and published ones of its machine type, which stand with another region's."""
    lead = Offer.objects.filter(pk=offer_id).values("figures_of")
    return Q(offer_id=offer_id) | Q(offer_id__in=lead, source=Source.PUBLISHED)


def samples_visible(workspace: Workspace) -> QuerySet[Sample]:
    """Samples of the workspace's own runs, and of no run those of public and own offers."""
    samples = Sample.objects.select_related("offer", "evidence", "run__workspace")
    return visible_samples(samples, workspace.slug)


def samples_count(workspace: Workspace) -> int:
    """How many samples_visible has: all but those of others, which are fewer or none, as to join
    each to its run and offer takes as long as reading them."""
    foreign = Sample.objects.filter(run__in=Run.objects.exclude(workspace=workspace))
    owned = Offer.objects.exclude(workspace=None).exclude(workspace=workspace)
    private = Sample.objects.filter(run=None, offer__in=owned)
    return Sample.objects.count() - foreign.count() - private.count()


def visible_samples(samples: QuerySet[Sample], workspace_slug: str) -> QuerySet[Sample]:
    """Samples among these that the workspace may see."""
    return samples.filter(
        Q(run__workspace__slug=workspace_slug)
        | Q(run=None, offer__workspace=None)
        | Q(run=None, offer__workspace__slug=workspace_slug)
    )
