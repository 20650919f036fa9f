"""The JSON Schemas (2020-12) of the documents of scenarios and shared links.

What depends on another field (which fields a kind knows, ranges of one beside another) is for the
reader to say.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from backend.domain.scenarios.fields import FIELDS, Field
from backend.domain.scenarios.reading import MOST_TEXT

Schema = dict[str, Any]

NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"
CLOCK = r"^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9])?$"
_PLAIN: Schema = {"type": ["string", "number"], "pattern": NUMBER}
_NULL: Schema = {"type": "null"}


def scenario_schema() -> Schema:
    """The schema of a scenario document."""
    root: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
    for field in FIELDS.values():
        _placed(root, field.path.strip("/").split("/"))[field.name] = _of(field)
    _need(root, "")
    return root


def _placed(schema: Schema, names: list[str]) -> dict[str, Any]:
    """The properties that the last of the names belongs to."""
    for name in names[:-1]:
        schema = schema["items"] if name == "*" else schema["properties"][name]
    properties: dict[str, Any] = schema["properties"]
    return properties


def _need(schema: Schema, path: str) -> None:
    """What must be there; a field that only some kinds know never must."""
    found = [
        name
        for name in schema["properties"]
        if FIELDS[f"{path}/{name}"].is_needed
        and (_is_inner(path) or not FIELDS[f"{path}/{name}"].when)
    ]
    if found:
        schema["required"] = found
    for name, inner in schema["properties"].items():
        if "properties" in inner:
            _need(inner, f"{path}/{name}")
        elif "properties" in inner.get("items", {}):
            _need(inner["items"], f"{path}/{name}/*")


def _is_inner(path: str) -> bool:
    """Whether the object itself is one that only some kinds know."""
    return bool(FIELDS[path.removesuffix("/*")].when) if path else False


def _of(field: Field) -> Schema:
    schema = {**_KINDS[field.kind](field), "description": _words(field)}
    if field.default is not None:
        schema["default"] = int(field.default) if field.kind == "whole" else field.default
    if field.is_needed or field.kind in {"object", "objects"}:
        return schema
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    if "type" in schema:
        return {**schema, "type": [*schema["type"], "null"]}
    return {**schema, "anyOf": [*schema["anyOf"], _NULL]}


def _words(field: Field) -> str:
    words = [field.meaning]
    if field.unit:
        words.append(
            f"in {field.unit}" if "/" in field.unit or " " not in field.unit else field.unit
        )
    if field.when:
        words.append(f"only with {', '.join(field.when)}")
    if field.source:
        words.append(field.source)
    return "; ".join(words)


def _number(field: Field) -> Schema:
    low = "exclusiveMinimum" if field.is_above else "minimum"
    bounds = {low: field.low, "maximum": field.high}
    return _PLAIN | {name: float(bound) for name, bound in bounds.items() if bound is not None}


def _whole(field: Field) -> Schema:
    bounds = {"minimum": field.low, "maximum": field.high}
    return {"type": "integer"} | {k: int(v) for k, v in bounds.items() if v is not None}


def _choice(field: Field) -> Schema:
    if field.choices == ("1",):
        return {"type": "integer", "enum": [1]}
    words: list[str | None] = [*field.choices]
    return {"type": "string", "enum": words if field.is_needed else [*words, None]}


def _text(field: Field) -> Schema:
    bounds = {} if field.name == "csv" else {"maxLength": MOST_TEXT}
    return {"type": "string", "minLength": 1} | bounds


def _objects(field: Field) -> Schema:
    return {"type": "array", "items": _object(field)}


def _object(field: Field) -> Schema:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _pairs(first: Schema, second: Schema) -> Callable[[Field], Schema]:
    pair = {"type": "array", "prefixItems": [first, second], "minItems": 2, "maxItems": 2}
    return lambda _: {"type": "array", "minItems": 1, "items": pair}


def _numbers(field: Field) -> Schema:
    count = int(field.low or 0)
    return {"type": "array", "items": _PLAIN, "minItems": count, "maxItems": count}


_KINDS: Mapping[str, Callable[[Field], Schema]] = MappingProxyType(
    {
        "number": _number,
        "whole": _whole,
        "text": _text,
        "choice": _choice,
        "time": lambda _: {"type": "string", "format": "date-time"},
        "clock": lambda _: {"type": "string", "pattern": CLOCK},
        "zone": lambda _: {"type": "string", "minLength": 1},
        "count": lambda f: {"anyOf": [_whole(f), {"enum": ["peak", "optimal"]}]},
        "convention": lambda f: {"anyOf": [_whole(f), {"enum": ["calendar", "30d"]}]},
        "object": _object,
        "hardware": lambda _: {"type": "object"},
        "objects": _objects,
        "wholes": lambda f: {"type": "array", "items": _whole(f), "minItems": 1, "maxItems": 7},
        "numbers": _numbers,
        "tiers": _pairs({**_PLAIN, "type": ["string", "number", "null"]}, _PLAIN),
        "shares": _pairs(_PLAIN, _PLAIN),
        "points": _pairs({"type": "string", "format": "date-time"}, _PLAIN),
    }
)


def contention_schema() -> Schema:
    """The schema of a document of shared links."""
    name = {"type": "string", "minLength": 1, "maxLength": MOST_TEXT}
    link = {
        "name": name,
        "capacity_bytes_per_s": _PLAIN | {"exclusiveMinimum": 0},
    }
    flow = {
        "name": name,
        "count": {"type": ["integer", "null"], "minimum": 1, "default": 1},
        "demand_bytes_per_s": _PLAIN
        | {
            "type": ["string", "number", "null"],
            "minimum": 0,
            "description": "of a single flow; null takes what it gets",
        },
        "path": {"type": ["array", "null"], "items": name, "description": "names of links"},
    }
    return _strict(
        {
            "schema": {"type": "integer", "enum": [1]},
            "links": {
                "type": ["array", "null"],
                "items": _strict(link, "name", "capacity_bytes_per_s"),
            },
            "flows": {"type": "array", "minItems": 1, "items": _strict(flow, "name")},
            "transfer_bytes": {
                "type": ["integer", "null"],
                "minimum": 0,
                "description": "transfer_s is the time of so many bytes",
            },
        },
        "schema",
        "flows",
    )


def _strict(properties: Mapping[str, Any], *needed: str) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(needed),
        "additionalProperties": False,
    }
