"""Request documents: serializers that refuse what they do not know, by name."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.core.rest.table import Column, ColumnType
from backend.foundation.decimals import read_decimal
from backend.foundation.documents.model import Document, fields_of, json_schema
from backend.foundation.documents.values import JsonSchema
from backend.foundation.errors import InvalidDocument

COLUMN_TYPES = {
    "array": ColumnType.LIST,
    "boolean": ColumnType.BOOLEAN,
    "integer": ColumnType.INTEGER,
    "string": ColumnType.TEXT,
}


class ProblemError(serializers.Serializer[Any]):
    """The fault of one field."""

    field = serializers.CharField(help_text="a JSON pointer, or the name of a parameter")
    detail = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """Why there is no other answer (RFC 9457); some answers have further members."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField(help_text="one of GET /problems; stays where words change")
    errors = ProblemError(many=True, required=False)  # type: ignore[assignment]


class Strict(serializers.Serializer[Any]):
    """A serializer under which an unknown field is an error at its own pointer."""

    def to_internal_value(self, data: Any) -> Any:
        # DRF drops fields that it does not know: a misspelled budget would then be no limit, silently.
        unknown = set(data) - set(self.fields) if isinstance(data, Mapping) else set()
        errors: dict[str, Any] = {name: ["unknown field"] for name in sorted(map(str, unknown))}
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if isinstance(error.detail, dict):
                # Together with what else is wrong, so that nobody has to send a document once for
                # each error.
                errors = {**error.detail, **errors}
            else:
                raise
        else:
            if not errors:
                return value
        raise serializers.ValidationError(errors)


class NoDocument(Strict):
    """A request without fields."""


@extend_schema_field(OpenApiTypes.STR)
class AmountField(serializers.Field[Decimal, str, str, Any]):
    """An amount: a decimal string such as "49.00", or a JSON number."""

    default_error_messages = {
        "invalid": "an amount is a decimal such as 49.00, not below zero",
        "too_long": "at most 10 digits before and {decimals} after the point",
    }

    def __init__(self, *, decimals: int = 10, **given: Any) -> None:
        self.decimals = decimals
        super().__init__(**given)

    def to_internal_value(self, data: Any) -> Decimal:
        amount = read_decimal(data)
        if amount is None or amount < 0:
            self.fail("invalid")
        # Without the exponent of 5e3, so that decimals can be counted and the digits stay as sent.
        whole, _, fraction = format(amount, "f").partition(".")
        if len(whole) > 10 or len(fraction) > self.decimals:
            self.fail("too_long", decimals=self.decimals)
        return Decimal(format(amount, "f"))

    def to_representation(self, value: Decimal) -> str:
        return format(value, "f")


# DRF's CharField turns 1 into "1": a mistake in a document would be stored as what was meant.
class TextField(serializers.CharField):
    """Text; a number or boolean is refused instead of being turned into text.

    Its length is that of what is sent, as the description says, and not of what blanks leave of it.
    """

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


class BoundedListField(serializers.ListField):
    """A list whose length is looked at before its items: thousands of faults take seconds to name."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            raise serializers.ValidationError(f"{len(data)} items are more than {self.max_length}")
        return super().to_internal_value(data)


class FlagField(serializers.BooleanField):
    """true or false; the words and numbers that stand for them elsewhere are refused."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class ZonedTimeField(serializers.DateTimeField):
    """A time shown with the offset of its own zone, not in UTC."""

    def to_representation(self, value: Any) -> str:
        return str(value.isoformat())


class AnswerField(serializers.Field[Any, Any, Any, Any]):
    """A field of a document in an answer, as a person would state it."""

    def __init__(self, schema: JsonSchema) -> None:
        super().__init__()
        self.schema = schema

    def to_representation(self, value: Any) -> Any:
        return value


def request_fields(data: Any) -> Mapping[str, Any]:
    """The members of a request; raises InvalidDocument for anything but an object."""
    if not isinstance(data, Mapping):
        raise InvalidDocument([("", "an object is needed")])
    return data


def answer_fields(document: type[Document]) -> dict[str, AnswerField]:
    """The fields of a document, for the answer that shows what is stored of it."""
    fields = {}
    schemas = json_schema(document)["properties"]
    for name, field in fields_of(document).items():
        # Rows outlive the choices and the defaults of their day.
        kept = {
            key: value for key, value in schemas[name].items() if key not in ("enum", "default")
        }
        if field.info.default is not None and isinstance(kept.get("type"), list):
            # Null in a request means the default, which the row then has.
            kept["type"] = [kind for kind in kept["type"] if kind != "null"]
        fields[name] = AnswerField(kept)
    return fields


def document_columns(document: type[Document]) -> tuple[Column, ...]:
    """The columns of a list that shows the fields of a document; an object has one for each of its."""
    columns: list[Column] = []
    for name, field in fields_of(document).items():
        if field.model is None:
            kind = COLUMN_TYPES[field.value.schema()["type"]]
            columns.append(Column(name, kind, field.value.meaning, field.value.unit))
        else:
            inner = document_columns(field.model)
            columns += [replace(each, name=f"{name}_{each.name}") for each in inner]
    return tuple(columns)


def document_cells(document: type[Document], stated: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of those columns, from a document as it is stated."""
    cells: dict[str, Any] = {}
    for name, field in fields_of(document).items():
        if field.model is None:
            cells[name] = stated.get(name)
        else:
            inner = document_cells(field.model, stated.get(name) or {})
            cells |= {f"{name}_{key}": cell for key, cell in inner.items()}
    return cells
