"""Candidates of a ranking with their worth, and their ranking: what rankings make of offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from backend.domain.amounts import Amounts
from backend.domain.metrics import Metric
from backend.domain.ranking import Contest, Standing, Worth, standings, worth
from backend.domain.stats import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedOffer:
    offer_id: str
    score: float | None
    price: Decimal | None
    is_unfit: bool = False
    worth: Worth | None = None


def candidate(
    offer_id: str,
    score: Summary,
    price: Decimal | None,
    metric: Metric,
    price_per_hour: Decimal | None = None,
) -> RankedOffer:
    its = worth(score, price, price_per_hour, metric)
    return RankedOffer(offer_id=offer_id, score=score.value, price=price, worth=its)


def amounts(figures: Sequence[Decimal | None]) -> Amounts:
    """A column of figures, each under a key of its own."""
    floats = np.array([np.nan if one is None else float(one) for one in figures], np.float64)
    return Amounts(floats, np.arange(floats.size), lambda row: figures[row] or Decimal(0))


def contest(offers: Sequence[RankedOffer]) -> Contest:
    """The offers as arrays."""
    slugs = sorted(one.offer_id for one in offers)
    of = [one.worth for one in offers]
    nan = float("nan")
    return Contest(
        value=amounts([its and its.value_per_cost for its in of]),
        low=np.array([its.low if its else nan for its in of], np.float64),
        high=np.array([its.high if its else nan for its in of], np.float64),
        price=amounts([one.price for one in offers]),
        score=np.array([nan if one.score is None else one.score for one in offers], np.float64),
        is_unfit=np.array([one.is_unfit for one in offers], bool),
        name=np.array([slugs.index(one.offer_id) for one in offers], np.int64),
    )


def ranked(offers: Sequence[RankedOffer], metric: Metric) -> list[tuple[RankedOffer, Standing]]:
    """The offers in order, each with how it stands."""
    made = standings(contest(offers), metric)
    return [(offers[row], made.standing(place)) for place, row in enumerate(made.order.tolist())]
