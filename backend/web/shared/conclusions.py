"""Offers of a ranking as the sentence at the top of a page compares them."""

from collections.abc import Iterable, Sequence

from backend.domain.conclusions import Conclusion, Contender, head_of_ranking
from backend.rankings.selectors.listing import counted, marked, selected, without_rank_bounds
from backend.rankings.selectors.rows import RankingRow
from backend.web.shared.charts import row_label


def contender(row: RankingRow) -> Contender:
    """An offer under the name that charts give it."""
    ends = (row.value_per_cost, row.value_per_cost_ci95_low, row.value_per_cost_ci95_high)
    known = [float(one) for one in ends if one is not None]
    return Contender(
        row_label(row), row.price, (known[0], known[1], known[2]) if len(known) == 3 else None
    )


def of_ranking(rows: Sequence[RankingRow]) -> Conclusion:
    """What the rows of a ranking come to, whatever their order."""
    rows = without_rank_bounds(rows)
    # All that share the first place: the sentence must not name a winner that the intervals do not show.
    first = min((one for one in counted(rows, "tie_group") if one is not None), default=None)
    is_first = marked(rows, "tie_group", lambda one: one is not None and one == first)
    group = _by_rank(selected(rows, is_first))
    others = selected(rows, marked(rows, "tie_group", lambda one: one not in {first, None}))
    second = min(counted(others, "rank"), default=None)
    following = next(
        iter(_by_rank(selected(others, marked(others, "rank", lambda one: one == second)))), None
    )
    return head_of_ranking(
        [contender(row) for row in group], contender(following) if following else None
    )


def _by_rank(rows: Iterable[RankingRow]) -> list[RankingRow]:
    return sorted(rows, key=lambda row: (row.rank or 0, row.offer_id))
