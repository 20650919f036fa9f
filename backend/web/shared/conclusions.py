"""Offers of a ranking as the sentence at the top of a page compares them."""

from backend.domain.conclusions import Contender
from backend.rankings.selectors.rows import RankingRow
from backend.web.shared.charts import row_label


def contender(row: RankingRow) -> Contender:
    """An offer under the name that charts give it."""
    ends = (row.value_per_cost, row.value_per_cost_ci95_low, row.value_per_cost_ci95_high)
    known = [float(one) for one in ends if one is not None]
    return Contender(
        row_label(row), row.price, (known[0], known[1], known[2]) if len(known) == 3 else None
    )
