"""What comes with the program ranks with an interval, in every metric."""

import pytest

from backend.benchmarks.models import StoredSummary
from backend.measure.metrics import METRICS
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import ranking

pytestmark = pytest.mark.django_db


def test_every_ranked_row_of_the_market_has_an_interval_and_its_basis(market: None) -> None:
    metrics = set(StoredSummary.objects.values_list("metric", flat=True)) & set(METRICS)
    assert {"cmips_score", "coremark_score"} <= metrics
    for metric in metrics:
        ranked = [row for row in ranking(RankingQuery(metric=metric)).rows if row.rank is not None]
        bare = [
            row.offer_id
            for row in ranked
            if not row.interval_basis
            or row.score_ci95_low is None
            or row.score_ci95_high is None
            or not row.score_ci95_low < row.score < row.score_ci95_high
            or not row.rank_low <= row.rank <= row.rank_high
        ]
        assert not bare, metric
