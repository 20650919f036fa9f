"""Candidates ranked without a worth that is known before."""

from collections.abc import Iterable

from backend.domain import stats
from backend.domain.metrics import Metric
from backend.domain.ranking import Candidate, RankedRow, ranked_rows, worth


def ranked(
    candidates: Iterable[Candidate], metric: Metric, *, seed: int = stats.SEED
) -> list[RankedRow]:
    return ranked_rows([(one, worth(one, metric)) for one in candidates], metric, seed=seed)
