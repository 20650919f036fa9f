"""Rows of a ranking made by hand, for what pages compute of them without a database."""

import dataclasses
import datetime as dt
from decimal import Decimal
from typing import Any

from backend.rankings.selectors.rows import RankingRow

DAY = dt.date(2026, 11, 1)
KNOWN = {
    "provider": "aws",
    "kind": "cloud",
    "region": "eu-west-1",
    "currency": "USD",
    "period": "hour",
    "hours_per_month": 730,
    "price_term": "on_demand",
    "price_basis": "machine",
    "price_observed_on": DAY,
    "metric": "cmips_score",
    "data_version": 7,
    "flags": "",
    "missing": "",
    "available": True,
}


def ranking_row(slug: str, score: float | None, price: str | None, **given: Any) -> RankingRow:
    """An offer with a score and an hourly price in USD; whatever is not given is unknown.

    The interval is a tenth of the score to both sides.
    """
    amount = None if price is None else Decimal(price)
    worth = Decimal(str(score)) / amount if score is not None and amount else None
    spread = (
        {} if score is None else {"score_ci95_low": 0.9 * score, "score_ci95_high": 1.1 * score}
    )
    values = {
        **{field.name: None for field in dataclasses.fields(RankingRow)},
        **KNOWN,
        "offer_id": slug,
        "offer": slug,
        "score": score,
        **spread,
        "price": amount,
        "value_per_cost": worth,
        **given,
    }
    return RankingRow(**values)
