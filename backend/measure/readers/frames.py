"""The framed text that the runner's own functions print.

`=== NAME`, then what one tool printed, then `=== end NAME rc=N`. Blank lines between sections do
not count; anything else outside a section is an error. `=== failure WORD: detail` ends the text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import MAX_CHARACTERS

FAILURE = re.compile(r"=== failure (\w+): (.*)")
END = re.compile(r"=== end (.+) rc=([0-9]{1,3})")
BEGIN = re.compile(r"=== (.+)")
WHOLE = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Section:
    """Output of one tool; `first_line` is the number of its first line in the whole text."""

    name: str
    exit_code: int
    lines: tuple[str, ...]
    first_line: int

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def sections(tool: str, text: str) -> list[Section]:
    """All sections of a framed text, in order. Raises ProbeError with the offending line."""
    if len(text) > MAX_CHARACTERS:
        detail = f"{len(text)} characters are too many, {MAX_CHARACTERS} the most"
        raise ProbeError(tool, detail, 1)
    if not text.endswith("\n"):
        raise ProbeError(tool, "the last line is cut off", text.count("\n") + 1)
    parts: list[Section] = []
    name, first_line = "", 0
    lines: list[str] = []
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        failure = FAILURE.fullmatch(line)
        if failure:
            raise ProbeError(tool, f"{failure[1]}: {failure[2]}", number)
        end, begin = END.fullmatch(line), BEGIN.fullmatch(line)
        if name and end and end[1] == name:
            parts.append(Section(name, int(end[2]), tuple(lines), first_line))
            name, lines = "", []
        elif not name and begin and not end:
            name, first_line = begin[1], number + 1
        elif begin or (not name and line.strip()):
            raise ProbeError(tool, f"unexpected {line[:80]!r}", number)
        elif name:
            lines.append(line)
    if name:
        raise ProbeError(tool, f"the section {name} does not end", first_line)
    return parts


def key_values(
    tool: str, section: Section, keys: Sequence[str], optional: Sequence[str] = ()
) -> Mapping[str, str]:
    """A section of `key value` lines with exactly these keys, some optional. Raises ProbeError."""
    values: dict[str, str] = {}
    for number, line in enumerate(section.lines, start=section.first_line):
        key, _, value = line.partition(" ")
        if key not in (*keys, *optional) or key in values:
            raise ProbeError(tool, f"unexpected {line[:80]!r}", number)
        values[key] = value
    missing = [key for key in keys if key not in values]
    if missing:
        raise ProbeError(tool, f"{', '.join(missing)} missing", section.first_line)
    return values


def counts(
    tool: str, section: Section, values: Mapping[str, str], keys: Sequence[str]
) -> Mapping[str, int]:
    """These keys of such a section as whole numbers. Raises ProbeError."""
    for key in keys:
        if not WHOLE.fullmatch(values[key]):
            raise ProbeError(tool, f"{key} {values[key][:80]!r}", section.first_line)
    return {key: int(values[key]) for key in keys}
