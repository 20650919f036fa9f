"""Arrays of disks over the API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.calculators.calc.arrays import ArrayDocument, ArrayResult, estimate
from backend.core.rest.parsers import ExactJSONParser
from backend.core.rest.permissions import READ
from backend.core.rest.views import View


class ArrayView(View):
    """Space and performance of equal disks as an array."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": READ}
    parser_classes = (ExactJSONParser,)

    @extend_schema(
        operation_id="array_estimate", request=ArrayDocument, responses={200: ArrayResult}
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Capacity, throughput and the shortest rebuild."""
        return Response(estimate(ArrayDocument.read(request.data)).model_dump())
