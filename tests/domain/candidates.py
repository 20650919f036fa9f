"""Candidates of a ranking with their worth, as rankings make them of offers."""

from dataclasses import dataclass
from decimal import Decimal

from backend.domain.metrics import Metric
from backend.domain.ranking import Worth, worth
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
