"""API tokens: make, list and revoke; for admins."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor, person_of
from backend.accounts.models import ApiToken, Scope
from backend.accounts.selectors.tokens import tokens_of
from backend.accounts.services.acting import workspace_of
from backend.accounts.services.tokens import DEFAULT_DAYS, MAX_DAYS, token_create, token_revoke
from backend.core.rest.documents import Strict, TextField
from backend.core.rest.permissions import ADMIN
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView, View, created_response

TOKEN_COLUMNS = (
    Column("id", ColumnType.TEXT, "Identifier"),
    Column("name", ColumnType.TEXT, "Name as given"),
    Column("owner", ColumnType.TEXT, "Who answers for it; it ends with them"),
    Column("scope", ColumnType.TEXT, "read, write, run or admin"),
    Column("created_at", ColumnType.TIME, "When it was made"),
    Column("expires_at", ColumnType.TIME, "When it ends by itself"),
    Column("revoked_at", ColumnType.TIME, "When it was ended"),
    Column("last_used_at", ColumnType.TIME, "Last use, to the minute"),
)


class TokenDocument(Strict):
    """A token to be made."""

    name = TextField(max_length=100)
    scope = serializers.ChoiceField(choices=Scope.choices)
    expires_days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=DEFAULT_DAYS)


class TokenMade(serializers.Serializer[Any]):
    """A new token; its text is shown this once."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    scope = serializers.CharField()
    expires_at = serializers.DateTimeField()
    token = serializers.CharField()


def _cells(token: ApiToken) -> dict[str, Any]:
    return {**vars(token), "owner": token.owner.username}


class TokensView(ListView):
    """API tokens, without their secrets."""

    name = "tokens"
    orders = {"name": "name", "created_at": "created_at", "expires_at": "expires_at"}
    since = "created_at"
    columns = TOKEN_COLUMNS
    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN, "POST": ADMIN}

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.parameters(request)
        tokens = tokens_of(workspace_of(request)).order_by("created_at")
        return ListAnswer(TOKEN_COLUMNS, tokens, tokens.count(), _cells, **shown)

    @extend_schema(request=TokenDocument, responses={201: TokenMade})
    def post(self, request: Request, **_: Any) -> Response:
        """Make a token."""
        document = TokenDocument(data=request.data)
        document.is_valid(raise_exception=True)
        token, plaintext = token_create(
            workspace=workspace_of(request),
            owner=person_of(request),
            actor=actor(request),
            **document.validated_data,
        )
        made = {"id": token.pk, "name": token.name, "scope": token.scope}
        made |= {"expires_at": token.expires_at, "token": plaintext}
        return created_response(request, TokenMade(made).data, "token", token_id=token.pk)


class TokenView(View):
    """A token."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": ADMIN}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: UUID) -> Response:
        """Revoke it at once."""
        token = get_object_or_404(tokens_of(workspace_of(request)), pk=token_id)
        token_revoke(token=token, actor=actor(request))
        return Response(status=204)
