"""The answer to a need, as one document."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.services.acting import workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.selectors.discounts import discounts_of
from backend.core.rest.openapi import object_schema, query_parameters, row_schema
from backend.core.rest.table import json_cell, json_rows
from backend.core.rest.views import View
from backend.rankings.api.rankings import PARAMETERS
from backend.rankings.selectors.answer import USES, OwnStanding, answer, need_query
from backend.rankings.selectors.candidates import Candidate
from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.coverage import ProviderCoverage
from backend.rankings.selectors.default_metric import default_metric

NEED_PARAMETERS = {
    "vcpu": "At least so many vCPUs",
    "ram": "At least so much memory, GiB",
    "budget": "At most this price, for the period in the currency",
    "goal": "value (default): the most performance for the money; cheapest: the lowest price",
    "use": "What the server is for; sets the metric unless one is named: "
    + ", ".join(f"{use} ({metric})" for use, metric in USES.items()),
    "burstable": "TRUE: types that cannot hold their speed under load compete, too",
    "metric": "Key of the metric (default: that of the use, else general_performance)",
    "period": "hour, month (default) or year",
    "available": "TRUE (default), FALSE, or any",
}
_OWN = {
    "offer": {"type": "string"},
    "rank": {"type": "integer", "nullable": True},
    "break_even_price": {"type": "string"},
    "break_even_low": {"type": "string"},
    "break_even_high": {"type": "string"},
    "period": {"type": "string"},
    "currency": {"type": "string"},
}
_REGIONS = {"regions": {"type": "array", "items": {"type": "string"}}}
_ROW = row_schema(COLUMNS)
_CANDIDATE = {**_ROW, "properties": {**_ROW["properties"], **_REGIONS}}
_P_BEST = {"p_best": {"type": "number", "nullable": True}}
_CONTENDER = {**_ROW, "properties": {**_CANDIDATE["properties"], **_P_BEST}}
_COVERAGE = {
    "provider": {"type": "string"},
    **_REGIONS,
    "offers": {"type": "integer"},
    "newest_price_date": {"type": "string", "format": "date", "nullable": True},
}
ANSWER_SCHEMA = object_schema(
    {
        "best": {**_CANDIDATE, "nullable": True},
        **_P_BEST,
        "contenders": {"type": "array", "items": _CONTENDER},
        "cheapest": {**_CANDIDATE, "nullable": True},
        "without_score": {"type": "integer"},
        "left_out": {"type": "object", "additionalProperties": {"type": "integer"}},
        "own": {"type": "array", "items": object_schema(_OWN)},
        "coverage": {"type": "array", "items": object_schema(_COVERAGE)},
        "sentence": {"type": "string"},
        "warnings": {"type": "array", "items": {"type": "string"}},
    }
)


class AnswerView(View):
    """The best buy for a need, what contends with it, the cheapest, and where own machines stand.

    `contenders` is the smallest set that holds the best with 95% probability. All parameters of
    a ranking narrow it further. Rows of one provider, type and price are one candidate, sold in
    `regions`. `left_out` counts the offers that are not on sale, by reason.
    """

    @extend_schema(
        operation_id="answer_get",
        parameters=query_parameters({**PARAMETERS, **NEED_PARAMETERS}),
        responses={200: ANSWER_SCHEMA},
    )
    def get(self, request: Request, **_: Any) -> Response:
        stamp, workspace = current_stamp(), workspace_slug(request)
        given = {name: texts for name, texts in request.query_params.lists() if any(texts)}
        defaults = {
            "metric": [default_metric(stamp, workspace)],
            "period": ["month"],
            "available": ["TRUE"],
        }
        query, options, warnings = need_query(
            given, defaults=defaults, workspace_slug=workspace, discounts=discounts_of(request)
        )
        its = answer(query, options, workspace_slug=workspace, stamp=stamp)
        return Response(
            {
                "best": its.best and _document(its.best),
                "p_best": its.best and its.best.p_best,
                "contenders": [
                    {**_document(contender), "p_best": contender.p_best}
                    for contender in its.contenders
                ],
                "cheapest": its.cheapest and _document(its.cheapest),
                "without_score": its.without_score_count,
                "left_out": its.left_out,
                "own": [
                    _own_document(machine, query.period, query.currency) for machine in its.own
                ],
                "coverage": [_coverage_document(line) for line in its.coverage],
                "sentence": its.sentence,
                "warnings": warnings,
            }
        )


def _document(candidate: Candidate) -> dict[str, Any]:
    [row] = json_rows(COLUMNS, [vars(candidate.row)])
    return {**row, "regions": candidate.regions}


def _coverage_document(covered: ProviderCoverage) -> dict[str, Any]:
    return {
        "provider": covered.provider,
        "regions": covered.regions,
        "offers": covered.offer_count,
        "newest_price_date": covered.newest_price_on,
    }


def _own_document(standing: OwnStanding, period: str, currency: str) -> dict[str, Any]:
    return {
        "offer": standing.row.offer_id,
        "rank": standing.rank,
        "break_even_price": json_cell(standing.break_even_price),
        "break_even_low": json_cell(standing.break_even_low),
        "break_even_high": json_cell(standing.break_even_high),
        "period": period,
        "currency": currency,
    }
