"""Offers of a ranking with their value per cost, and their ranking: as rankings make them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from backend.measure.metrics import Metric
from backend.measure.pairwise import NO_FIGURE
from backend.measure.stats import Summary
from backend.rankings.calc.ranking import RankingInput, Standing, standings, values_per_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedOffer:
    offer_id: str
    summary: Summary | None
    price: float | None
    is_unfit: bool = False
    is_derived: bool = False
    source_figure: int = NO_FIGURE

    @property
    def score(self) -> float | None:
        return self.summary and self.summary.value


def ranking_input(offers: Sequence[RankedOffer], metric: Metric) -> RankingInput:
    """The offers as arrays."""
    slugs = sorted(one.offer_id for one in offers)
    price = np.array([nan if one.price is None else one.price for one in offers], np.float64)
    compared = np.where([one.is_unfit for one in offers], nan, price)
    summaries = [one.summary for one in offers]
    score, low, high = (
        np.array([nan if of is None else getattr(of, name) for of in summaries], np.float64)
        for name in ("value", "ci95_low", "ci95_high")
    )
    value, *ends = (values_per_cost(of, compared, metric) for of in (score, low, high))
    return RankingInput(
        value=value,
        low=np.minimum(*ends),
        high=np.maximum(*ends),
        price=price,
        score=score,
        is_unfit=np.array([one.is_unfit for one in offers], bool),
        is_derived=np.array([one.is_derived for one in offers], bool),
        source_figure=np.array([one.source_figure for one in offers], np.int64),
        name=np.array([slugs.index(one.offer_id) for one in offers], np.int64),
    )


def ranked(offers: Sequence[RankedOffer], metric: Metric) -> list[tuple[RankedOffer, Standing]]:
    """The offers in order, each with how it stands."""
    made = standings(ranking_input(offers, metric), metric)
    return [(offers[row], made.standing(place)) for place, row in enumerate(made.order.tolist())]
