"""A saved view for a spreadsheet: the key in the address is all it needs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import quote

from django.conf import settings
from django.http import Http404
from django.utils.functional import cached_property
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from backend.accounts.api.authentication import KeyHolder, refuse
from backend.accounts.models import Scope
from backend.accounts.services.tokens import key_mark_used
from backend.core.rest.parameters import PAGING, InvalidParameters
from backend.core.rest.table import Table
from backend.core.rest.views import LIST_READERS, ListAnswer
from backend.rankings.api.rankings import RankingsView
from backend.rankings.models import FeedKey
from backend.rankings.selectors.views import OpenedView, view_params
from backend.rankings.services.feeds import feed_key_match

UNDERSTOOD = frozenset({*PAGING, *LIST_READERS})
OFF = "feeds are switched off here; read /api/v1/rankings.csv?view=… with an API token"
CHALLENGE = 'Bearer realm="rackrate feed"'


class FeedAuthentication(BaseAuthentication):
    """The key in the path; headers and cookies mean nothing here."""

    def authenticate(self, request: Request) -> tuple[KeyHolder, FeedKey]:
        if not settings.FEEDS:
            raise AuthenticationFailed(OFF)
        presented = request.parser_context["kwargs"]["key"]
        key = feed_key_match(presented)
        if key is None:
            detail = "the feed key is unknown, expired or revoked"
            refuse(request, "feed_key_refused", presented, detail)
        return KeyHolder("feed", key, Scope.READ), key

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class FeedView(RankingsView):
    """The rows of the view that the key opens; the address cannot ask for anything else."""

    authentication_classes = (FeedAuthentication,)
    http_method_names = ["get", "head"]
    schema = None  # type: ignore[assignment]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if _key(request).view.slug != kwargs["slug"]:
            raise Http404
        refused = sorted(set(request.query_params) - UNDERSTOOD)
        if refused:
            detail = f"a feed takes only {', '.join(sorted(UNDERSTOOD))}; its view says the rest"
            raise InvalidParameters([(name[:60], detail) for name in refused])
        key_mark_used(key=_key(request), plaintext=kwargs["key"])

    @cached_property
    def view_in_force(self) -> OpenedView:
        view = _key(self.request).view
        return OpenedView({**view_params(view), **dict(self.request.query_params.lists())}, view)

    @property
    def workspace(self) -> str:
        return _key(self.request).view.workspace.slug

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The address is a secret: it is neither passed on, nor indexed, nor kept by others."""
        final = super().finalize_response(request, response, *args, **kwargs)
        final.headers["Referrer-Policy"] = "no-referrer"
        final.headers["X-Robots-Tag"] = "noindex, nofollow"
        final.headers["Cache-Control"] = "private, no-cache"
        return final

    def _table(self, request: Request, listing: ListAnswer) -> Table:
        """A workbook is passed on, so it names the view's page and not the secret address."""
        table = super()._table(request, listing)
        page = request.build_absolute_uri(f"/?view={quote(_key(request).view.slug)}")
        about: Mapping[str, str] = {**table.about, "address": page}
        return replace(table, about=about)


def _key(request: Request) -> FeedKey:
    key: Any = request.auth
    return cast("FeedKey", key)
