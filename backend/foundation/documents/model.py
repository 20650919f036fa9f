"""The base of every document.

A document is a pydantic model whose fields are annotated with a value of `values`. From the model
come the reader with every fault at once under its JSON pointer, and the JSON Schema (2020-12).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, InitErrorDetails, PydanticUndefined

from backend.foundation.documents.values import (
    JsonSchema,
    Many,
    Object,
    Value,
    Word,
    escape_pointer,
    fault,
)
from backend.foundation.errors import InvalidDocument

# Pairs of the address of a field, relative to its object, and what is wrong with it.
Faults = Iterator[tuple[str, str]]
# What the values do not say themselves, by pydantic's type of error.
_MESSAGES: Mapping[str, str] = {
    "extra_forbidden": "unknown field",
    "invalid_key": "unknown field",
    "missing": "a value is needed",
}


@dataclass(frozen=True)
class Described:
    """A field under the name that it has in the document."""

    name: str
    value: Value
    info: FieldInfo
    model: type["Document"] | None
    """Model of a field that holds one object."""
    element: type["Document"] | None
    """Model of the objects in a field that holds a list."""

    @property
    def is_needed(self) -> bool:
        """True if it must be there; of a field that only some kinds know, with those."""
        return self.value.is_needed or self.info.is_required()

    @property
    def default(self) -> Any:
        """Value of a field that is left out, as a document would state it; None for nothing."""
        default = self.info.default
        if self.is_needed or self.value.needed_with or self.value.is_derived:
            return None
        if default is PydanticUndefined or default in (None, ""):
            return self.value.stand_in
        return self.value.written(default)


class Document(BaseModel):
    """An object of a document. Null means left out, but for fields that hold an object."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
    switch: ClassVar[str] = ""
    """Name of the choice that decides which of the other fields count."""
    is_change: ClassVar[bool] = False
    """Described as a change: nothing is required, and what is left out stays."""

    @classmethod
    def read(cls, document: object) -> Self:
        """The document; InvalidDocument has the JSON pointer of every field that is wrong."""
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise invalid(error) from None

    def merge(self, changes: Mapping[str, Any]) -> Self:
        """The document with what was sent in place of what is stored (RFC 7396); null of a flag is
        refused where its default is true or false."""
        for name, field in fields_of(type(self)).items():
            # Its default would start, or measure at full load, what somebody has stopped or marked.
            if isinstance(field.info.default, bool) and changes.get(name, True) is None:
                raise InvalidDocument([(f"/{name}", "true or false is needed")])
        return self.read({**self.model_dump(by_alias=True), **changes})

    def faults(self) -> Faults:
        """Faults between fields that are right each for itself."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, document: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(document, Mapping):
            raise fault("an object is needed")
        stated, wrong = cls._collect_stated(document)
        try:
            model = handler(stated)
        except ValidationError as error:
            wrong += [(each["loc"], _message(each)) for each in error.errors(include_input=False)]
        else:
            if not wrong:
                wrong = [(tuple(path.split("/")), detail) for path, detail in model.faults()]
            if not wrong:
                return model
        lines = [InitErrorDetails(type=fault(text), loc=loc, input=None) for loc, text in wrong]
        raise ValidationError.from_exception_data(cls.__name__, lines)

    @classmethod
    def _collect_stated(
        cls, document: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[tuple[tuple[int | str, ...], str]]]:
        """Stated fields; and faults for what is missing, or unknown to the kind that it chose."""
        known = fields_of(cls)
        chosen = cls._kind_of(document)
        stated: dict[str, Any] = {}
        wrong: list[tuple[tuple[int | str, ...], str]] = []
        for name, value in document.items():
            field = known.get(name)
            if field is None:
                stated[name] = value
            elif chosen and field.value.when and chosen not in field.value.when:
                wrong.append(((name,), _MESSAGES["extra_forbidden"]))
            elif value is not None or (field.model is not None and not field.value.is_nullable):
                stated[name] = value
        for field in _mandatory_fields(cls, chosen):
            if field.name not in stated:
                if field.model is not None and any(
                    map(_is_always_needed, fields_of(field.model).values())
                ):
                    stated[field.name] = {}  # its own fields say what is missing
                else:
                    wrong.append(((field.name,), field.value.missing))
        return stated, wrong

    @classmethod
    def _kind_of(cls, document: Mapping[str, Any]) -> str:
        """The kind that the document chooses; "" where it is none."""
        if not cls.switch:
            return ""
        field = fields_of(cls)[cls.switch]
        kind = document.get(cls.switch)
        if kind is None:
            kind = field.info.default
        choices = field.value.choices if isinstance(field.value, Word) else ()
        return kind if isinstance(kind, str) and kind in choices else ""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchema:
        schema = handler(core_schema)
        whole = handler.resolve_ref_schema(schema)
        whole.pop("title", None)
        needed = []
        for field in fields_of(cls).values():
            described: JsonSchema = whole["properties"][field.name]
            described.pop("title", None)
            described.pop("default", None)
            if field.is_needed:
                needed += [] if field.value.when or cls.is_change else [field.name]
                continue
            if not cls.is_change and (default := field.default) is not None:
                described["default"] = default
            if field.model is None or field.value.is_nullable:
                whole["properties"][field.name] = _or_null(described)
        whole.pop("required", None)
        if needed:
            whole["required"] = needed
        return schema


def _drop_titles(schema: JsonSchema) -> None:
    for described in (schema, *schema["properties"].values()):
        described.pop("title", None)


class Result(BaseModel):
    """An object of an answer, described by its fields."""

    model_config = ConfigDict(frozen=True, json_schema_extra=_drop_titles)


def invalid(error: ValidationError) -> InvalidDocument:
    """The faults by JSON pointer, one each."""
    faults: dict[str, str] = {}
    for each in error.errors(include_input=False):
        faults.setdefault(pointer(each["loc"]), _message(each))
    return InvalidDocument(sorted(faults.items()))


def pointer(parts: tuple[int | str, ...]) -> str:
    """The JSON pointer (RFC 6901) of a field."""
    return "".join(f"/{escape_pointer(part)}" for part in parts)


def json_schema(model: type[Document | Result]) -> JsonSchema:
    """The JSON Schema of a document, whole: every object where it belongs."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(inner: Any) -> Any:
        if isinstance(inner, list):
            return [whole(each) for each in inner]
        if not isinstance(inner, dict):
            return inner
        if "$ref" in inner:
            inner = {**parts[inner["$ref"].rpartition("/")[2]], **inner}
            del inner["$ref"]
        return {name: whole(each) for name, each in inner.items()}

    result: JsonSchema = whole(schema)
    return result


@cache
def fields_of(model: type[Document]) -> Mapping[str, Described]:
    """The fields by their names in the document."""
    fields = {}
    for name, info in model.model_fields.items():
        value = next(mark for mark in info.metadata if isinstance(mark, Value))
        shown = info.alias or name
        # Other values read a whole document by themselves.
        is_nested = isinstance(value, Object | Many)
        inner = _model_in(info.annotation) if is_nested else None
        is_list = get_origin(info.annotation) is tuple
        model_of, element = (None, inner) if is_list else (inner, None)
        fields[shown] = Described(shown, value, info, model_of, element)
    return fields


def every_field(model: type[Document], path: str = "") -> Iterator[tuple[str, Described]]:
    """Every field of a document under its JSON pointer, with a star for any index of a list."""
    for field in fields_of(model).values():
        at = f"{path}/{field.name}"
        yield at, field
        if field.model is not None:
            yield from every_field(field.model, at)
        elif field.element is not None:
            yield from every_field(field.element, f"{at}/*")


def _is_always_needed(field: Described) -> bool:
    return field.is_needed and not field.value.when


@cache
def _mandatory_fields(model: type[Document], chosen: str) -> tuple[Described, ...]:
    return tuple(
        field
        for field in fields_of(model).values()
        if _is_always_needed(field)
        or (field.is_needed and chosen in field.value.when)
        or chosen in field.value.needed_with
    )


def _model_in(annotation: Any) -> type[Document] | None:
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, Document):
            return each
    return None


def _message(error: Mapping[str, Any]) -> str:
    return _MESSAGES.get(error["type"]) or str(error["msg"])


def _or_null(schema: JsonSchema) -> JsonSchema:
    kinds = schema.get("type")
    if "enum" in schema:
        schema = {**schema, "enum": [*schema["enum"], None]}
    if isinstance(kinds, str):
        return {**schema, "type": [kinds, "null"]}
    if kinds is not None:
        return {**schema, "type": [*kinds, "null"]}
    variants = schema["anyOf"]
    return {**schema, "anyOf": [*variants, *([] if _NULL in variants else [_NULL])]}


_NULL: JsonSchema = {"type": "null"}
