"""How endpoints describe themselves in the OpenAPI schema (version 3.0)."""

import re
from collections.abc import Collection, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Protocol, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.permissions import SAFE_METHODS

from backend.core.rest.documents import Problem
from backend.core.rest.parameters import Reader, schema_of
from backend.core.rest.permissions import READ, scope_of_method
from backend.core.rest.problem import CONTENT_TYPE, PROBLEM_CODES
from backend.core.rest.table import Column, ColumnType

TYPES: dict[ColumnType, dict[str, Any]] = {
    ColumnType.TEXT: {"type": "string"},
    ColumnType.WORDS: {"type": "string"},
    ColumnType.LIST: {"type": "array", "items": {"type": "string"}},
    ColumnType.INTEGER: {"type": "integer"},
    ColumnType.NUMBER: {"type": "number"},
    ColumnType.DECIMAL: {"type": "string", "format": "decimal"},
    ColumnType.BOOLEAN: {"type": "boolean"},
    ColumnType.DATE: {"type": "string", "format": "date"},
    ColumnType.TIME: {"type": "string", "format": "date-time"},
}
EVERY_LIST = {
    "page": "Number of the JSON page, from 1",
    "per_page": "Rows of a JSON page, 1 to 250 (default 50); CSV and XLSX are never paged",
    "cursor": "In place of page: * begins, and `next` goes on behind the last row, whatever is added",
    "dialect": "Of CSV: excel (byte order mark) or excel-eu (also ; and decimal commas)",
}
# Parameters that are no column; a parameter named like a column means what the column says.
MANY_LISTS = {
    "as_of": "What was known at the end of that day",
    "all": "Also what a newer version has replaced",
    "account": "Identifier of the cloud account",
    "campaign": "Identifier of the campaign",
    "round": "Number of the campaign's round",
    "since": "Made or measured at that time or later",
    "sort": "Column to order by, with - in front from the largest",
}
LIST_HEADERS = {
    "ETag": "Changes with the answer; send it back as If-None-Match, or as If-Match with a change",
    "Last-Modified": "When the data got this version; absent in the second after that",
    "Link": "The next and the previous page, and what describes the columns",
    "X-Data-Version": "Number that grows with every change of the data",
    "X-Schema-Version": "Version of the columns and documents",
    "X-Total-Count": "Rows of the whole list",
    "X-Warning": "Warnings, as in the JSON page",
}
LIMIT_HEADERS = {
    "RateLimit-Policy": "Requests (q) that may be made in a window of seconds (w)",
    "RateLimit": "Requests left (r) and seconds until the next window (t)",
}
TEXT: dict[str, Any] = {"schema": {"type": "string"}}
TEXT_URI: dict[str, Any] = {"schema": {"type": "string", "format": "uri"}}
SENTENCE_END = re.compile(r"(?<=[\w)][.])\s|;\s")


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object that has these members and no others."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def row_schema(columns: Iterable[Column]) -> dict[str, Any]:
    """A row as JSON; every cell may be null, which is unknown."""
    return object_schema(
        {
            column.name: {
                **TYPES[column.kind],
                "nullable": True,
                "description": f"{column.description} ({column.unit})"
                if column.unit
                else column.description,
            }
            for column in columns
        }
    )


def page_schema(row: Mapping[str, Any]) -> dict[str, Any]:
    """A page of rows in its envelope; `row` is their schema or a reference to it."""
    address = {"type": "string", "format": "uri", "nullable": True}
    return {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "next": address,
            "previous": address,
            "data_version": {"type": "integer"},
            "basis": {"type": "object"},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "results": {"type": "array", "items": dict(row)},
        },
        "required": ["count", "next", "previous", "warnings", "results"],
    }


class ViewSchema(AutoSchema):
    """Adds to an operation who may call it, and every answer that is no success.

    What only the view knows (409, 413, 502, …) it names itself: `responses={409: Problem}`.
    """

    def get_auth(self) -> list[Any]:
        auths: list[Any] = super().get_auth()
        # Without any, where PUBLIC_READ is on: `{}` is how OpenAPI states that.
        return [*auths, {}] if self._is_reading() else auths

    def _is_reading(self) -> bool:
        return scope_of_method(self.view, self.method) == READ

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            _allow_empty(operation)
            _point_to_what_was_made(operation)
            self._add_refusals(operation)
            if getattr(self.view, "deprecation", None) is not None:
                operation["deprecated"] = True
        return operation

    def get_operation_id(self) -> str:
        """A word that is an identifier in every language, though addresses have points."""
        return re.sub(r"[\W_]+", "_", str(super().get_operation_id())).strip("_")

    def get_summary(self) -> Any:
        """The first sentence of the description."""
        words = " ".join(self.get_description().split())
        return super().get_summary() or SENTENCE_END.split(words)[0].removesuffix(".")

    def refusals(self, operation: Mapping[str, Any]) -> set[int]:
        """The statuses of refusals that follow from what the operation takes."""
        sources = {parameter["in"] for parameter in operation.get("parameters", ())}
        # A session without its CSRF token is refused whatever it may do.
        is_open = self.method in SAFE_METHODS and self._is_reading()
        takes_body = "requestBody" in operation
        expected = {
            HTTPStatus.BAD_REQUEST: takes_body or "query" in sources,
            HTTPStatus.UNAUTHORIZED: True,
            HTTPStatus.FORBIDDEN: not is_open,
            HTTPStatus.NOT_FOUND: "path" in sources,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE: takes_body,
            HTTPStatus.TOO_MANY_REQUESTS: True,
        }
        return {int(status) for status, is_expected in expected.items() if is_expected}

    def refusal_content(self) -> dict[str, Any]:
        return {CONTENT_TYPE: {"schema": self.resolve_serializer(Problem, "response").ref}}

    def _add_refusals(self, operation: dict[str, Any]) -> None:
        answers = operation["responses"]
        named = {int(status) for status in answers if int(status) >= HTTPStatus.BAD_REQUEST}
        for status in sorted(named | self.refusals(operation)):
            answer = {"description": _refusal(status), "content": self.refusal_content()}
            if status == HTTPStatus.TOO_MANY_REQUESTS:
                wait = {"schema": {"type": "integer"}, "description": "Whole seconds to wait"}
                answer["headers"] = {"Retry-After": wait}
            answers[str(status)] = answer


def _refusal(status: int) -> str:
    """Meaning of a refusal, with the codes that its problem may carry."""
    codes = sorted(code for code, (usual, _) in PROBLEM_CODES.items() if usual == status)
    phrase = HTTPStatus(status).phrase
    return f"{phrase} (code: {', '.join(codes)})" if codes else phrase


def _point_to_what_was_made(operation: Mapping[str, Any]) -> None:
    """Describe the Location header of answers that made or began something."""
    for status in ("201", "202"):
        if status in operation["responses"]:
            headers = operation["responses"][status].setdefault("headers", {})
            headers["Location"] = {**TEXT_URI, "description": "Address of what was made or begun"}


def _allow_empty(operation: Mapping[str, Any]) -> None:
    """A form sends all its fields; one without a value counts as not sent."""
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query" and not parameter.get("required"):
            parameter["allowEmptyValue"] = True


class Listed(Protocol):
    """Declarations of a ListView."""

    name: str
    columns: tuple[Column, ...]
    renderer_classes: Any
    required_parameters: frozenset[str]
    refused: frozenset[int]

    def parameter_descriptions(self) -> Mapping[str, str]:
        """Names and meanings of its own parameters."""
        ...

    def parameter_readers(self) -> Mapping[str, Reader]:
        """Readers of the parameters, as far as known."""
        ...


class ListSchema(ViewSchema):
    """Parameters, headers and rows of a ListView's GET; other methods describe themselves."""

    def _list(self) -> Listed:
        return cast("Listed", self.view)

    def get_override_parameters(self) -> list[Any]:
        if self.method != "GET":
            return []
        return [*_parameters(self._list()), *_headers()]

    def get_response_serializers(self) -> Any:
        if self.method != "GET":
            return super().get_response_serializers()
        kinds = [renderer.media_type for renderer in self._list().renderer_classes]
        whole = {"text/csv": OpenApiTypes.STR, "text/tab-separated-values": OpenApiTypes.STR}
        return {
            (200, kind): self._page_component()
            if kind == "application/json"
            else whole.get(kind, OpenApiTypes.BINARY)
            for kind in kinds
        } | {304: None}

    def _page_component(self) -> dict[str, Any]:
        """The page and its rows under names of their own, which generated clients take over."""
        stem = "".join(map(str.capitalize, re.split(r"\W", self._list().name)))
        row = self._row_component(f"{stem}Row", row_schema(self._list().columns))
        return self._row_component(f"{stem}Page", page_schema(row))

    def _row_component(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        part = ResolvedComponent(  # type: ignore[no-untyped-call]
            name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema
        )
        self.registry.register_on_missing(part)
        reference: dict[str, Any] = part.ref
        return reference

    def refusals(self, operation: Mapping[str, Any]) -> set[int]:
        # A page past the last.
        own = {int(HTTPStatus.NOT_FOUND), *self._list().refused} if self.method == "GET" else set()
        return super().refusals(operation) | own

    def refusal_content(self) -> dict[str, Any]:
        content = super().refusal_content()
        return content | {"text/plain": TEXT} if self.method == "GET" else content

    def get_operation_id(self) -> str:
        action = "list" if self.method == "GET" else "create"
        return f"{self._list().name.replace('-', '_')}_{action}"


def query_parameters(
    described: Mapping[str, str],
    readers: Mapping[str, Reader] | None = None,
    required: Collection[str] = (),
) -> list[OpenApiParameter]:
    """Names and meanings as parameters of the query, typed by what reads them."""
    return [
        OpenApiParameter(
            name,
            schema_of(readers[name]) if readers and name in readers else OpenApiTypes.STR,
            required=name in required,
            description=text,
        )
        for name, text in described.items()
    ]


def _parameters(view: Listed) -> list[OpenApiParameter]:
    meanings = {**{c.name: c.description for c in view.columns}, **MANY_LISTS}
    described = {
        name: text or meanings.get(name, "")
        for name, text in {**view.parameter_descriptions(), **EVERY_LIST}.items()
    }
    return query_parameters(described, view.parameter_readers(), view.required_parameters)


def _headers() -> list[OpenApiParameter]:
    return [
        OpenApiParameter(
            name,
            OpenApiTypes.STR,
            OpenApiParameter.HEADER,
            description=text,
            response=[HTTPStatus.OK.value],
        )
        for name, text in {**LIST_HEADERS, **LIMIT_HEADERS}.items()
    ]
