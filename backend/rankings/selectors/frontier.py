"""The price-performance frontier: offers by price and score, and those that nothing beats."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.selectors.data_version import DataStamp
from backend.measure.metrics import Metric
from backend.money.amounts import Flags
from backend.rankings.selectors.listing import floats, mark_rows, select_rows, value_counts
from backend.rankings.selectors.query import Filter, RankingQuery
from backend.rankings.selectors.ranking import ranking
from backend.rankings.selectors.rows import RankingRow

# Column and operator of the filters that set offers apart instead of hiding them.
LIMITING = frozenset({(c, o) for c in ("price", "score") for o in ("__lte", "__gte")})


@dataclass(frozen=True)
class Frontier:
    """Offers with a price and a score: within the limits best value first, and those beyond."""

    metric: Metric
    within: Sequence[RankingRow]
    beyond: Sequence[RankingRow]
    limits: Sequence[Filter]
    left_out_count: int
    """Offers that the filters keep and that cannot be drawn: no price, or an unfit result."""
    data_version: int
    is_part: bool = False
    """True if offers of the ranking are left out, so that the line is another one than its own."""

    @cached_property
    def line(self) -> list[RankingRow]:
        """The offers that nothing beats, cheapest first."""
        rows = self.within
        is_on_line = (
            _unbeaten(rows, self.metric) if self.is_part else mark_rows(rows, "pareto", bool)
        )
        front = select_rows(rows, is_on_line)
        return sorted(front, key=lambda row: (row.price or Decimal(), row.offer_id))

    def of(
        self,
        within: Sequence[RankingRow],
        keep: Callable[[Sequence[RankingRow]], Sequence[RankingRow]],
    ) -> "Frontier":
        """The picture of some of the offers within the limits, and of those beyond that are kept."""
        return replace(self, within=within, beyond=keep(self.beyond), is_part=True)


def frontier(
    query: RankingQuery, *, workspace_slug: str = DEFAULT_WORKSPACE, stamp: DataStamp | None = None
) -> Frontier:
    """The offers under a query, without their rank bounds. Limits on price and score only set apart
    what is beyond them: whatever beats an offer within a budget and a demand is within them too."""
    # Hidden, what is just beyond a budget could not be seen in the picture.
    limits = [
        condition
        for condition in query.filters
        if (condition.column, condition.operator) in LIMITING
    ]
    listed = ranking(query, workspace_slug=workspace_slug, stamp=stamp, has_rank_bounds=False)
    within = _drawable(listed.rows)
    beyond: Sequence[RankingRow] = ()
    left_out_count = listed.count - len(within)
    if limits:
        others = tuple(condition for condition in query.filters if condition not in limits)
        # Only where a limit hides something: most requests have none.
        everyone = ranking(
            replace(query, filters=others),
            workspace_slug=workspace_slug,
            stamp=stamp,
            has_rank_bounds=False,
        )
        kept = value_counts(within, "offer_id")
        drawable = _drawable(everyone.rows)
        beyond = select_rows(
            drawable, mark_rows(drawable, "offer_id", lambda slug: slug not in kept)
        )
        left_out_count = everyone.count - len(drawable)
    return Frontier(
        metric=listed.metric,
        within=within,
        beyond=beyond,
        limits=limits,
        left_out_count=left_out_count,
        data_version=listed.data_version,
    )


def _unbeaten(rows: Sequence[RankingRow], metric: Metric) -> Flags:
    """Rows than which none costs no more and scores better, nor costs less and scores as well."""
    prices, scores = floats(rows, "price"), floats(rows, "score")
    quality = scores if metric.is_higher_better else -scores
    order = np.lexsort((-quality, prices))
    ascending = quality[order]
    highest = np.maximum.accumulate(ascending)
    is_new = np.concatenate(([True], ascending[1:] > highest[:-1]))[: order.size]
    # Equal rows stay together.
    leader = order[np.maximum.accumulate(np.where(is_new, np.arange(order.size), 0))]
    unbeaten = np.zeros(order.size, bool)
    unbeaten[order] = (prices[order] == prices[leader]) & (ascending == quality[leader])
    return unbeaten


def _drawable(rows: Sequence[RankingRow]) -> Sequence[RankingRow]:
    return select_rows(rows, ~np.isnan(floats(rows, "price") + floats(rows, "value_per_cost")))
