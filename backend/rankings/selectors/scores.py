"""The scores of offers: the stored ones (see benchmarks.summaries), or for an earlier day those
that the samples measured up to its end make."""

import datetime as dt
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.selectors.scores import Score, compute_scores
from backend.benchmarks.services.summaries import summary_scores
from backend.catalog.models import Offer
from backend.catalog.selectors.current_prices import end_of
from backend.measure.metrics import METRICS, Metric
from backend.measure.stats import DISTURBED

__all__ = [
    "DISTURBED",
    "Score",
    "for_reader",
    "scores",
    "scores_by_metric",
    "scores_of",
    "scores_seen",
]


def for_reader(score: Score, offer: Offer, workspace_slug: str) -> Score:
    """The score as the workspace sees it: without the address of a run of the default workspace,
    whose scores of shared offers all see but whose runs nobody else does."""
    is_owner = workspace_slug == DEFAULT_WORKSPACE or offer.workspace_id is not None
    return score if is_owner else _without_run(score)


def scores_seen(
    metric: Metric,
    as_of: dt.date | None,
    workspace_slug: str,
    offer_ids: Collection[UUID] | None = None,
) -> Iterator[tuple[UUID, Score]]:
    """Id and score of every offer, or of some, as the workspace sees them."""
    known = scores(metric, as_of, offer_ids)
    if workspace_slug == DEFAULT_WORKSPACE:
        yield from known
        return
    own = set(Offer.objects.filter(workspace__slug=workspace_slug).values_list("pk", flat=True))
    for offer_id, score in known:
        yield offer_id, score if offer_id in own else _without_run(score)


def _without_run(score: Score) -> Score:
    runs = f"{str(settings.PUBLIC_URL).rstrip('/')}/runs/"
    is_run = (score.result_url or "").startswith(runs)
    return replace(score, result_url=None) if is_run else score


def scores(
    metric: Metric, as_of: dt.date | None = None, offer_ids: Collection[UUID] | None = None
) -> Iterator[tuple[UUID, Score]]:
    """Id and score of every offer, or of some, that has one for the metric."""
    of = {} if offer_ids is None else {"offer_id__in": offer_ids}
    return _present_scores(as_of, metric=metric.key, **of)


def scores_by_metric(
    keys: Iterable[str], as_of: dt.date | None = None
) -> dict[str, dict[UUID, Score]]:
    """The same of several metrics (one query)."""
    by_key: dict[str, dict[UUID, Score]] = {key: {} for key in keys}
    for offer_id, score in _present_scores(as_of, metric__in=list(by_key)):
        by_key[score.metric.key][offer_id] = score
    return by_key


def scores_of(offer_ids: Iterable[UUID], as_of: dt.date | None = None) -> dict[UUID, list[Score]]:
    """Every ranking metric of each offer, in the order of METRICS; an empty list without any."""
    by_key: dict[UUID, dict[str, Score]] = {offer_id: {} for offer_id in offer_ids}
    for offer_id, score in _present_scores(as_of, offer_id__in=list(by_key)):
        by_key[offer_id][score.metric.key] = score
    return {offer_id: [of[key] for key in METRICS if key in of] for offer_id, of in by_key.items()}


def _present_scores(as_of: dt.date | None, **conditions: Any) -> Iterator[tuple[UUID, Score]]:
    if as_of is None:
        return summary_scores(**conditions)
    return compute_scores(measured_at__lt=end_of(as_of), **conditions)
