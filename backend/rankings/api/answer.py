"""What to buy for a need, as one document."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.services.acting import workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.common.rest.openapi import object_schema, query_parameters, row_schema
from backend.common.rest.table import json_cell, json_rows
from backend.common.rest.views import View
from backend.rankings.api.rankings import PARAMETERS
from backend.rankings.selectors.answer import OwnStanding, answer, need_query
from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.default_metric import default_metric

NEED_PARAMETERS = {
    "vcpu": "At least so many vCPUs",
    "ram": "At least so much memory, GiB",
    "budget": "At most this price, for the period in the currency",
    "metric": "Key of the metric (default: the one that most offers on sale have)",
    "period": "hour, month (default) or year",
    "available": "TRUE (default), FALSE, or any",
}
_OWN = {
    "offer": {"type": "string"},
    "rank": {"type": "integer", "nullable": True},
    "break_even_price": {"type": "string"},
    "period": {"type": "string"},
    "currency": {"type": "string"},
}
_ROW = row_schema(COLUMNS)
ANSWER_SCHEMA = object_schema(
    {
        "best": {**_ROW, "nullable": True},
        "ties": {"type": "array", "items": _ROW},
        "own": {"type": "array", "items": object_schema(_OWN)},
        "sentence": {"type": "string"},
        "warnings": {"type": "array", "items": {"type": "string"}},
    }
)


class AnswerView(View):
    """The best value for a need, offers too close to it to call, and where own machines stand.

    All parameters of a ranking narrow it further.
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
        query, warnings = need_query({**defaults, **given}, workspace_slug=workspace)
        its = answer(query, workspace_slug=workspace, stamp=stamp)
        return Response(
            {
                "best": its.best and _rows([its.best])[0],
                "ties": _rows(its.ties),
                "own": [_own_document(one, query.period, query.currency) for one in its.own],
                "sentence": its.sentence,
                "warnings": warnings,
            }
        )


def _rows(rows: Any) -> list[dict[str, Any]]:
    return json_rows(COLUMNS, map(vars, rows))


def _own_document(one: OwnStanding, period: str, currency: str) -> dict[str, Any]:
    return {
        "offer": one.row.offer_id,
        "rank": one.rank,
        "break_even_price": json_cell(one.break_even_price),
        "period": period,
        "currency": currency,
    }
