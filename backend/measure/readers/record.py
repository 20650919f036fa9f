"""A strict reader of the one JSON object per line that the native probes and the runner print."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from backend.foundation.errors import ProbeError
from backend.foundation.printable import printable

T = TypeVar("T")
MAX_NUMBER = 1e30
# The native probes keep their line below 64 KiB.
MAX_CHARACTERS = 2**20
MAX_DETAIL = 300


@dataclass(frozen=True)
class ProbeRecord:
    """The fields of one line; each reader raises ProbeError when its field is not as it must be."""

    tool: str
    fields: Mapping[str, object]

    def fail(self, detail: str) -> NoReturn:
        raise ProbeError(self.tool, detail[:MAX_DETAIL], 1)

    def _read_typed(self, key: str, kind: type[T], what: str) -> T:
        value = self.fields.get(key)
        # bool is an int in Python, not in JSON.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(f"{key} is {value!r}, not {what}")
        return value

    def text(self, key: str) -> str:
        """A text that every database, encoding and terminal takes."""
        value = self._read_typed(key, str, "a text")
        if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
            self.fail(f"{key} contains a NUL character or half of a character")
        return printable(value)

    def flag(self, key: str) -> bool:
        return self._read_typed(key, bool, "true or false")

    def count(self, key: str, *, minimum: int = 0) -> int:
        value = self._read_typed(key, int, "a whole number")
        if not minimum <= value < 1 << 63:
            self.fail(f"{key} is below {minimum}, or too large")
        return value

    def number(self, key: str) -> float:
        """A number >= 0 of a size that anything measured here can have."""
        return self._number(key, self.fields.get(key))

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(f"{key} is {value!r}, not a number")
        if not 0 <= value <= MAX_NUMBER:
            self.fail(f"{key} is negative, or too large")
        return float(value)

    def numbers(self, key: str) -> list[float]:
        """A list of numbers >= 0, which may be empty."""
        values = self._read_typed(key, list, "a list")
        return [self._number(f"{key}[{index}]", value) for index, value in enumerate(values)]

    def number_or_none(self, key: str) -> float | None:
        """None where the probe did not know the value, or is of a version that did not ask."""
        return None if self.fields.get(key) is None else self.number(key)

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


def read_record(tool: str, text: str, *, probe: str | None = None) -> ProbeRecord:
    """The only line of `text` as a Record of schema 1 (and of `probe`, when one is named)."""
    if len(text) > MAX_CHARACTERS:
        raise ProbeError(tool, f"{len(text)} characters are more than any line of ours", 1)
    if not text.endswith("\n") or text.count("\n") != 1:
        raise ProbeError(tool, "not exactly one whole line", max(1, text.count("\n")))
    try:
        fields = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ProbeError(tool, f"not a JSON line: {error}", 1) from error
    if not isinstance(fields, dict):
        raise ProbeError(tool, "not a JSON object", 1)
    record = ProbeRecord(tool, fields)
    if record.count("schema") != 1:
        record.fail(f"schema {fields['schema']} is unknown")
    if "error" in fields:
        record.fail(record.text("error"))
    if probe is not None and record.text("probe") != probe:
        record.fail(f"this is output of {record.text('probe')}")
    return record
