"""A score of one offer: the samples behind it, and those that were left out with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Prefetch, prefetch_related_objects

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import Evidence, Sample
from backend.benchmarks.selectors.samples import of_offer, visible_samples
from backend.benchmarks.selectors.scores import ScoreOrigin, score_origin
from backend.catalog.models import Offer
from backend.catalog.selectors.offers import offers_visible
from backend.measure.metrics import Metric
from backend.measure.stats import UNFIT

MOST_SHOWN = 100


@dataclass(frozen=True)
class LeftOutSample:
    """A sample of the offer and metric that the score does not pool, and why in one word."""

    sample: Sample
    reason: str
    """excluded · no_value · source · variant · earlier · unfit."""


@dataclass(frozen=True)
class ScoreDetail:
    """Score of one offer and metric; samples newest first. With their runs and evidence come the
    first MOST_SHOWN of each list: a machine that is measured every night has thousands."""

    offer: Offer
    origin: ScoreOrigin
    pooled: Sequence[Sample]
    left_out: Sequence[LeftOutSample]


def score_detail(
    slug: str, metric: Metric, *, workspace_slug: str = DEFAULT_WORKSPACE
) -> ScoreDetail | None:
    """None where the offer has no score for the metric. Raises Offer.DoesNotExist."""
    offer = offers_visible(workspace_slug).get(slug=slug)
    origin = score_origin(offer.pk, metric)
    if origin is None:
        return None
    of_metric = Sample.objects.filter(of_offer(offer.pk), metric=metric.key)
    samples = visible_samples(of_metric, workspace_slug).order_by("-measured_at", "id")
    pooled, left_out = [], []
    for sample in samples:
        if sample.pk in origin.pooled:
            pooled.append(sample)
        else:
            left_out.append(LeftOutSample(sample, _reason(sample, origin)))
    shown = [*pooled[:MOST_SHOWN], *(left.sample for left in left_out[:MOST_SHOWN])]
    evidence = Prefetch("evidence", Evidence.objects.defer("raw_gzip", "series"))
    prefetch_related_objects(shown, "run", "host", evidence)
    return ScoreDetail(offer, origin, pooled, left_out)


def _reason(sample: Sample, origin: ScoreOrigin) -> str:
    if sample.excluded_reason:
        return "excluded"
    if sample.value <= 0:
        return "no_value"
    if sample.source != origin.score.source:
        return "source"
    if sample.variant != origin.score.variant:
        return "variant"
    if sample.pk in origin.earlier or UNFIT.isdisjoint(sample.flags):
        return "earlier"
    return "unfit"
