"""Which offers have a figure for a metric, and which lack it."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import eq

import numpy as np
from django.db.models import Count

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import StoredSummary
from backend.catalog.selectors.offers import offers_visible
from backend.rankings.selectors.listing import floats, mark_rows, select_rows, value_counts
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
class ProviderCoverage:
    """The offers of a provider among those that an answer compares; none where it has none there."""

    provider: str
    regions: tuple[str, ...]
    offer_count: int
    newest_price_on: dt.date | None


def market_coverage(
    rows: Sequence[RankingRow], workspace_slug: str = DEFAULT_WORKSPACE
) -> list[ProviderCoverage]:
    """The priced rows by provider, most of them first; providers without any are named, too."""
    priced = select_rows(rows, ~np.isnan(floats(rows, "price")))
    covered = []
    for slug, count in value_counts(priced, "provider").items():
        own = select_rows(priced, mark_rows(priced, "provider", partial(eq, slug)))
        regions = sorted(region for region in value_counts(own, "region") if region)
        days = [day for day in value_counts(own, "price_observed_on") if day]
        covered.append(ProviderCoverage(slug, tuple(regions), count, max(days) if days else None))
    covered.sort(key=lambda provider: (-provider.offer_count, provider.provider))
    visible = offers_visible(workspace_slug).filter(discontinued_on=None).order_by()
    slugs = set(visible.values_list("provider__slug", flat=True).distinct())
    absent = sorted(slugs - {provider.provider for provider in covered})
    return [*covered, *(ProviderCoverage(slug, (), 0, None) for slug in absent)]


@dataclass(frozen=True)
class MetricCoverage:
    """How many offers have the metric, and those that lack it, by slug."""

    scored_count: int
    lacking: Sequence[RankingRow]


def score_counts(workspace_slug: str = DEFAULT_WORKSPACE) -> tuple[Mapping[str, int], int]:
    """Offers with a score by metric (metrics without any are absent), and offers in all."""
    visible = offers_visible(workspace_slug).order_by()
    rows = StoredSummary.objects.filter(offer__in=visible.values("pk")).order_by()
    counted = rows.values_list("metric").annotate(count=Count("offer"))
    return dict(counted), visible.count()


def coverage(key: str, workspace_slug: str = DEFAULT_WORKSPACE) -> MetricCoverage:
    listed = ranking(RankingQuery(metric=key), workspace_slug=workspace_slug)
    lacking = sorted(listed.unscored, key=lambda row: row.offer_id)
    return MetricCoverage(listed.count, lacking)
