"""All saved views as one document, which is taken back."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor, reader
from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.core.rest.applied import AppliedDocuments
from backend.core.rest.documents import FlagField, Strict, TextField
from backend.core.rest.permissions import WRITE
from backend.core.rest.views import View
from backend.rankings.api.views import ViewDocument
from backend.rankings.selectors.views import view_params, views_visible
from backend.rankings.services.views import views_apply

MOST = 1_000


class ExportedView(ViewDocument):
    """A view with its slug; whose it is, is told and not taken."""

    slug = TextField(max_length=80)
    owner = TextField(max_length=200, required=False, allow_blank=True)


class ViewDocuments(Strict):
    """Saved views, as they are exported."""

    schema_version = serializers.IntegerField(min_value=1, max_value=1, default=1)
    items = serializers.ListField(child=ExportedView(), max_length=MOST)
    dry_run = FlagField(required=False, default=False, help_text="stores nothing")


class ViewDocumentsView(View):
    """The shared views and one's own, with everything that makes them."""

    scopes: ClassVar[Mapping[str, str]] = {"PUT": WRITE}

    @extend_schema(operation_id="documents_views_get", responses={200: ViewDocuments})
    def get(self, request: Request) -> Response:
        """All of them, in the form in which they are taken back."""
        rows = views_visible(workspace_slug(request), reader(request)).order_by("slug")
        items = [
            {
                "name": view.name,
                "slug": view.slug,
                "params": view_params(view),
                "visibility": view.visibility,
                "owner": view.owner,
            }
            for view in rows
        ]
        return Response({"schema_version": 1, "items": items})

    @extend_schema(
        operation_id="documents_views_put",
        request=ViewDocuments,
        responses={200: AppliedDocuments},
    )
    def put(self, request: Request) -> Response:
        """Make and change views by their slugs; those that are not named stay. All or nothing."""
        document = ViewDocuments(data=request.data)
        document.is_valid(raise_exception=True)
        person: Any = request.user
        applied = views_apply(
            workspace=workspace_of(request),
            items=document.validated_data["items"],
            owner=reader(request),
            is_admin=person.scope.includes(Scope.ADMIN),
            actor=actor(request),
            is_dry=document.validated_data["dry_run"],
        )
        return Response(AppliedDocuments(applied).data)
