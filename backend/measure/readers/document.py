"""A strict reader of the one JSON document that a tool prints, perhaps behind lines of its own."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.readers.record import ProbeRecord

MAX_NOTES = 20
MAX_SAID = 200
BEGIN = re.compile(r"^[ \t]*\{", re.MULTILINE)


@dataclass(frozen=True)
class ToolResult:
    """Content of a pasted or uploaded result. `version` is the tool's own word for itself."""

    samples: tuple[ParsedSample, ...]
    warnings: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Node(ProbeRecord):
    """An object of a document. Errors name its path and the line on which the document begins."""

    path: str = ""
    line: int = 1

    def fail(self, detail: str) -> NoReturn:
        prefix = f"{self.path}: " if self.path else ""
        raise ProbeError(self.tool, shown(prefix + detail), self.line)

    def has(self, key: str) -> bool:
        """True if the key is there with a value; null is none."""
        return self.fields.get(key) is not None

    def node(self, key: str) -> "Node":
        return self._child(key, self.fields.get(key))

    def nodes(self, key: str) -> list["Node"]:
        """The objects of a list."""
        value = self.fields.get(key)
        if not isinstance(value, list):
            self.fail(f"{key} is missing, or no list")
        return [self._child(f"{key}[{index}]", item) for index, item in enumerate(value)]

    def _child(self, key: str, value: object) -> "Node":
        if not isinstance(value, dict):
            self.fail(f"{key} is missing, or no object")
        return Node(self.tool, value, f"{self.path}.{key}".lstrip("."), self.line)


@dataclass(frozen=True)
class JsonDocument:
    """The outermost object, and what stands in the lines around it."""

    notes: tuple[str, ...]
    """Before it, as far as they are kept."""
    root: Node
    behind: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and how much was left out behind."""
        if not self.behind:
            return self.notes
        return (*self.notes, f"{len(self.behind)} lines behind the JSON were left out")


def shown(text: str) -> str:
    """A foreign text fit to be shown and stored: printable, and not long."""
    return "".join(c if c.isprintable() else "?" for c in text[:MAX_SAID]).strip()


def read_document(
    tool: str,
    text: str,
    *,
    first_line: int = 1,
    repeated: Collection[str] = (),
    is_nan_null: bool = False,
    takes_more: bool = False,
) -> JsonDocument:
    """The JSON object that begins on the first line that begins with a brace.

    Keys in `repeated` may occur twice in an object (the last counts). Raises ProbeError for any
    other repeated key, for NaN and Infinity unless they count as null, for text behind the object
    unless `takes_more` and it is no JSON, and for more text than texts.MAX_CHARACTERS.
    """
    text = check_text(tool, text)
    begin = BEGIN.search(text)
    if begin is None:
        raise ProbeError(tool, "no line begins a JSON object", first_line)

    def pairs(members: list[tuple[str, object]]) -> dict[str, object]:
        fields: dict[str, object] = {}
        for key, value in members:
            if key in fields and key not in repeated:
                raise ValueError(f"the key {shown(key)!r} occurs twice")
            fields[key] = value
        return fields

    def constant(word: str) -> None:
        if not is_nan_null:
            raise ValueError(f"{word} is no number")

    before = text[: begin.start()]
    line = first_line + before.count("\n")
    reader = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant)
    try:
        fields, end = reader.raw_decode(text, begin.end() - 1)
    except json.JSONDecodeError as error:
        # A whole document often stands on one line.
        around = text[max(begin.start(), error.pos - 30) : error.pos + 30]
        is_cut = not text[error.pos :].strip()
        detail = f"not JSON: {'it is cut off' if is_cut else error.msg}"
        raise ProbeError(
            tool,
            f"{detail} at column {error.colno}, near {shown(around)!r}",
            first_line + error.lineno - 1,
        ) from error
    except (ValueError, RecursionError) as error:
        raise ProbeError(tool, f"not JSON that can be read: {shown(str(error))}", line) from error
    behind = text[end:]
    if behind.strip():
        at = first_line + text[: end + len(behind) - len(behind.lstrip())].count("\n")
        if BEGIN.search(behind):
            raise ProbeError(tool, "a second JSON follows the first: give one run at a time", at)
        if not takes_more:
            raise ProbeError(tool, f"text behind the JSON: {shown(behind.strip())!r}", at)
    notes, after = (tuple(filter(None, map(shown, part.split("\n")))) for part in (before, behind))
    return JsonDocument(notes[:MAX_NOTES], Node(tool, fields, "", line), after)
