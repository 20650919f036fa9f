"""All scenarios as one document, which is taken back."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.core.rest.applied import AppliedDocuments
from backend.core.rest.documents import FlagField, Problem, Strict, TextField
from backend.core.rest.parsers import ExactJSONParser
from backend.core.rest.permissions import WRITE
from backend.core.rest.views import View
from backend.scenarios.selectors.scenarios import scenarios_visible
from backend.scenarios.services.scenarios import MOST_BYTES, scenarios_apply

MOST = 500


class KeptScenario(Strict):
    """A scenario with its slug; that it is frozen is told and not taken."""

    slug = serializers.SlugField(max_length=80)
    template = TextField(required=False, default=None, allow_null=True, max_length=80)
    is_frozen = FlagField(required=False)
    document = serializers.DictField()


class ScenarioDocuments(Strict):
    """Scenarios, as they are exported."""

    schema_version = serializers.IntegerField(min_value=1, max_value=1, default=1)
    items = serializers.ListField(child=KeptScenario(), max_length=MOST)
    dry_run = FlagField(required=False, default=False, help_text="stores nothing")


class ScenarioDocumentsView(View):
    """The scenarios of a workspace, with their documents."""

    scopes: ClassVar[Mapping[str, str]] = {"PUT": WRITE}
    parser_classes = (ExactJSONParser,)
    most_bytes = MOST_BYTES

    @extend_schema(operation_id="documents_scenarios_get", responses={200: ScenarioDocuments})
    def get(self, request: Request) -> Response:
        """All of them, in the form in which they are taken back."""
        rows = scenarios_visible(workspace_of(request)).defer("resolved", "result")
        items: list[dict[str, Any]] = [
            {
                "slug": row.slug,
                "template": row.template or None,
                "is_frozen": row.frozen_at is not None,
                "document": row.document,
            }
            for row in rows.order_by("slug")
        ]
        return Response({"schema_version": 1, "items": items})

    @extend_schema(
        operation_id="documents_scenarios_put",
        request=ScenarioDocuments,
        responses={200: AppliedDocuments, 413: Problem},
    )
    def put(self, request: Request) -> Response:
        """Make and change scenarios by their slugs; those that are not named stay. All or nothing."""
        document = ScenarioDocuments(data=request.data)
        document.is_valid(raise_exception=True)
        applied = scenarios_apply(
            workspace=workspace_of(request),
            items=document.validated_data["items"],
            actor=actor(request),
            is_dry=document.validated_data["dry_run"],
        )
        return Response(AppliedDocuments(applied).data)
