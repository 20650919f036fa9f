"""Decides by AWS policies: explicit Deny wins, what no statement allows is denied.

Only what the shipped policies use is known; anything else in a policy is an error.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

POLICIES = Path(__file__).parents[2] / "docs" / "policies"
ELEMENTS = {"Sid", "Effect", "Action", "Resource", "Condition", "Principal"}


@dataclass(frozen=True)
class Asked:
    """One action on one resource, and what the request says beside."""

    action: str
    resource: str = "*"
    context: Mapping[str, str] = field(default_factory=dict)
    principal: str = ""


def matches(pattern: str, text: str) -> bool:
    """Whether the text is of the pattern, in which * and ? stand for others."""
    parts = (
        {"*": ".*", "?": "."}.get(part, re.escape(part)) for part in re.split(r"([*?])", pattern)
    )
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _any(test: Callable[[str, str], bool], values: list[str], text: str | None) -> bool:
    return text is not None and any(test(value, text) for value in values)


def _string_equals(values: list[str], text: str | None) -> bool:
    return _any(str.__eq__, values, text)


def _string_not_equals(values: list[str], text: str | None) -> bool:
    """True of a key that the request has not, too."""
    return not _string_equals(values, text)


def _string_like(values: list[str], text: str | None) -> bool:
    return _any(matches, values, text)


def _numeric_equals(values: list[str], text: str | None) -> bool:
    return _any(lambda value, given: float(value) == float(given), values, text)


def _null(values: list[str], text: str | None) -> bool:
    return values == [str(text is None).lower()]


OPERATORS = {
    "StringEquals": _string_equals,
    "StringNotEquals": _string_not_equals,
    "StringLike": _string_like,
    "NumericEquals": _numeric_equals,
    "Null": _null,
}


class Policy:
    """One policy document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._statements = list(_checked(document))

    @classmethod
    def shipped(cls, name: str, **replaced: str) -> "Policy":
        """One of docs/policies, with texts in it replaced as its reader is told to."""
        text = (POLICIES / name).read_text()
        for placeholder, value in replaced.items():
            assert placeholder.replace("_", "-") in text
            text = text.replace(placeholder.replace("_", "-"), value)
        return cls(json.loads(text))

    def allows(self, asked: Asked) -> bool:
        effects = {row["Effect"] for row in self._statements if _applies(row, asked)}
        return effects == {"Allow"}


def _checked(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    assert document["Version"] == "2012-10-17"
    for statement in document["Statement"]:
        assert not statement.keys() - ELEMENTS, statement
        assert statement["Effect"] in {"Allow", "Deny"}
        assert not statement.get("Condition", {}).keys() - OPERATORS.keys(), statement
        yield statement


def _applies(statement: Mapping[str, Any], asked: Asked) -> bool:
    actions = _listed(statement["Action"])
    if not any(matches(action.lower(), asked.action.lower()) for action in actions):
        return False
    if not any(matches(name, asked.resource) for name in _listed(statement.get("Resource", "*"))):
        return False
    principal = statement.get("Principal", {"AWS": asked.principal})["AWS"]
    if asked.principal not in _listed(principal):
        return False
    return all(
        OPERATORS[operator](_listed(values), asked.context.get(key))
        for operator, keys in statement.get("Condition", {}).items()
        for key, values in keys.items()
    )


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
