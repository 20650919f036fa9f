"""How lists describe themselves in the OpenAPI schema (version 3.0)."""

from collections.abc import Iterable
from typing import Any, Protocol, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from backend.common.rest.table import Column, Kind

TYPES: dict[Kind, dict[str, str]] = {
    Kind.TEXT: {"type": "string"},
    Kind.WORDS: {"type": "string"},
    Kind.INTEGER: {"type": "integer"},
    Kind.NUMBER: {"type": "number"},
    Kind.DECIMAL: {"type": "string", "format": "decimal"},
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.DATE: {"type": "string", "format": "date"},
    Kind.TIME: {"type": "string", "format": "date-time"},
}
EVERY_LIST = {
    "page": "Number of the JSON page, from 1",
    "per_page": "Rows of a JSON page, 1 to 250 (default 50); CSV and XLSX are never paged",
    "dialect": "Of CSV: excel (byte order mark) or excel-eu (also ; and decimal commas)",
}


def row_schema(columns: Iterable[Column]) -> dict[str, Any]:
    """A row as JSON; every cell may be null, which is unknown."""
    return {
        "type": "object",
        "properties": {
            column.name: {
                **TYPES[column.kind],
                "nullable": True,
                "description": f"{column.description} ({column.unit})"
                if column.unit
                else column.description,
            }
            for column in columns
        },
    }


def page_schema(columns: Iterable[Column]) -> dict[str, Any]:
    """A page of rows in its envelope."""
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
            "results": {"type": "array", "items": row_schema(columns)},
        },
        "required": ["count", "next", "previous", "warnings", "results"],
    }


class Listed(Protocol):
    """What a ListView tells of itself."""

    name: str
    columns: tuple[Column, ...]

    def described_parameters(self) -> dict[str, str]:
        """Names and meanings of its own parameters."""
        ...


class ListSchema(AutoSchema):
    """Parameters and rows of a ListView's GET; other methods describe themselves."""

    def _list(self) -> Listed:
        return cast("Listed", self.view)

    def get_override_parameters(self) -> list[Any]:
        if self.method != "GET":
            return []
        described = {**self._list().described_parameters(), **EVERY_LIST}
        return [
            OpenApiParameter(name, OpenApiTypes.STR, description=text)
            for name, text in described.items()
        ]

    def get_response_serializers(self) -> Any:
        if self.method != "GET":
            return super().get_response_serializers()
        return {
            (200, "application/json"): page_schema(self._list().columns),
            (200, "text/csv"): OpenApiTypes.STR,
        }

    def get_operation_id(self) -> str:
        action = "list" if self.method == "GET" else "create"
        return f"{self._list().name.replace('-', '_')}_{action}"
