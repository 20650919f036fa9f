"""What every view of the API shares: negotiation, caching headers, lists in all formats."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import Http404, HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.mediatypes import media_type_matches, order_by_precedence
from rest_framework.utils.urls import remove_query_param, replace_query_param
from rest_framework.views import APIView

from backend.common import clock
from backend.common.rest.openapi import ListSchema
from backend.common.rest.parameters import PER_PAGE, InvalidParameters, given, one_of, read
from backend.common.rest.renderers import DIALECTS, CsvRenderer, TsvRenderer, XlsxRenderer
from backend.common.rest.table import Column, Table, json_rows

MAX_EXPORT_ROWS = 50_000
SHOWN_WARNINGS = 10
DIALECT = {"dialect": one_of(DIALECTS)}
"""Parameters of the exports; every list knows them."""


class SuffixNegotiation(DefaultContentNegotiation):
    """The suffix beats Accept, and an Accept that nothing meets gets the view's first format."""

    def select_renderer(  # type: ignore[override]
        self,
        request: Request,
        renderers: Sequence[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        if format_suffix:
            renderers = self.filter_renderers(renderers, format_suffix)
        else:
            for accepted in order_by_precedence(self.get_accept_list(request)):
                for renderer in renderers:
                    if any(media_type_matches(renderer.media_type, kind) for kind in accepted):
                        return renderer, renderer.media_type
        return renderers[0], renderers[0].media_type


class View(APIView):
    """An endpoint: `scopes` names what each method needs."""

    content_negotiation_class = SuffixNegotiation
    scopes: ClassVar[Mapping[str, str]] = {}

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Answers may be kept, but are asked about every time; they depend on who asks."""
        final = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(final, ("Accept", "Authorization", "Cookie"))
        is_known = bool(getattr(request, "user", None) and request.user.is_authenticated)
        final.headers.setdefault(
            "Cache-Control", f"{'private' if is_known else 'public'}, no-cache"
        )
        return final


@dataclass(frozen=True)
class Listing:
    """A list to show: `rows` can be counted and sliced, `cells` reads the columns of one."""

    columns: tuple[Column, ...]
    rows: Any
    count: int
    cells: Callable[[Any], Mapping[str, Any]] = vars
    page: int = 1
    per_page: int = PER_PAGE
    members: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()


class ListView(View):
    """A list as JSON pages, or whole as CSV, TSV and XLSX."""

    name: ClassVar[str] = "rows"
    columns: ClassVar[tuple[Column, ...]] = ()
    schema = ListSchema()
    renderer_classes = (JSONRenderer, CsvRenderer, TsvRenderer, XlsxRenderer)

    def listing(self, request: Request) -> Listing:
        """What the request asks for."""
        raise AssertionError("a list says what it lists")

    def described_parameters(self) -> dict[str, str]:
        """Names and meanings of the parameters, for the OpenAPI schema; paging left out."""
        return {}

    def state(self, request: Request) -> str | None:
        """A word that changes with the answer; None where the answer is never the same."""
        return None

    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        headers = self._validators(request)
        if headers:
            unchanged = get_conditional_response(request._request, etag=headers["ETag"])
            if unchanged is not None:
                return unchanged
        read({"dialect": request.query_params.getlist("dialect")}, DIALECT)
        listing = self.listing(request)
        headers["X-Total-Count"] = str(listing.count)
        if listing.warnings:
            shown = "; ".join(listing.warnings[:SHOWN_WARNINGS])
            headers["X-Warning"] = shown.encode("ascii", "replace").decode()
        if request.accepted_renderer.format == JSONRenderer.format:
            return Response(_page(request, listing), headers=headers)
        return Response(self._table(request, listing), headers=headers | self._file(request))

    def _validators(self, request: Request) -> dict[str, str]:
        state = self.state(request)
        if state is None:
            return {}
        asked = sorted((name, v) for name, v in given(dict(request.query_params.lists())).items())
        parts = (state, request.accepted_renderer.format, request.build_absolute_uri("?"), asked)
        return {"ETag": quote_etag(hashlib.sha256(repr(parts).encode()).hexdigest()[:32])}

    def _table(self, request: Request, listing: Listing) -> Table:
        if listing.count > MAX_EXPORT_ROWS:
            detail = f"{listing.count} rows are more than {MAX_EXPORT_ROWS}; filter the list"
            raise InvalidParameters([("per_page", detail)])
        return Table(
            columns=listing.columns,
            rows=map(listing.cells, listing.rows),
            name=self.name,
            about={
                "address": request.build_absolute_uri(),
                **{name: str(value) for name, value in listing.members.items()},
            },
        )

    def _file(self, request: Request) -> dict[str, str]:
        today = clock.now().date().isoformat()
        suffix = request.accepted_renderer.format
        return {"Content-Disposition": f'inline; filename="rackrate-{self.name}-{today}.{suffix}"'}


def _page(request: Request, listing: Listing) -> dict[str, Any]:
    start = (listing.page - 1) * listing.per_page
    if listing.page > 1 and start >= listing.count:
        raise Http404
    rows = listing.rows[start : start + listing.per_page]
    address = request.build_absolute_uri()
    is_last = start + listing.per_page >= listing.count
    return {
        "count": listing.count,
        "next": None if is_last else replace_query_param(address, "page", listing.page + 1),
        "previous": _previous(address, listing.page),
        **listing.members,
        "warnings": list(listing.warnings),
        "results": json_rows(listing.columns, map(listing.cells, rows)),
    }


def _previous(address: str, page: int) -> str | None:
    if page == 1:
        return None
    if page == 2:
        return remove_query_param(address, "page")
    return replace_query_param(address, "page", page - 1)
