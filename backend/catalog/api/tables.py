"""Tables of a person's own over the API: looked at with `dry_run`, or stored."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.catalog.calc.tables.tables import Options
from backend.catalog.models import TableMapping
from backend.catalog.selectors.tables import mappings_of, table_template
from backend.catalog.services.tables import TABLES, mapping_forget, table_import
from backend.core.rest.documents import FlagField, Problem, Strict, TextField
from backend.core.rest.parsers import ExactJSONParser
from backend.core.rest.permissions import WRITE
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView, View
from backend.foundation.errors import InvalidValue

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FLAGS = frozenset({"replace", "dry_run", "anew"})
DEFAULTS = ("locale", "currency", "provider", "quoted_on")


class TableDocument(Strict):
    """A table as text, or as the part `file` of a form, and what is said of it."""

    kind = serializers.ChoiceField(choices=tuple(TABLES))
    text = serializers.CharField(required=False, trim_whitespace=False, help_text="CSV or pasted")
    # Null as left out: some clients send what they do not state so.
    file = serializers.FileField(required=False, allow_null=True, help_text="CSV or XLSX")
    locale = TextField(required=False, max_length=20, help_text="de, en-US, …")
    currency = TextField(required=False, max_length=3, help_text="of lines that name none")
    provider = TextField(required=False, max_length=50, help_text="of lines that name none")
    quoted_on = TextField(required=False, max_length=20, help_text="of lines that state no day")
    columns = serializers.DictField(
        child=serializers.CharField(max_length=40),
        required=False,
        help_text="column by header; - leaves a column out",
    )
    new_providers = serializers.ListField(
        child=serializers.CharField(max_length=50),
        required=False,
        help_text="that are new although their names are like known ones",
    )
    replace = FlagField(required=False, default=False, help_text="corrects prices of one day")
    dry_run = FlagField(required=False, default=False, help_text="stores nothing")
    anew = FlagField(
        required=False, default=False, help_text="not as the last table of the hoster was read"
    )


class TableRemark(serializers.Serializer[Any]):
    """A remark on a line."""

    line = serializers.IntegerField()
    column = serializers.CharField()
    detail = serializers.CharField()


class TableLine(serializers.Serializer[Any]):
    """A price as it was read, and what comes of it."""

    line = serializers.IntegerField()
    offer = serializers.CharField()
    price = serializers.CharField()
    day = serializers.CharField()
    state = serializers.CharField(help_text="new, replaced, unchanged or waiting")
    why = serializers.CharField(help_text="what it waits for; empty for the others")


class TableDone(serializers.Serializer[Any]):
    """The outcome of a table."""

    is_dry = serializers.BooleanField()
    rows = serializers.IntegerField()
    offers_new = serializers.IntegerField()
    offers_changed = serializers.IntegerField()
    offers_unchanged = serializers.IntegerField()
    prices_new = serializers.IntegerField()
    prices_unchanged = serializers.IntegerField()
    prices_replaced = serializers.IntegerField()
    prices_waiting = serializers.IntegerField()
    refused = TableRemark(many=True)
    warnings = TableRemark(many=True)
    recalled = serializers.CharField(help_text="hoster whose last table says how it is read")
    lines = TableLine(many=True)


def _of_form(data: Any) -> Any:
    """The document that the parts of a form stand for: all of them are text, beside the file."""
    if not isinstance(data, QueryDict):
        return data
    document: dict[str, Any] = data.dict()
    for name in FLAGS & {*document}:
        document[name] = {"true": True, "false": False}.get(document[name], document[name])
    if "new_providers" in document:
        document["new_providers"] = data.getlist("new_providers")
    if "columns" in document:
        try:
            document["columns"] = json.loads(document["columns"])
        except (ValueError, RecursionError):
            raise InvalidValue("/columns", "a JSON object is needed") from None
    return document


class TableImportView(View):
    """A table of quotes, offers or prices."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}
    parser_classes = (ExactJSONParser, MultiPartParser)

    @extend_schema(
        operation_id="tables_import",
        request={
            "application/json": TableDocument,
            "multipart/form-data": {
                "type": "object",
                "description": "The same fields; `file` holds the table",
                "properties": {
                    "kind": {"type": "string", "enum": list(TABLES)},
                    "file": {"type": "string", "format": "binary"},
                    **{name: {"type": "string"} for name in DEFAULTS},
                    **{name: {"type": "boolean"} for name in sorted(FLAGS)},
                    "columns": {"type": "string", "description": "A JSON object"},
                    "new_providers": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["kind", "file"],
            },
        },
        responses={200: TableDone, 400: Problem, 413: Problem},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Store the good lines; the answer has every line's reading, what waits, and what is refused."""
        document = TableDocument(data=_of_form(request.data))
        document.is_valid(raise_exception=True)
        fields = document.validated_data
        file, text = fields.get("file"), fields.get("text")
        if (file is None) == (text is None):
            raise InvalidValue("/text", "either text or a file is needed")
        report = table_import(
            kind=fields["kind"],
            workspace=workspace_of(request),
            text=text if file is None else file.read(),
            options=Options(
                defaults={name: fields.get(name, "") for name in DEFAULTS},
                columns=fields.get("columns", {}),
            ),
            is_replacing=fields["replace"],
            known_providers=fields.get("new_providers", ()),
            is_dry=fields["dry_run"],
            is_recalling=not fields["anew"],
            actor=actor(request),
        )
        return Response(TableDone(asdict(report)).data)


class TableTemplateView(View):
    """An empty table to fill in."""

    @extend_schema(
        operation_id="table_templates_csv",
        responses={(200, "text/csv"): OpenApiTypes.STR, 404: Problem},
    )
    def get(self, request: Request, kind: str) -> HttpResponse:
        """The columns of a kind of table."""
        return _template(kind, "csv", "text/csv; charset=utf-8")


class TableWorkbookView(View):
    """An empty workbook to fill in."""

    @extend_schema(
        operation_id="table_templates_xlsx",
        responses={(200, XLSX): OpenApiTypes.BINARY, 404: Problem},
    )
    def get(self, request: Request, kind: str) -> HttpResponse:
        """The columns of a kind of table, with lists and limits for their cells."""
        return _template(kind, "xlsx", XLSX)


def _template(kind: str, file_format: str, media_type: str) -> HttpResponse:
    if kind not in TABLES:
        raise Http404(f"kinds of tables are {', '.join(TABLES)}")
    name = f'attachment; filename="rackrate-{kind}.{file_format}"'
    content = table_template(kind, file_format)
    return HttpResponse(content, content_type=media_type, headers={"Content-Disposition": name})


class TableMappingsView(ListView):
    """How the last table of each hoster was meant."""

    name = "table-mappings"
    orders = {"provider": "provider", "kind": "kind"}
    scopes: ClassVar[Mapping[str, str]] = {"GET": WRITE}
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("kind", ColumnType.TEXT, "quotes, offers or prices"),
        Column("provider", ColumnType.TEXT, "Slug of the hoster"),
        Column("locale", ColumnType.TEXT, "How numbers and days are written"),
        Column("currency", ColumnType.TEXT, "Of lines that name none"),
        Column("meanings", ColumnType.TEXT, "Headers and their columns, as a JSON object"),
        Column("updated_at", ColumnType.TIME, "When it was last said otherwise"),
    )

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.parameters(request)
        rows = mappings_of(workspace_of(request))
        return ListAnswer(self.columns, rows, rows.count(), cells=_cells, **shown)


def _cells(mapping: TableMapping) -> dict[str, Any]:
    return {
        "id": mapping.pk,
        "kind": mapping.kind,
        "provider": mapping.provider,
        "locale": mapping.defaults.get("locale") or None,
        "currency": mapping.defaults.get("currency") or None,
        "meanings": json.dumps(mapping.columns, ensure_ascii=False),
        "updated_at": mapping.updated_at,
    }


class TableMappingView(View):
    """The remembered mapping of a hoster's tables."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": WRITE}

    @extend_schema(operation_id="table_mappings_delete", responses={204: None})
    def delete(self, request: Request, mapping_id: UUID) -> Response:
        """Forget it: the next table is read without it."""
        mapping = get_object_or_404(mappings_of(workspace_of(request)), pk=mapping_id)
        mapping_forget(mapping=mapping, actor=actor(request))
        return Response(status=204)
