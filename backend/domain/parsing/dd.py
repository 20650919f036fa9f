"""Output of dd (GNU, busybox, BSD), alone or framed by the runner with the conditions of the copy.

Rates are bytes over seconds. What dd prints as a rate is rounded and changes with the locale, so
it is never read.
"""

import math
import re
from dataclasses import dataclass

from backend.domain.errors import ProbeError
from backend.domain.parsing import ParsedSample
from backend.domain.parsing.frames import Section, key_values, sections

TOOL = "dd"
DIRECTIONS = ("write", "read")
CONDITIONS = ("direct", "fdatasync", "cached", "unknown")
KEYS = (
    *("direction", "conditions", "file_bytes", "ram_bytes", "source_bytes", "directory"),
    *("filesystem", "mount_options", "drop_caches", "dd"),
)
RECORDS_IN = re.compile(r"[0-9]+\+[0-9]+ records in")
RECORDS_OUT = re.compile(r"[0-9]+\+[0-9]+ records out")
NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,12})?(?:e[-+][0-9]{1,2})?)"
SUMMARIES = (
    re.compile(rf"([0-9]{{1,20}}) bytes?(?: \([^)]*\))? copied, {NUMBER} (?:s|seconds), .+"),
    re.compile(rf"([0-9]{{1,20}}) bytes transferred in {NUMBER} secs \(.+\)"),
    # The runner's own clock, where dd prints no time.
    re.compile(rf"runner: ([0-9]{{1,20}}) bytes copied, {NUMBER} s"),
)
DECIMAL_COMMA = re.compile(r"[0-9]+ .*[0-9],[0-9]+ s(?:[,.]| |$)")


@dataclass(frozen=True)
class Copied:
    """One copy as dd reports it."""

    bytes: int
    seconds: float


@dataclass(frozen=True)
class DdConditions:
    """How a copy was made. ram_bytes None = not known. `is_dropped`: page cache emptied before."""

    direction: str
    conditions: str
    ram_bytes: int | None = None
    is_dropped: bool = False


def copies(text: str, *, first_line: int = 1) -> list[Copied]:
    """Every finished copy in what dd printed. Raises ProbeError with the offending line.

    A summary counts only behind `records out`: dd prints others while it works.
    """
    found: list[Copied] = []
    is_due = False
    line_number = first_line
    for line_number, whole in enumerate(text.split("\n"), start=first_line):
        line = whole.rstrip().rpartition("\r")[2].strip()
        if line.startswith("dd: ") and not line.startswith("dd: warning: "):
            raise ProbeError(TOOL, line, line_number)
        if is_due:
            found.append(_copied(line, line_number))
            is_due = False
        elif RECORDS_OUT.fullmatch(line):
            is_due = True
        elif line and not (RECORDS_IN.fullmatch(line) or line.startswith("dd: ") or _summary(line)):
            raise ProbeError(TOOL, f"unexpected {line[:80]!r}", line_number)
    if is_due or not found:
        raise ProbeError(TOOL, "the summary of the copy is missing", line_number)
    return found


def _summary(line: str) -> re.Match[str] | None:
    return next(filter(None, (pattern.fullmatch(line) for pattern in SUMMARIES)), None)


def _copied(line: str, line_number: int) -> Copied:
    summary = _summary(line)
    if summary is None:
        if DECIMAL_COMMA.match(line):
            raise ProbeError(TOOL, "a decimal comma: run dd with LC_ALL=C", line_number)
        raise ProbeError(TOOL, f"not a summary: {line[:80]!r}", line_number)
    copied = Copied(int(summary[1]), float(summary[2]))
    if copied.bytes == 0 or copied.seconds == 0:
        raise ProbeError(TOOL, f"{copied.bytes} bytes in {copied.seconds} s", line_number)
    return copied


def parse(text: str, conditions: DdConditions | None = None) -> list[ParsedSample]:
    """One sample over all copies in the text: disk_write/disk_read_bytes_per_s (bytes/s).

    `conditions` are for text that does not come from the runner. Where neither tells them, the
    metric is dd_bytes_per_s with the flag "conditions_unknown". Raises ProbeError.
    """
    if text.startswith("=== "):
        return _framed(text)
    made = copies(text)
    if conditions is None:
        return [_sample("dd_bytes_per_s", "dd", made, {}, ("conditions_unknown",))]
    return [_conditioned(made, conditions, {})]


def _framed(text: str) -> list[ParsedSample]:
    header, *copied = sections(TOOL, text)
    if header.name != "conditions":
        raise ProbeError(TOOL, f"{header.name} instead of conditions", header.first_line)
    values = key_values(TOOL, header, KEYS)
    made = [copy for section in copied for copy in _section_copies(section)]
    if not made:
        raise ProbeError(TOOL, "no copy was made", header.first_line)
    ram_bytes = values["ram_bytes"]
    if not (ram_bytes.isascii() and ram_bytes.isdigit() and len(ram_bytes) < 20):
        raise ProbeError(TOOL, f"ram_bytes {ram_bytes[:80]!r}", header.first_line)
    conditions = DdConditions(
        direction=values["direction"],
        conditions=values["conditions"],
        ram_bytes=int(ram_bytes) or None,
        is_dropped=values["drop_caches"] == "yes",
    )
    described = ("directory", "filesystem", "mount_options", "drop_caches", "dd")
    return [_conditioned(made, conditions, {key: values[key] for key in described})]


def _section_copies(section: Section) -> list[Copied]:
    if section.name != "dd":
        raise ProbeError(TOOL, f"unexpected section {section.name}", section.first_line)
    found = copies(section.text, first_line=section.first_line)
    if section.exit_code:
        raise ProbeError(TOOL, f"dd ended with {section.exit_code}", section.first_line)
    return found


def _conditioned(
    made: list[Copied], conditions: DdConditions, described: dict[str, str]
) -> ParsedSample:
    if conditions.direction not in DIRECTIONS:
        raise ProbeError(TOOL, f"direction {conditions.direction[:80]!r} is unknown")
    if conditions.conditions not in CONDITIONS:
        raise ProbeError(TOOL, f"conditions {conditions.conditions[:80]!r} are unknown")
    flags = []
    if conditions.conditions == "unknown":
        flags.append("conditions_unknown")
    elif _is_cached(made, conditions):
        flags.append("cached")
    parameters: dict[str, object] = {"ram_bytes": conditions.ram_bytes, **described}
    return _sample(
        f"disk_{conditions.direction}_bytes_per_s",
        f"dd_{conditions.conditions}",
        made,
        parameters,
        tuple(flags),
    )


def _is_cached(made: list[Copied], conditions: DdConditions) -> bool:
    """Whether memory may have stood in for the disk: buffered, and the file below twice the RAM."""
    if conditions.conditions == "direct":
        return False
    file_bytes = sum(copy.bytes for copy in made)
    is_small = conditions.ram_bytes is None or file_bytes < 2 * conditions.ram_bytes
    return conditions.conditions == "cached" or (is_small and not conditions.is_dropped)


def _sample(
    metric: str,
    variant: str,
    made: list[Copied],
    parameters: dict[str, object],
    flags: tuple[str, ...],
) -> ParsedSample:
    total_bytes = sum(copy.bytes for copy in made)
    seconds = math.fsum(copy.seconds for copy in made)
    return ParsedSample(
        metric=metric,
        variant=variant,
        value=total_bytes / seconds,
        unit="bytes/s",
        parameters={"bytes": total_bytes, "seconds": seconds, "copies": len(made), **parameters},
        flags=flags,
    )
