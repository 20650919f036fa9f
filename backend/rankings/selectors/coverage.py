"""Which offers have a figure for a metric, and which lack it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import StoredSummary
from backend.catalog.selectors.offers import offers_visible
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import ranking
from backend.rankings.selectors.rows import RankingRow


def metrics_scored() -> frozenset[str]:
    """Keys of the metrics that any offer has a score for (one query)."""
    rows = StoredSummary.objects.order_by().values_list("metric", flat=True)
    return frozenset(rows.distinct())


def licences_of(metrics: Iterable[str]) -> frozenset[str]:
    """Licences of the scores of these metrics (one query)."""
    rows = StoredSummary.objects.filter(metric__in=list(metrics)).order_by()
    return frozenset(rows.values_list("licence", flat=True).distinct())


@dataclass(frozen=True)
class MetricCoverage:
    """How many offers have the metric, and those that lack it, by slug."""

    scored_count: int
    lacking: Sequence[RankingRow]


def scored_counts(workspace_slug: str = DEFAULT_WORKSPACE) -> tuple[Mapping[str, int], int]:
    """Offers with a score by metric (metrics without any are absent), and offers in all."""
    visible = offers_visible(workspace_slug).order_by()
    rows = StoredSummary.objects.filter(offer__in=visible.values("pk")).order_by()
    counted = rows.values_list("metric").annotate(count=Count("offer"))
    return dict(counted), visible.count()


def coverage(key: str, workspace_slug: str = DEFAULT_WORKSPACE) -> MetricCoverage:
    listed = ranking(RankingQuery(metric=key), workspace_slug=workspace_slug)
    lacking = sorted(listed.unscored, key=lambda row: row.offer_id)
    return MetricCoverage(listed.count, lacking)
