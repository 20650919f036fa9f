"""A strict reader of the one JSON object per line that the native probes and the runner print."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from backend.domain.errors import ProbeError

T = TypeVar("T")
MAX_NUMBER = 1e30


@dataclass(frozen=True)
class Record:
    """The fields of one line; each reader raises ProbeError when its field is not as it must be."""

    tool: str
    fields: Mapping[str, object]

    def fail(self, detail: str) -> NoReturn:
        raise ProbeError(self.tool, detail, 1)

    def _typed(self, key: str, kind: type[T], what: str) -> T:
        value = self.fields.get(key)
        # bool is an int in Python, not in JSON.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(f"{key} is {value!r}, not {what}")
        return value

    def text(self, key: str) -> str:
        return self._typed(key, str, "a text")

    def flag(self, key: str) -> bool:
        return self._typed(key, bool, "true or false")

    def count(self, key: str, *, minimum: int = 0) -> int:
        value = self._typed(key, int, "a whole number")
        if not minimum <= value < 1 << 63:
            self.fail(f"{key} is below {minimum}, or too large")
        return value

    def number(self, key: str) -> float:
        """A number >= 0 of a size that anything measured here can have."""
        value = self.fields.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(f"{key} is {value!r}, not a number")
        if not 0 <= value <= MAX_NUMBER:
            self.fail(f"{key} is negative, or too large")
        return float(value)

    def positive(self, key: str) -> float:
        value = self.number(key)
        if value == 0:
            self.fail(f"{key} is 0")
        return value

    def is_null(self, key: str) -> bool:
        if key not in self.fields:
            self.fail(f"{key} is missing")
        return self.fields[key] is None


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key occurs twice")
    return fields


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def read_record(tool: str, text: str, *, probe: str | None = None) -> Record:
    """The only line of `text` as a Record of schema 1 (and of `probe`, when one is named)."""
    if not text.endswith("\n") or text.count("\n") != 1:
        raise ProbeError(tool, "not exactly one whole line", max(1, text.count("\n")))
    try:
        fields = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ProbeError(tool, f"not a JSON line: {error}", 1) from error
    if not isinstance(fields, dict):
        raise ProbeError(tool, "not a JSON object", 1)
    record = Record(tool, fields)
    if record.count("schema") != 1:
        record.fail(f"schema {fields['schema']} is unknown")
    if "error" in fields:
        record.fail(record.text("error"))
    if probe is not None and record.text("probe") != probe:
        record.fail(f"this is output of {record.text('probe')}")
    return record
