"""The stored scores of offers (see benchmarks.summaries)."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from backend.benchmarks.services.summaries import Score, stored
from backend.domain.metrics import METRICS, Metric
from backend.domain.stats import DISTURBED

__all__ = ["DISTURBED", "Score", "scores", "scores_by_metric", "scores_of"]


def scores(metric: Metric) -> Iterator[tuple[UUID, Score]]:
    """Id and score of every offer that has one for the metric."""
    return stored(metric=metric.key)


def scores_by_metric(keys: Iterable[str]) -> dict[str, dict[UUID, Score]]:
    """The same of several metrics (one query)."""
    by_key: dict[str, dict[UUID, Score]] = {key: {} for key in keys}
    for offer_id, score in stored(metric__in=list(by_key)):
        by_key[score.metric.key][offer_id] = score
    return by_key


def scores_of(offer_ids: Iterable[UUID]) -> dict[UUID, list[Score]]:
    """Every ranking metric of each offer, in the order of METRICS; an empty list without any."""
    by_key: dict[UUID, dict[str, Score]] = {offer_id: {} for offer_id in offer_ids}
    for offer_id, score in stored(offer_id__in=list(by_key)):
        by_key[offer_id][score.metric.key] = score
    return {offer_id: [of[key] for key in METRICS if key in of] for offer_id, of in by_key.items()}
