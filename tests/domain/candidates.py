"""Candidates of a ranking with their worth, as rankings make them of offers."""

from decimal import Decimal

from backend.domain.metrics import Metric
from backend.domain.ranking import Candidate, worth
from backend.domain.stats import Summary


def candidate(
    offer_id: str,
    score: Summary,
    price: Decimal | None,
    metric: Metric,
    price_per_hour: Decimal | None = None,
) -> Candidate:
    its = worth(score, price, price_per_hour, metric)
    return Candidate(offer_id=offer_id, score=score, price=price, worth=its)
