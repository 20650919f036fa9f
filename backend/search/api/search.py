"""The search as the API answers it."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import reader
from backend.accounts.services.acting import workspace_of
from backend.core.rest.documents import Problem
from backend.core.rest.parameters import InvalidParameters
from backend.core.rest.views import View
from backend.search.selectors.search import search


class MatchDetail(serializers.Serializer[Any]):
    """A row that was searched for."""

    kind = serializers.CharField(
        help_text="offer, host, scenario, report, view, metric or run; more may be added"
    )
    title = serializers.CharField()
    url = serializers.CharField(help_text="path of its page")


class Matches(serializers.Serializer[Any]):
    """Matches of the search; offers first, of each kind at most 20."""

    results = MatchDetail(many=True)


class SearchView(View):
    """Everything whose name has the words of `q`."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "q", OpenApiTypes.STR, required=True, description="Words that a name has to have"
            )
        ],
        responses={200: Matches, 400: Problem},
    )
    def get(self, request: Request, **_: Any) -> Response:
        """Offers, also those without a figure, hosts, scenarios, reports, views, metrics and runs."""
        text = request.query_params.get("q", "")
        if not text.strip():
            raise InvalidParameters([("q", "a word to search for is needed")])
        matches = search(text, workspace=workspace_of(request), reader=reader(request))
        return Response({"results": [match._asdict() for match in matches]})
