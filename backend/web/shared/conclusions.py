"""Offers of a ranking as the sentence at the top of a page compares them."""

from collections.abc import Iterable

from backend.domain.conclusions import Conclusion, Contender, head_of_ranking
from backend.rankings.selectors.rows import RankingRow
from backend.web.shared.charts import row_label


def contender(row: RankingRow) -> Contender:
    """An offer under the name that charts give it."""
    ends = (row.value_per_cost, row.value_per_cost_ci95_low, row.value_per_cost_ci95_high)
    known = [float(one) for one in ends if one is not None]
    return Contender(
        row_label(row), row.price, (known[0], known[1], known[2]) if len(known) == 3 else None
    )


def of_ranking(rows: Iterable[RankingRow]) -> Conclusion:
    """What the rows of a ranking come to, whatever their order."""
    ranked = sorted(
        (row for row in rows if row.rank is not None), key=lambda row: (row.rank, row.offer_id)
    )
    # All that share the first place: the sentence must not name a winner that the intervals do not show.
    group = [row for row in ranked if row.tie_group == ranked[0].tie_group]
    following = next(iter(ranked[len(group) :]), None)
    return head_of_ranking(
        [contender(row) for row in group], contender(following) if following else None
    )
