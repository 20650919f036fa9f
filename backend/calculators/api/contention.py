"""Shared links over the API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.calculators.calc.links import MOST_WORK, ContentionDocument, ContentionResult, shares
from backend.core.rest.documents import Problem
from backend.core.rest.parsers import ExactJSONParser
from backend.core.rest.permissions import READ
from backend.core.rest.views import View
from backend.core.work import calculation, most_steps

# Exact fractions take ten times as long as the steps of a simulation.
STEPS_PER_WORK = 10


class ContentionView(View):
    """Max-min fair shares of links among flows."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": READ}
    most_bytes = 2_000_000
    parser_classes = (ExactJSONParser,)

    @extend_schema(
        operation_id="contention_solve",
        request=ContentionDocument,
        responses={200: ContentionResult, 413: Problem, 422: Problem, 503: Problem},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Rate of each flow, and load of each link."""
        document = ContentionDocument.read(request.data)
        most = most_steps(MOST_WORK * STEPS_PER_WORK) // STEPS_PER_WORK
        steps = document.work * STEPS_PER_WORK
        with calculation(steps, advice="take fewer links or flows") as check:
            return Response(shares(document, most_work=most, check=check).model_dump())
