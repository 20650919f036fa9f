"""Shared parts of the API's views: negotiation, caching headers, lists in all formats."""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, ClassVar

from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.http import http_date, quote_etag
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.utils.mediatypes import media_type_matches, order_by_precedence
from rest_framework.utils.urls import remove_query_param, replace_query_param
from rest_framework.views import APIView

from backend.core import clock
from backend.core.rest.conditional import by_content, condition_response, require_match
from backend.core.rest.cursors import cursor, cursor_links, key_order, page_behind, whole
from backend.core.rest.deprecation import Deprecation
from backend.core.rest.openapi import ListSchema
from backend.core.rest.parameters import (
    PAGING,
    PER_PAGE,
    SHOWN_WARNINGS,
    InvalidParameters,
    Reader,
    given,
    one_of,
    read,
    time,
)
from backend.core.rest.public_address import is_local, public_address
from backend.core.rest.renderers import (
    DIALECTS,
    CsvRenderer,
    JsonRenderer,
    TsvRenderer,
    XlsxRenderer,
)
from backend.core.rest.table import Column, Table, Texts, json_cell, json_rows, text_cell
from backend.core.rest.throttles import Allowance
from backend.foundation.attributions import attributions

# Of a list that is made into a file in memory: more would hold a process for long.
MAX_EXPORT_ROWS = 50_000
ONLY_HERE = "this computer alone; PUBLIC_URL names the address that others use"
# Of columns and documents; additions keep it.
SCHEMA_VERSION = "1"
CHANGES = frozenset({"PATCH", "PUT", "DELETE"})
# Parameters that every list knows beside those of paging.
LIST_READERS: Mapping[str, Reader] = {"dialect": one_of(DIALECTS), "cursor": cursor}


class SuffixNegotiation(DefaultContentNegotiation):
    """The suffix beats Accept, and an Accept that nothing meets gets the view's first format.

    The suffix is of what is read; it says nothing about the answer to a write.
    """

    def select_renderer(  # type: ignore[override]
        self,
        request: Request,
        renderers: Sequence[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        if format_suffix and request.method in SAFE_METHODS:
            renderers = self.filter_renderers(renderers, format_suffix)
        else:
            for accepted in order_by_precedence(self.get_accept_list(request)):
                for renderer in renderers:
                    if any(media_type_matches(renderer.media_type, kind) for kind in accepted):
                        return renderer, renderer.media_type
        # A browser's or a script's odd Accept gets an answer in place of 406.
        return renderers[0], renderers[0].media_type


class View(APIView):
    """An endpoint: `scopes` names what each method needs."""

    content_negotiation_class = SuffixNegotiation
    scopes: ClassVar[Mapping[str, str]] = {}
    most_bytes: ClassVar[int] = 8_000_000
    """Limit of a body; a longer one is not read (413)."""
    keeps_answers: ClassVar[bool] = True
    """True if a POST with an Idempotency-Key is done within one transaction; one that waits for a
    worker cannot, as the worker would not see what it should do."""
    deprecation: ClassVar[Deprecation | None] = None
    """Set for an address that is to go."""
    allowance: Allowance | None = None
    """Requests that the caller may still make; a throttle sets it."""

    @property
    def is_single(self) -> bool:
        """True if it is one object that may be read and changed."""
        is_changed = any(hasattr(self, name.lower()) for name in CHANGES)
        return is_changed and hasattr(self, "get") and not isinstance(self, ListView)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method not in CHANGES or "If-Match" not in request.headers:
            return super().dispatch(request, *args, **kwargs)
        # Of two who changed the same version the second waits here, and then finds another one.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [request.path])
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in CHANGES and "If-Match" in request.headers and self.is_single:
            response = self.get(request, *args, **kwargs)  # type: ignore[attr-defined]
            response.accepted_renderer = JsonRenderer()
            response.accepted_media_type = JsonRenderer.media_type
            response.renderer_context = self.get_renderer_context()
            require_match(request, response.render().content)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Answers may be kept, but are asked about every time; they depend on who asks."""
        final = super().finalize_response(request, response, *args, **kwargs)
        # One address has several formats, and more rows for some readers than for others.
        patch_vary_headers(final, ("Accept", "Authorization", "Cookie"))
        final.headers.setdefault("X-Schema-Version", SCHEMA_VERSION)
        # On every answer, so that a client can slow down before it is refused.
        for name, value in (self.allowance.headers() if self.allowance else {}).items():
            final[name] = value
        if self.deprecation is not None:
            for name, value in self.deprecation.headers(final.headers.get("Link", "")).items():
                final[name] = value
        is_read = request.method == "GET" and final.status_code == HTTPStatus.OK
        if self.is_single and is_read and isinstance(final, Response):
            final.add_post_render_callback(lambda rendered: by_content(request, rendered))
        is_known = bool(getattr(request, "user", None) and request.user.is_authenticated)
        # no-cache is not no-store: a copy may be kept and is asked about, which costs a 304.
        final.headers.setdefault(
            "Cache-Control", f"{'private' if is_known else 'public'}, no-cache"
        )
        return final


def created_response(request: Request, data: Any, name: str, **key: Any) -> Response:
    """201 with the address of what was made: that of `name` in the API, with its key."""
    url = reverse(f"api:{name}", kwargs=key, request=request)
    return Response(data, status=201, headers={"Location": url})


@dataclass(frozen=True)
class ListAnswer:
    """A list to show: `rows` can be counted and sliced, `cells` reads the columns of one."""

    columns: tuple[Column, ...]
    rows: Any
    count: int
    cells: Callable[[Any], Mapping[str, Any]] = vars
    page: int = 1
    per_page: int = PER_PAGE
    members: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    licences: Iterable[str | None] = ()
    """Licences of the figures in the rows; a workbook names whose they are."""
    texts: Texts | None = None
    """Printer of the cells, sooner than `cells` of each row."""


def by_field(listing: ListAnswer, field: str, *, is_descending: bool) -> Any:
    """The rows in the order of a field of the query, else of a column; unknown ones last."""
    if isinstance(listing.rows, QuerySet):
        return whole(listing.rows).order_by(*key_order(field, is_descending=is_descending))
    cells = [(listing.cells(row)[field], row) for row in listing.rows]
    known = [pair for pair in cells if pair[0] is not None]
    known.sort(key=lambda pair: pair[0], reverse=is_descending)
    return [row for _, row in known] + [row for cell, row in cells if cell is None]


class ListView(View):
    """A list as JSON pages, or whole as CSV, TSV and XLSX."""

    name: ClassVar[str] = "rows"
    columns: ClassVar[tuple[Column, ...]] = ()
    required_parameters: ClassVar[frozenset[str]] = frozenset()
    refused: ClassVar[frozenset[int]] = frozenset()
    """Statuses of refusals that other lists do not have."""
    orders: ClassVar[Mapping[str, str]] = {}
    """Column → field of the query that the list may be sorted by."""
    since: ClassVar[str] = ""
    """Field of the query that says when a row was made, where what is new may be asked for."""
    described_by: ClassVar[str] = "api:schema"
    schema = ListSchema()
    renderer_classes = (JsonRenderer, CsvRenderer, TsvRenderer, XlsxRenderer)

    def get_renderers(self) -> list[BaseRenderer]:
        """Only a list is a table; what another method answers is JSON."""
        is_list = self.request.method in SAFE_METHODS
        return super().get_renderers() if is_list else [JsonRenderer()]

    def listing(self, request: Request) -> ListAnswer:
        """The list that the request asks for."""
        raise AssertionError("a list says what it lists")

    def arrange(self, request: Request, listing: ListAnswer) -> ListAnswer:
        """From the time and in the order that are asked for; rows that agree in it keep one order, so
        that pages do not overlap."""
        asked, rows = self._request_values(request, "sort", "since"), listing.rows
        if "since" in asked:
            rows = whole(rows).filter(**{f"{self.since}__gte": asked["since"]})
            listing = replace(listing, rows=rows, count=rows.count())
        if sort := asked.get("sort", ""):
            field = self.orders[sort.removeprefix("-")]
            listing = replace(listing, rows=by_field(listing, field, is_descending=sort[0] == "-"))
        return listing

    def _request_values(self, request: Request, *names: str) -> dict[str, Any]:
        """Values of those parameters that the list knows and the request has."""
        known = self.common_readers()
        given_ones = {name: request.query_params.getlist(name) for name in names if name in known}
        return read(given_ones, known)[0]

    def parameters(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of all parameters; and paging and warnings for the ListAnswer."""
        values, warnings = read(dict(request.query_params.lists()), self.parameter_readers())
        paging = {name: values[name] for name in PAGING if name in values}
        return values, {**paging, "warnings": warnings}

    def common_readers(self) -> dict[str, Reader]:
        """Readers of the parameters that lists share, as far as this one has them."""
        readers: dict[str, Reader] = {**PAGING, **LIST_READERS}
        if self.orders:
            readers["sort"] = one_of([sign + name for name in self.orders for sign in ("", "-")])
        if self.since:
            readers["since"] = time
        return readers

    def parameter_descriptions(self) -> Mapping[str, str]:
        """Names and meanings of the parameters, for the OpenAPI schema; paging left out.

        An empty meaning is that of the column of this name.
        """
        return dict.fromkeys(self.parameter_readers(), "")

    def parameter_readers(self) -> Mapping[str, Reader]:
        """Readers of the parameters, as far as known; their types in the OpenAPI schema."""
        return self.common_readers()

    def state(self, request: Request) -> str | None:
        """A word that changes with the answer; None where only the answer itself shows it."""
        return None

    def changed_at(self, request: Request) -> dt.datetime | None:
        """When the answer last changed; None where that is not known."""
        return None

    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        headers = self._validators(request)
        if headers:
            same = condition_response(request, headers)
            if same is not None:
                return same
        # Before the rows are read: a wrong dialect is known without them.
        self._request_values(request, "dialect")
        listing = self.arrange(request, self.listing(request))
        headers |= _list_headers(listing)
        headers["Link"] = f'<{reverse(self.described_by, request=request)}>; rel="describedby"'
        if request.accepted_renderer.format == JsonRenderer.format:
            page = self._page(request, listing)
            headers["Link"] = ", ".join((*_neighbours(page), headers["Link"]))
            response = Response(page, headers=headers)
        else:
            table = self._table(request, listing)
            headers |= self._file(request)
            if writer := _writer(request, listing):
                return writer.written(request, table, headers)
            response = Response(table, headers=headers)
        if "ETag" not in headers:
            response.add_post_render_callback(lambda rendered: by_content(request, rendered))
        return response

    def _page(self, request: Request, listing: ListAnswer) -> dict[str, Any]:
        asked = self._request_values(request, "cursor", "sort")
        if "cursor" not in asked:
            return _envelope(listing, page_links(request, listing), page_rows(listing))
        if "page" in request.query_params:
            raise InvalidParameters([("page", "a cursor says where a page begins")])
        sort = asked.get("sort", "")
        rows, following = page_behind(
            listing.rows,
            asked["cursor"],
            size=listing.per_page,
            sort=sort,
            field=self.orders.get(sort.removeprefix("-"), ""),
            state=self.state(request),
        )
        return _envelope(listing, cursor_links(request, listing.count, following), rows)

    def _validators(self, request: Request) -> dict[str, str]:
        state = self.state(request)
        if state is None:
            return {}
        # In one order, since the order of parameters does not change the answer.
        asked = sorted((name, v) for name, v in given(dict(request.query_params.lists())).items())
        columns = [column.name for column in self.columns]
        address, suffix = request.build_absolute_uri("?"), request.accepted_renderer.format
        # All that the bytes depend on; the address too, since the links to other pages state it.
        parts = (state, SCHEMA_VERSION, columns, suffix, address, asked)
        headers = {"ETag": quote_etag(hashlib.sha256(repr(parts).encode()).hexdigest()[:32])}
        changed_at = self.changed_at(request)
        # Within its second the data may change again, and a date would be the same for both.
        if changed_at is not None and clock.now() - changed_at >= dt.timedelta(seconds=1):
            headers["Last-Modified"] = http_date(changed_at.timestamp())
        return headers

    def _table(self, request: Request, listing: ListAnswer) -> Table:
        if listing.count > MAX_EXPORT_ROWS and not _writer(request, listing):
            detail = f"{listing.count} rows are more than {MAX_EXPORT_ROWS}; filter the list"
            raise InvalidParameters([("per_page", detail)])
        address = public_address(request)
        return Table(
            columns=listing.columns,
            rows=map(listing.cells, listing.rows),
            name=self.name,
            texts=listing.texts,
            about={
                "address": address,
                **({"reached from": ONLY_HERE} if is_local(address) else {}),
                **_facts(listing.members),
                **{
                    attribution.figures: attribution.text
                    for attribution in attributions(listing.licences)
                },
            },
        )

    def _file(self, request: Request) -> dict[str, str]:
        today = clock.now().date().isoformat()
        suffix = request.accepted_renderer.format
        return {"Content-Disposition": f'inline; filename="rackrate-{self.name}-{today}.{suffix}"'}


def _writer(request: Request, listing: ListAnswer) -> CsvRenderer | None:
    """Writer of a long list to the disk as it is made; None where it is short or cannot be."""
    renderer, is_long = request.accepted_renderer, listing.count > MAX_EXPORT_ROWS
    return renderer if isinstance(renderer, CsvRenderer) and listing.texts and is_long else None


def _facts(members: Mapping[str, Any]) -> dict[str, str]:
    """Members of the envelope as lines of words."""
    facts: dict[str, str] = {}
    for name, value in members.items():
        parts = (
            {f"{name} {inner}": part for inner, part in value.items()}
            if isinstance(value, Mapping)
            else {name: value}
        )
        facts |= {word: text_cell(json_cell(part)) for word, part in parts.items()}
    return facts


def _list_headers(listing: ListAnswer) -> dict[str, str]:
    headers = {"X-Total-Count": str(listing.count)}
    if "data_version" in listing.members:
        headers["X-Data-Version"] = str(listing.members["data_version"])
    if listing.warnings:
        shown = "; ".join(listing.warnings[:SHOWN_WARNINGS])
        # Header fields are ASCII; the document has the warnings in full.
        headers["X-Warning"] = shown.encode("ascii", "replace").decode()
    return headers


def _neighbours(page: Mapping[str, Any]) -> Iterator[str]:
    for member, relation in (("next", "next"), ("previous", "prev")):
        if page[member]:
            yield f'<{page[member]}>; rel="{relation}"'


def _envelope(listing: ListAnswer, links: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    return {
        **links,
        **listing.members,
        "warnings": list(listing.warnings),
        "results": json_rows(listing.columns, map(listing.cells, rows)),
    }


def page_rows(listing: ListAnswer) -> Any:
    """The rows of the page that is asked for; Http404 when there is none."""
    start = (listing.page - 1) * listing.per_page
    # An empty first page is an answer; a page behind the last is an address that does not exist.
    if listing.page > 1 and start >= listing.count:
        last = -(-listing.count // listing.per_page)
        raise Http404(f"page {listing.page} is behind the last one, which is {max(last, 1)}")
    return listing.rows[start : start + listing.per_page]


def page_links(request: Request, listing: ListAnswer) -> dict[str, Any]:
    """How many rows there are, and the addresses of the pages beside this one."""
    address = request.build_absolute_uri()
    is_last = listing.page * listing.per_page >= listing.count
    return {
        "count": listing.count,
        "next": None if is_last else replace_query_param(address, "page", listing.page + 1),
        "previous": _previous(address, listing.page),
    }


def _previous(address: str, page: int) -> str | None:
    if page == 1:
        return None
    # The first page has one address, with or without its number it is the same.
    if page == 2:
        return remove_query_param(address, "page")
    return replace_query_param(address, "page", page - 1)


class FilteredListView(ListView):
    """A list whose parameters are conditions of its query."""

    # Parameter → lookup of the query, and the reader of its value.
    lookups: ClassVar[Mapping[str, tuple[str, Reader]]] = {}

    def parameter_readers(self) -> Mapping[str, Reader]:
        own = {name: reader for name, (_, reader) in self.lookups.items()}
        return {**own, **super().parameter_readers()}

    def asked(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """Conditions for the query; and paging and warnings for the Listing."""
        values, shown = self.parameters(request)
        conditions = {
            lookup: values[name] for name, (lookup, _) in self.lookups.items() if name in values
        }
        return conditions, shown
