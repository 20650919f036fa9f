"""Basis of a ranked list's figures, as its answers and exports state it."""

from typing import Any

from backend.core.rest.table import json_cell
from backend.measure.metrics import Metric
from backend.rankings.selectors.mix import Mix
from backend.rankings.selectors.query import RankingQuery


def basis_words(
    query: RankingQuery, metric: Metric, unpriced_count: int, without_score_count: int
) -> dict[str, Any]:
    """Basis of a list's figures, in words that JSON carries."""
    return {
        "metric": metric.key,
        "unit": metric.unit,
        "better": metric.better,
        "variant": metric.canonical_variant,
        "load": query.load,
        "term": query.term,
        "basis": ",".join(query.basis),
        "period": query.period,
        "hours_per_month": format(query.hours_per_month, "f"),
        "hours_run": format(query.hours_run or query.hours_per_month, "f"),
        "setup_months": query.setup_months,
        "currency": query.currency,
        "as_of": query.as_of and query.as_of.isoformat(),
        **_amounts(query),
        # Stated although it cannot be chosen: a reader of an export must not have to guess it.
        "operating_system": "linux",
        "tenancy": "shared",
        "unpriced_count": unpriced_count,
        "without_score_count": without_score_count,
    }


def _amounts(query: RankingQuery) -> dict[str, Any]:
    """How much of each extra the basis holds, and the reader's tax; what is not in is left out."""
    extra_amounts, rate = query.extra_amounts, query.tax_rate
    stated: dict[str, Any] = {
        "basis_disk_gb": extra_amounts.disk_gb,
        "basis_ipv4": extra_amounts.ipv4_count,
        "basis_egress_gb": extra_amounts.egress_gb,
        "tax_rate": rate,
    }
    return {name: json_cell(value) for name, value in stated.items() if value is not None}


def mix_words(query: RankingQuery, mixed: Mix) -> dict[str, Any]:
    """The weights of several metrics, and what their scores are relative to."""
    weights = {key: json_cell(weight) for key, weight in query.weights}
    return {"weights": weights, "base": mixed.base}
