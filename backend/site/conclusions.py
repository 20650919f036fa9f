"""Offers of a ranking as the sentence at the top of a page compares them."""

from dataclasses import replace

from backend.foundation.texts import join_texts
from backend.rankings.calc.conclusions import (
    Certainty,
    Conclusion,
    Contender,
    lead_words,
    likely_best,
)
from backend.rankings.selectors.answer import best_of_ranking, candidate_name
from backend.rankings.selectors.on_sale import (
    WORDS,
    NotOnSale,
    holds_its_score,
    left_out_words,
    stock_words,
)
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking
from backend.rankings.selectors.rows import RankingRow
from backend.site.charts import row_label
from backend.site.language import _


def contender(row: RankingRow, *, has_burstable: bool = False) -> Contender:
    """An offer under the name that charts give it; a score that it cannot hold is no value."""
    ends = (row.value_per_cost, row.value_per_cost_ci95_low, row.value_per_cost_ci95_high)
    known = [float(end) for end in ends if end is not None]
    is_sustained = has_burstable or holds_its_score(row.vcpu_kind, row.cpu_baseline_ratio, row.load)
    value = (known[0], known[1], known[2]) if len(known) == 3 and is_sustained else None
    return Contender(row_label(row), row.price, value, "" if value else _reason(row, is_sustained))


def _reason(row: RankingRow, is_sustained: bool) -> str:
    if row.price is None:
        return _("no price")
    if row.score is None:
        return _("no score yet")
    return _("its score cannot be compared") if is_sustained else WORDS[NotOnSale.BURST][0]


def of_ranking(ranked: Ranking, query: RankingQuery) -> Conclusion:
    """The conclusion of a ranking, whatever its order: the same best offer as the answer names."""
    ranked_best = best_of_ranking(ranked, query)
    best, detail = ranked_best.choice.best, left_out_words(ranked_best.left_out)
    if best is None:
        return Conclusion(
            _("No offer here that is on sale has both a price and a score."),
            Certainty.UNKNOWN,
            detail,
        )
    rivals = ranked_best.choice.rivals
    names = [candidate_name(rival) for rival in rivals]
    stock = stock_words(candidate.row for candidate in (best, *rivals))
    said = likely_best(candidate_name(best), best.p_best or 0, names)
    if not names and len(ranked_best.candidates) > 1:
        following = ranked_best.candidates.at(1)
        pair = [
            contender(candidate.row, has_burstable=True).value for candidate in (best, following)
        ]
        if pair[0] and pair[1]:
            lead = lead_words(candidate_name(following), pair[0], pair[1])
            said = replace(said, sentence=join_texts(" ", (said.sentence, lead)))
    return replace(said, detail=join_texts(" ", [part for part in (stock, detail) if part]))
