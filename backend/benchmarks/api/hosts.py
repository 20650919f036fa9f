"""Hosts: add one, scan its key, approve it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.api import documents
from backend.benchmarks.calc.host_document import (
    HostDescription,
    HostDocument,
    HostLogin,
    HostSettings,
)
from backend.benchmarks.models import Host
from backend.benchmarks.selectors.consequences import host_consequences
from backend.benchmarks.selectors.hosts import (
    fingerprint,
    hosts_visible,
    login_key_line,
)
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.services.host_lists import LIST_FORMATS, hosts_import
from backend.benchmarks.services.hosts import (
    HostBusy,
    KeyMismatch,
    KeyRevoked,
    host_approve,
    host_create,
    host_remove,
    host_scan,
    host_update,
)
from backend.catalog.models import OfferKind
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import (
    NoDocument,
    Problem,
    document_columns,
    request_fields,
)
from backend.core.rest.openapi import row_schema
from backend.core.rest.parameters import text
from backend.core.rest.parsers import SingleKeysJSONParser
from backend.core.rest.permissions import RUN
from backend.core.rest.problem import BadGateway, Conflict
from backend.core.rest.table import Column, ColumnType, json_rows
from backend.core.rest.views import FilteredListView, ListAnswer, View, created_response
from backend.core.rest.waiting import wait_for_worker
from backend.foundation.errors import InvalidValue

SCAN_WAIT_S = 10.0
NAME, *MARKS = document_columns(HostDescription)
HOST_COLUMNS = (
    Column("id", ColumnType.TEXT, "Identifier"),
    NAME,
    Column("offer", ColumnType.TEXT, "Slug of the offer that it is an instance of"),
    Column("driver", ColumnType.TEXT, "local or static"),
    Column("state", ColumnType.TEXT, "unverified, trusted or key_changed"),
    Column("fingerprint_sha256", ColumnType.TEXT, "Key scanned last"),
    Column("approved_sha256", ColumnType.TEXT, "Key approved"),
    Column("authority_sha256", ColumnType.TEXT, "Authority that has signed its key"),
    Column("scanned_at", ColumnType.TIME, "Time of the last scan"),
    Column("scan_error", ColumnType.TEXT, "Why the last scan failed"),
    Column("created_at", ColumnType.TIME, "When it was added"),
    *MARKS,
)
# Where to log in is shown to callers who are known, never to the public.
LOGIN_COLUMNS = (
    *document_columns(HostLogin),
    Column("login_key", ColumnType.TEXT, "Rackrate's own public key, for its authorized_keys"),
    Column("bastion", ColumnType.TEXT, "Identifier of the host that is logged in to first"),
    # It quotes the names of machines.
    Column("certificate_refusal", ColumnType.TEXT, "Why its certificate was not taken"),
)
HOST_SCHEMA = row_schema(HOST_COLUMNS + LOGIN_COLUMNS)


class HostChange(HostSettings):
    """Changed fields of a host; what is left out stays."""

    is_change = True


def _columns(request: Request) -> tuple[Column, ...]:
    return HOST_COLUMNS + LOGIN_COLUMNS if request.user.is_authenticated else HOST_COLUMNS


def _cells(request: Request, host: Host) -> dict[str, Any]:
    redaction = redaction_for(request.user, host)
    cells = {
        **vars(host),
        "offer": host.offer.slug,
        "fingerprint_sha256": fingerprint(host.scanned_key),
        "approved_sha256": fingerprint(host.host_key),
        "authority_sha256": fingerprint(host.authority.public_key) if host.authority else None,
        "scan_error": redaction.message(host.scan_error),
        "bastion": host.bastion_id,
        "login_key": login_key_line(host),
    }
    shown = {column.name: cells[column.name] for column in _columns(request)}
    return {name: None if cell in ("", []) else cell for name, cell in shown.items()}


class HostsView(FilteredListView):
    """Hosts of the workspace."""

    name = "hosts"
    columns = HOST_COLUMNS + LOGIN_COLUMNS
    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}
    lookups = {"tag": ("tags__contains", text)}
    since = "created_at"
    orders = {"name": "name", "state": "state", "created_at": "created_at"}

    def parameter_descriptions(self) -> Mapping[str, str]:
        return {**super().parameter_descriptions(), "tag": "A word that groups hosts"}

    def listing(self, request: Request) -> ListAnswer:
        conditions, paging = self.asked(request)
        hosts = hosts_visible(workspace_of(request)).filter(**conditions).order_by("name")
        return ListAnswer(
            _columns(request),
            hosts,
            hosts.count(),
            cells=partial(_cells, request),
            **paging,
        )

    @extend_schema(request=HostDocument, responses={201: documents.HostMade})
    def post(self, request: Request, **_: Any) -> Response:
        """Add a host; it stays unverified until its key is scanned and approved."""
        host = host_create(
            workspace=workspace_of(request),
            document=HostDocument.read(request.data),
            actor=actor(request),
        )
        made = documents.HostMade(vars(host) | {"login_key": login_key_line(host) or None})
        return created_response(request, made.data, "host", host_id=host.pk)


def _host(request: Request, host_id: UUID) -> Host:
    return get_object_or_404(hosts_visible(workspace_of(request)), pk=host_id)


class HostView(View):
    """A host."""

    scopes: ClassVar[Mapping[str, str]] = {"PATCH": RUN, "DELETE": RUN}

    @extend_schema(operation_id="hosts_get", responses={200: HOST_SCHEMA})
    def get(self, request: Request, host_id: UUID, **_: Any) -> Response:
        return Response(json_rows(_columns(request), [_cells(request, _host(request, host_id))])[0])

    @extend_schema(request=HostChange, responses={200: HOST_SCHEMA, 400: Problem, 409: Problem})
    def patch(self, request: Request, host_id: UUID, **_: Any) -> Response:
        """Change name, login, key, tags or whether it is in production; the rest stays. 409 with the runs under way."""
        changes = request_fields(request.data)
        with _conflicts():
            host_update(host=_host(request, host_id), changes=changes, actor=actor(request))
        return self.get(request, host_id)

    @deleting()
    def delete(self, request: Request, host_id: UUID, **_: Any) -> Response:
        """Remove it; its key is deleted, its results stay. 409 with the runs under way."""
        host = _host(request, host_id)
        with _conflicts():
            return delete_response(
                request,
                partial(host_consequences, host),
                partial(host_remove, host=host, actor=actor(request)),
            )


@contextmanager
def _conflicts() -> Iterator[None]:
    try:
        yield
    except HostBusy as error:
        raise Conflict(str(error), runs=error.runs) from error


class HostImportView(View):
    """Hosts from a list."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}
    parser_classes = (SingleKeysJSONParser, MultiPartParser)

    @extend_schema(
        request={
            "application/json": documents.HostListDocument,
            "multipart/form-data": {
                "type": "object",
                "properties": {
                    "format": {"type": "string", "enum": list(LIST_FORMATS)},
                    "file": {"type": "string", "format": "binary"},
                    "username": {"type": "string"},
                    "kind": {"type": "string", "enum": list(OfferKind.values)},
                },
                "required": ["format", "file"],
            },
        },
        responses={200: documents.HostListDone, 400: Problem},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Add and approve what a CSV, an Ansible inventory, a known_hosts file or fingerprints name.
        Nothing is done unless every line is right; errors are named by `/text/<line>`."""
        document = documents.HostListDocument(data=request.data)
        document.is_valid(raise_exception=True)
        fields = dict(document.validated_data)
        file, text = fields.pop("file", None), fields.pop("text", None)
        if (file is None) == (text is None):
            raise InvalidValue("/text", "either text or a file is needed")
        done = hosts_import(
            workspace=workspace_of(request),
            actor=actor(request),
            text=text if file is None else file.read(),
            **fields,
        )
        return Response(documents.HostListDone(done.report("pk")).data)


class HostScanView(View):
    """Ask the host for its key."""

    keeps_answers = False
    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}

    @extend_schema(
        request=NoDocument,
        responses={200: documents.ScannedKey, 502: Problem, 504: Problem},
    )
    def post(self, request: Request, host_id: UUID) -> Response:
        """Ask for its key; waits up to 10 seconds for a worker: 504 after that, 502 when the host fails it."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        host = _host(request, host_id)
        host_scan(host=host, actor=actor(request))
        # Only workers log in anywhere, so the web process has to wait for one.
        wait_for_worker(
            host,
            lambda: host.scan_requested_at is None,
            wait_s=SCAN_WAIT_S,
            late="no worker has scanned the host within 10 seconds",
        )
        if host.scan_error:
            raise BadGateway(host.scan_error)
        seen = {
            "key_type": host.scanned_key.split()[0],
            "fingerprint_sha256": fingerprint(host.scanned_key),
        }
        return Response(documents.ScannedKey(seen).data)


class HostApproveView(View):
    """Trust the host under the key that was scanned."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}

    @extend_schema(
        request=documents.ApprovalDocument,
        responses={200: documents.HostStateSerializer, 409: Problem},
    )
    def post(self, request: Request, host_id: UUID) -> Response:
        """Trust its key; 409 when the fingerprint is not that of the key scanned, or the key is revoked."""
        document = documents.ApprovalDocument(data=request.data)
        document.is_valid(raise_exception=True)
        approved = document.validated_data["fingerprint_sha256"]
        try:
            host = host_approve(
                host=_host(request, host_id), fingerprint_sha256=approved, actor=actor(request)
            )
        except KeyMismatch as error:
            raise Conflict(str(error), fingerprint_sha256=error.fingerprint) from error
        except KeyRevoked as error:
            raise Conflict(str(error), fingerprint_sha256=approved) from error
        return Response(documents.HostStateSerializer({"state": host.state}).data)
