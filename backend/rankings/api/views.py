"""Saved views and the keys of their feeds: make, list, change and end."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor, reader
from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.core.rest.documents import Strict, TextField
from backend.core.rest.parameters import InvalidParameters, Reader, text
from backend.core.rest.permissions import WRITE
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView, View, created_response
from backend.foundation.errors import InvalidValue
from backend.rankings.models import FeedKey, SavedView, Visibility
from backend.rankings.selectors.views import is_owner, view_get, view_params, views_visible
from backend.rankings.services.feeds import (
    DEFAULT_DAYS,
    MAX_DAYS,
    feed_key_create,
    feed_key_revoke,
    feed_keys_visible,
)
from backend.rankings.services.views import LONGEST_VALUE, view_create, view_delete, view_update

VIEW_COLUMNS = (
    Column("slug", ColumnType.TEXT, "Name in addresses, which never changes"),
    Column("name", ColumnType.TEXT, "Name for people"),
    Column("visibility", ColumnType.TEXT, "private or shared"),
    Column("owner", ColumnType.TEXT, "User name, or token and its name"),
    Column("query", ColumnType.TEXT, "Its parameters as in an address"),
    Column("created_at", ColumnType.TIME, "When it was made"),
    Column("updated_at", ColumnType.TIME, "When it was last changed"),
)
KEY_COLUMNS = (
    Column("id", ColumnType.TEXT, "Identifier"),
    Column("view", ColumnType.TEXT, "Slug of the view that it opens"),
    Column("name", ColumnType.TEXT, "Name as given"),
    Column("created_by", ColumnType.TEXT, "User name, or token and its name"),
    Column("created_at", ColumnType.TIME, "When it was made"),
    Column("expires_at", ColumnType.TIME, "When it ends by itself"),
    Column("revoked_at", ColumnType.TIME, "When it was ended"),
    Column("last_used_at", ColumnType.TIME, "Last use, to the minute"),
)


def _params_field(**given: Any) -> serializers.DictField:
    values = serializers.ListField(child=TextField(max_length=LONGEST_VALUE), max_length=250)
    words = "parameter of a ranking to its values, as in an address"
    return serializers.DictField(child=values, help_text=words, **given)


class ViewDocument(Strict):
    """A view to be saved; without a slug it gets one made of its name."""

    name = TextField(max_length=100)
    slug = TextField(max_length=80, required=False, default="", allow_blank=True)
    params = _params_field()
    visibility = serializers.ChoiceField(choices=Visibility.choices, default=Visibility.SHARED)


class ViewChange(Strict):
    """Changes of a view; params as a whole."""

    name = TextField(max_length=100, required=False)
    params = _params_field(required=False)
    visibility = serializers.ChoiceField(choices=Visibility.choices, required=False)


class ViewDetail(serializers.Serializer[Any]):
    """A saved view; `query` is its params as in an address."""

    slug = serializers.CharField()
    name = serializers.CharField()
    visibility = serializers.CharField()
    owner = serializers.CharField()
    params = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    query = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class FeedKeyDocument(Strict):
    """A feed key to be made."""

    view = TextField(max_length=80)
    name = TextField(max_length=100)
    expires_days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=DEFAULT_DAYS)


class FeedKeyMade(serializers.Serializer[Any]):
    """A new feed key; its text is shown this once."""

    id = serializers.UUIDField()
    view = serializers.CharField()
    name = serializers.CharField()
    expires_at = serializers.DateTimeField()
    key = serializers.CharField()
    feed_url = serializers.CharField(help_text="also with .xlsx, .tsv and .json")


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "view": ViewDocument,
    "view-change": ViewChange,
    "view-detail": ViewDetail,
    "feed-key": FeedKeyDocument,
    "feed-key-made": FeedKeyMade,
}


# --- views ------------------------------------------------------------------------------------


def _cells(view: SavedView) -> dict[str, Any]:
    return {
        "slug": view.slug,
        "name": view.name,
        "visibility": view.visibility,
        "owner": view.owner,
        "query": urlencode(view_params(view), doseq=True, safe=","),
        "created_at": view.created_at,
        "updated_at": view.updated_at,
    }


def _detail(view: SavedView) -> Any:
    return ViewDetail({**_cells(view), "params": view_params(view)}).data


def _view(request: Request, slug: str) -> SavedView:
    try:
        return view_get(slug, workspace_slug=workspace_slug(request), reader=reader(request))
    except InvalidParameters:
        raise Http404 from None


def _own_view(request: Request, slug: str) -> SavedView:
    """A view that the caller may change: one's own, or for an admin any that is shared."""
    view = _view(request, slug)
    if not (is_owner(view, reader(request)) or _is_admin(request)):
        raise PermissionDenied
    return view


def _is_admin(request: Request) -> bool:
    person: Any = request.user
    return bool(person.scope.includes(Scope.ADMIN))


class ViewsView(ListView):
    """Saved views: the shared ones and one's own."""

    name = "views"
    orders = {"name": "name", "updated_at": "updated_at"}
    since = "updated_at"
    columns = VIEW_COLUMNS
    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.parameters(request)
        rows = views_visible(workspace_slug(request), reader(request))
        return ListAnswer(VIEW_COLUMNS, rows, rows.count(), cells=_cells, **shown)

    @extend_schema(request=ViewDocument, responses={201: ViewDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Save the parameters of a ranking under a name."""
        document = ViewDocument(data=request.data)
        document.is_valid(raise_exception=True)
        view = view_create(
            workspace=workspace_of(request),
            owner=reader(request),
            actor=actor(request),
            **document.validated_data,
        )
        return created_response(request, _detail(view), "view", slug=view.slug)


class ViewView(View):
    """A saved view."""

    scopes: ClassVar[Mapping[str, str]] = {"PATCH": WRITE, "DELETE": WRITE}

    @extend_schema(operation_id="views_get", responses={200: ViewDetail})
    def get(self, request: Request, slug: str) -> Response:
        return Response(_detail(_view(request, slug)))

    @extend_schema(request=ViewChange, responses={200: ViewDetail})
    def patch(self, request: Request, slug: str) -> Response:
        """Change it; only its owner and admins may. Feeds show the change at once."""
        document = ViewChange(data=request.data)
        document.is_valid(raise_exception=True)
        view = view_update(
            view=_own_view(request, slug), actor=actor(request), **document.validated_data
        )
        return Response(_detail(view))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Remove it and end its feeds; only its owner and admins may."""
        view_delete(view=_own_view(request, slug), actor=actor(request))
        return Response(status=204)


# --- feed keys --------------------------------------------------------------------------------


def _key_cells(key: FeedKey) -> dict[str, Any]:
    names = ("name", "created_by", "created_at", "expires_at", "revoked_at", "last_used_at")
    return {"id": key.pk, "view": key.view.slug, **{name: getattr(key, name) for name in names}}


def _keys(request: Request) -> Any:
    return feed_keys_visible(workspace_slug(request), reader(request), is_admin=_is_admin(request))


class FeedKeysView(ListView):
    """Keys of feeds, without their secrets: those one made or whose view one owns; for admins all."""

    name = "feed-keys"
    orders = {"name": "name", "created_at": "created_at"}
    since = "created_at"
    columns = KEY_COLUMNS
    scopes: ClassVar[Mapping[str, str]] = {"GET": WRITE, "POST": WRITE}

    def parameter_readers(self) -> Mapping[str, Reader]:
        return {"view": text, **super().parameter_readers()}

    def listing(self, request: Request) -> ListAnswer:
        asked, shown = self.parameters(request)
        rows = _keys(request)
        if slug := asked.get("view"):
            rows = rows.filter(view__slug=slug)
        return ListAnswer(KEY_COLUMNS, rows, rows.count(), _key_cells, **shown)

    @extend_schema(request=FeedKeyDocument, responses={201: FeedKeyMade})
    def post(self, request: Request, **_: Any) -> Response:
        """Make a key that opens one view, and nothing else, for whoever knows the address."""
        document = FeedKeyDocument(data=request.data)
        document.is_valid(raise_exception=True)
        fields = document.validated_data
        try:
            view = _view(request, fields["view"])
        except Http404:
            raise InvalidValue("/view", f"no view is called {fields['view']!r}") from None
        key, plaintext = feed_key_create(
            **fields | {"view": view},
            # The owner of a token and not its name, which another token may have one day.
            actor=reader(request),
        )
        made = {"id": key.pk, "view": view.slug, "name": key.name, "expires_at": key.expires_at}
        address = request.build_absolute_uri(f"/feeds/{plaintext}/{view.slug}.csv")
        shown = FeedKeyMade(made | {"key": plaintext, "feed_url": address}).data
        answer = created_response(request, shown, "feed-key", key_id=key.pk)
        answer["Cache-Control"] = "no-store"
        return answer


class FeedKeyView(View):
    """A feed key."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": WRITE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Revoke it at once."""
        feed_key_revoke(key=get_object_or_404(_keys(request), pk=key_id), actor=actor(request))
        return Response(status=204)
