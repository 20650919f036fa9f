"""What the first page shows of an answer: the sentence, the picture and ten rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from backend.domain.attributions import attributions
from backend.domain.conclusions import Certainty, Conclusion
from backend.rankings.selectors.answer import BestBuy, OwnStanding
from backend.rankings.selectors.frontier import Frontier
from backend.rankings.selectors.listing import by_rank, counted, floats
from backend.rankings.selectors.rows import RankingRow
from backend.web.frontier.page import frontier_chart
from backend.web.ranking.remembered import remembered
from backend.web.shared import figures, state
from backend.web.shared.basis import basis_words, picture
from backend.web.shared.offer_lines import OfferLine, offer_lines

ROWS_SHOWN = 10
MOST_OWN = 3
# How the metrics begin that a machine has only where its system has the tool.
NEEDS_STRESS_NG = "stress_ng"
# Of the picture, which is half as wide as that of the frontier page.
MOST_POINTS, MOST_DOTS = 60, 400


@dataclass(frozen=True)
class OwnLine:
    """A machine of one's own: where it stands, and below which price it is the best value."""

    line: OfferLine
    rank: int | None
    limit: str


@dataclass(frozen=True)
class _Picture:
    """Price and score of the offers that meet the need."""

    scale: figures.UnitScale
    chart: dict[str, Any]
    has_beyond: bool

    @classmethod
    def of(
        cls, front: Frontier, cost: str, captions: dict[str, str], own: Sequence[RankingRow]
    ) -> "_Picture":
        scale = figures.scale(front.metric.unit, floats(front.within, "score").tolist())
        most = (MOST_POINTS, MOST_DOTS)
        chart = frontier_chart(front, scale, cost, captions, own=own, most=most)
        return cls(scale, chart, bool(front.beyond))


def answered(
    its: BestBuy, frontier: Callable[[], Frontier], params: state.Params
) -> dict[str, Any]:
    """The context of an answer; `params` are those of the ranking that it is taken from."""
    ranked = its.ranking
    metric = ranked.metric
    cost = state.cost(params)
    basis = remembered(ranked, "basis of the answer", lambda: basis_words(params, ranked.rows))
    rows = list(islice((row for row in ranked.rows if row.rank is not None), ROWS_SHOWN))
    own = its.own[:MOST_OWN]
    # Everything that follows from the ranking alone is kept with it: this page is asked for most.
    captions = picture(f"answer-{metric.key}", params, basis, ranked.data_version)
    drawn = remembered(
        ranked,
        "picture of the answer",
        lambda: _Picture.of(frontier(), cost, captions, [_drawn(one) for one in own]),
    )
    scale = drawn.scale
    # In the units of the other lines: two tables under each other are compared by eye.
    own_lines = offer_lines((one.row for one in own), metric, scale, cost)
    return {
        "conclusion": Conclusion(its.sentence, _certainty(its)),
        "metric": metric,
        "basis": basis,
        "cost": cost,
        "units": (scale.unit, figures.value_scale(scale, metric.better, cost).unit),
        "lines": offer_lines(rows, metric, scale, cost),
        "ranked_count": len(by_rank(ranked.rows)),
        "unscored_count": ranked.without_score_count,
        "own": [
            OwnLine(line, one.rank, figures.money(one.break_even_price, one.row.period))
            for line, one in zip(own_lines, own, strict=True)
        ],
        "lacks_stress_ng": _lacks_stress_ng(its),
        "frontier": {"beyond": drawn.has_beyond},
        "chart": drawn.chart,
        "attributions": remembered(
            ranked, "attributions", lambda: attributions(counted(ranked.rows, "licence"))
        ),
    }


def _lacks_stress_ng(its: BestBuy) -> bool:
    """Whether offers rank by a figure of the tool, and no machine of one's own beside them."""
    is_by_it = its.ranking.metric.key.startswith(NEEDS_STRESS_NG)
    return is_by_it and its.best is not None and not its.own


def _certainty(its: BestBuy) -> Certainty:
    if its.best is None:
        return Certainty.UNKNOWN
    return Certainty.TIE if its.ties else Certainty.CLEAR


def _drawn(one: OwnStanding) -> RankingRow:
    """The machine as a point: without a price it stands where it would be the best value."""
    # What nothing beats among all offers need not lie on the line of those that meet the need.
    row = replace(one.row, pareto=False)
    if row.price is not None:
        return row
    return replace(row, price=one.break_even_price, region="at its break-even price")
