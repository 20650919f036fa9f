"""Output of dd (GNU, busybox, BSD), alone or framed by the runner with the conditions of the copy.

Rates are bytes over seconds. What dd prints as a rate is rounded and changes with the locale, so
it is never read.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.readers.disk_files import (
    ASKED_KEY,
    IN_MEMORY,
    OWN_CACHE,
    STORED_KEYS,
    is_implausible,
    size_flags,
    storage_parameters,
)
from backend.measure.readers.frames import Section, key_values, sections
from backend.measure.stats import CACHED, CONDITIONS_UNKNOWN, ZEROS

TOOL = "dd"
DIRECTIONS = ("write", "read")
# From the one that measures the disk best to the one that measures it least.
CONDITIONS = ("direct", "fdatasync", "cached", "unknown")
# What was copied, or was written to the file that is read.
SOURCES = ("random", "zero", "unknown")
KEYS = (
    "direction",
    "conditions",
    "file_bytes",
    "ram_bytes",
    "source_bytes",
    "directory",
    "filesystem",
    "mount_options",
    "drop_caches",
    "dd",
)
OPTIONAL_KEYS = ("cache_bytes", ASKED_KEY, *STORED_KEYS)
DEVICE_KEYS = ("position", "device")
POSITIONS = ("outer", "inner")
PARALLEL_KEYS = ("directories", "wall_us")
MAX_WALL_US = 10**12
# dd times its own copy; the runner's clock around all of them may round the other way.
CLOCK_SLACK = 0.95
DESCRIBED = ("directory", "filesystem", "mount_options", "drop_caches", "dd")
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
# Counts of records, or a summary, in words that are not English.
# What the shell prints of a copy that it timed.
TIMES = re.compile(r"(?:real|user|sys)\s+[0-9].*")
LOCALIZED = re.compile(r"[0-9]+\+[0-9]+\s\S.*|[0-9]+\s\S+\s\(.*\)\s\S+, .*")
REMEDY = "run dd with LC_ALL=C"


@dataclass(frozen=True)
class Copied:
    """A copy as dd reports it."""

    bytes: int
    seconds: float


@dataclass(frozen=True)
class DdConditions:
    """How a copy was made. None = not known. `is_dropped`: page cache emptied before."""

    direction: str
    conditions: str
    ram_bytes: int | None = None
    is_dropped: bool = False
    file_bytes: int | None = None
    """Size of the file copied; without it, what was copied."""
    source: str = "unknown"
    filesystem: str = ""
    cache_bytes: int | None = None
    """Limit of the file system's own cache, which no other takes the place of (ZFS: the ARC)."""
    memory_bytes_per_s: float | None = None
    """Memory bandwidth of the machine, where that was measured."""
    is_in_memory: bool = False
    """True if the file lay in a file system without a disk."""


@dataclass(frozen=True)
class _Copying:
    """The copies of one file or device, with what the runner says of them."""

    made: tuple[Copied, ...]
    conditions: DdConditions
    variant: str
    described: Mapping[str, object]
    size_flags: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(copy.bytes for copy in self.made)

    @property
    def seconds(self) -> float:
        return math.fsum(copy.seconds for copy in self.made)

    @property
    def flags(self) -> tuple[str, ...]:
        known = self.conditions
        if known.conditions == "unknown":
            return (CONDITIONS_UNKNOWN,)
        flags = (*((CACHED,) if self._is_cached else ()), *self.size_flags)
        match known.source:
            case "zero":
                return (*flags, ZEROS)
            case "unknown":
                return (*flags, CONDITIONS_UNKNOWN)
        return flags

    @property
    def _is_cached(self) -> bool:
        """True if memory may have stood in for the disk: it held the file, or was passed by in
        name only."""
        known = self.conditions
        if known.is_in_memory or known.conditions == "cached":
            return True
        file_bytes = known.file_bytes or self.bytes
        if known.conditions == "direct":
            # The runner names a file system, and has tried that O_DIRECT passes the cache there.
            is_claimed = not known.filesystem and known.direction == "read"
            return is_claimed and is_implausible(
                self.bytes / self.seconds,
                known.memory_bytes_per_s,
                file_bytes=file_bytes,
                ram_bytes=known.ram_bytes,
            )
        # What empties the page cache leaves the ARC as it is.
        is_dropped = known.is_dropped and known.filesystem != OWN_CACHE
        cache_bytes = known.cache_bytes or known.ram_bytes
        return not is_dropped and (cache_bytes is None or file_bytes < 2 * cache_bytes)


def copies(text: str, *, first_line: int = 1) -> list[Copied]:
    """Every finished copy in what dd printed. Raises ProbeError with the offending line.

    A summary counts only behind `records out`: dd prints others while it works.
    """
    copied: list[Copied] = []
    is_due = False
    line_number = first_line
    for line_number, whole in enumerate(text.split("\n"), start=first_line):
        # While it works dd writes over its own line, by carriage returns.
        line = whole.rstrip().rpartition("\r")[2].strip()
        if line.startswith("dd: ") and not line.startswith("dd: warning: "):
            raise ProbeError(TOOL, line, line_number)
        if is_due:
            copied.append(_copy_of(line, line_number))
            is_due = False
        elif RECORDS_OUT.fullmatch(line):
            is_due = True
        elif line and not (
            RECORDS_IN.fullmatch(line)
            or line.startswith("dd: ")
            or TIMES.fullmatch(line)
            or _summary(line)
        ):
            remedy = f"; {REMEDY}" if LOCALIZED.fullmatch(line) else ""
            raise ProbeError(TOOL, f"unexpected {line[:80]!r}{remedy}", line_number)
    if is_due or not copied:
        lost = "the summary of the copy is missing"
        if _summary(text.strip()):
            lost = "the lines `records in` and `records out` are missing: give all that dd printed"
        raise ProbeError(TOOL, lost, line_number)
    return copied


def _summary(line: str) -> re.Match[str] | None:
    return next(filter(None, (pattern.fullmatch(line) for pattern in SUMMARIES)), None)


def _copy_of(line: str, line_number: int) -> Copied:
    summary = _summary(line)
    if summary is None:
        if DECIMAL_COMMA.match(line):
            raise ProbeError(TOOL, f"a decimal comma: {REMEDY}", line_number)
        remedy = f"; {REMEDY}" if LOCALIZED.fullmatch(line) else ""
        raise ProbeError(TOOL, f"not a summary: {line[:80]!r}{remedy}", line_number)
    copied = Copied(int(summary[1]), float(summary[2]))
    if copied.bytes == 0 or copied.seconds == 0:
        raise ProbeError(TOOL, f"{copied.bytes} bytes in {copied.seconds} s", line_number)
    return copied


def parse(text: str, conditions: DdConditions | None = None) -> list[ParsedSample]:
    """A sample over all copies in the text: disk_write/disk_read_bytes_per_s (bytes/s).

    `conditions` are for text that does not come from the runner. Where neither says them, the
    metric is dd_bytes_per_s with the flag "conditions_unknown". Raises ProbeError.
    """
    text = check_text(TOOL, text)
    if text.startswith("=== "):
        return [_frame(text)]
    made = tuple(copies(text))
    if conditions is None:
        seconds = math.fsum(copy.seconds for copy in made)
        flags = (CONDITIONS_UNKNOWN,)
        return [_sample("dd_bytes_per_s", "dd", made, seconds=seconds, described={}, flags=flags)]
    _check(conditions)
    if conditions.file_bytes is None:
        # Several copies in a pasted text are repeats on one file more often than parts of one.
        conditions = replace(conditions, file_bytes=max(copy.bytes for copy in made))
    copying = _Copying(made, conditions, f"dd_{conditions.conditions}", {})
    return [_add_conditions(copying)]


def _check(conditions: DdConditions) -> None:
    if conditions.direction not in DIRECTIONS:
        raise ProbeError(TOOL, f"direction {conditions.direction[:80]!r} is unknown")
    if conditions.conditions not in CONDITIONS:
        raise ProbeError(TOOL, f"conditions {conditions.conditions[:80]!r} are unknown")
    if conditions.source not in SOURCES:
        raise ProbeError(TOOL, f"source {conditions.source[:80]!r} is unknown")


def _frame(text: str) -> ParsedSample:
    parts = sections(TOOL, text)
    if parts and parts[0].name == "parallel":
        return _parallel(parts[0], parts[1:])
    copying, rest = _copying(parts)
    if rest:
        raise ProbeError(TOOL, "a second section conditions", rest[0].first_line)
    return _add_conditions(copying)


def _copying(parts: Sequence[Section]) -> tuple[_Copying, Sequence[Section]]:
    """The first `conditions` with the copies behind it, and the sections from there on."""
    if not parts or parts[0].name != "conditions":
        name, line = (parts[0].name, parts[0].first_line) if parts else ("nothing", 1)
        raise ProbeError(TOOL, f"{name} instead of conditions", line)
    header, *rest = parts
    is_device = any(line.startswith("position ") for line in header.lines)
    keys = (*KEYS, *DEVICE_KEYS) if is_device else KEYS
    values = key_values(TOOL, header, keys, OPTIONAL_KEYS)
    conditions = DdConditions(
        direction=values["direction"],
        conditions=values["conditions"],
        ram_bytes=_count(header, "ram_bytes", values["ram_bytes"]) or None,
        is_dropped=values["drop_caches"] == "yes",
        source="random",  # the runner makes its own, incompressible
        filesystem=values["filesystem"],
        cache_bytes=_count(header, "cache_bytes", values.get("cache_bytes", "0")) or None,
        is_in_memory=values["filesystem"] in IN_MEMORY or values.get("in_memory") == "yes",
    )
    _check(conditions)
    variant = f"dd_{conditions.conditions}"
    if is_device:
        if values["position"] not in POSITIONS:
            raise ProbeError(TOOL, f"position {values['position'][:80]!r}", header.first_line)
        variant += f"_{values['position']}"
    many = next((i for i, part in enumerate(rest) if part.name == "conditions"), len(rest))
    made = tuple(copy for section in rest[:many] for copy in _section_copies(section))
    if not made:
        raise ProbeError(TOOL, "no copy was made", header.first_line)
    described = {
        **{key: values[key] for key in (*DESCRIBED, *(DEVICE_KEYS if is_device else ()))},
        **storage_parameters(values),
    }
    return _Copying(made, conditions, variant, described, size_flags(values)), rest[many:]


def _count(header: Section, key: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 20):
        raise ProbeError(TOOL, f"{key} {value[:80]!r}", header.first_line)
    return int(value)


def _section_copies(section: Section) -> list[Copied]:
    if section.name != "dd":
        raise ProbeError(TOOL, f"unexpected section {section.name}", section.first_line)
    copied = copies(section.text, first_line=section.first_line)
    if section.exit_code:
        raise ProbeError(TOOL, f"dd ended with {section.exit_code}", section.first_line)
    return copied


def _parallel(header: Section, rest: Sequence[Section]) -> ParsedSample:
    """Copies in several directories at once: the bytes of all over the time around all."""
    values = key_values(TOOL, header, PARALLEL_KEYS)
    wall_us = _count(header, "wall_us", values["wall_us"])
    all_of: list[_Copying] = []
    while rest:
        copying, rest = _copying(rest)
        all_of.append(copying)
    if not all_of or len(all_of) != _count(header, "directories", values["directories"]):
        raise ProbeError(TOOL, f"{len(all_of)} directories were copied in", header.first_line)
    seconds = wall_us / 1_000_000
    longest_s = max(copying.seconds for copying in all_of)
    if not longest_s * CLOCK_SLACK <= seconds <= MAX_WALL_US / 1_000_000:
        detail = f"wall_us {wall_us} around a copy of {longest_s} s"
        raise ProbeError(TOOL, detail, header.first_line)
    if len({copying.conditions.direction for copying in all_of}) > 1:
        raise ProbeError(TOOL, "writes and reads at once", header.first_line)
    worst = max((copying.conditions.conditions for copying in all_of), key=CONDITIONS.index)
    made = [copy for copying in all_of for copy in copying.made]
    return _sample(
        f"disk_{all_of[0].conditions.direction}_bytes_per_s",
        f"dd_{worst}_parallel",
        made,
        seconds=seconds,
        described={
            "ram_bytes": all_of[0].conditions.ram_bytes,
            "directories": [
                {**copying.described, "bytes": copying.bytes, "seconds": copying.seconds}
                for copying in all_of
            ],
        },
        flags=tuple(sorted({flag for copying in all_of for flag in copying.flags})),
    )


def _add_conditions(copying: _Copying) -> ParsedSample:
    return _sample(
        f"disk_{copying.conditions.direction}_bytes_per_s",
        copying.variant,
        copying.made,
        seconds=copying.seconds,
        described={
            "ram_bytes": copying.conditions.ram_bytes,
            "source": copying.conditions.source,
            **copying.described,
        },
        flags=copying.flags,
    )


def _sample(
    metric: str,
    variant: str,
    made: Sequence[Copied],
    *,
    seconds: float,
    described: Mapping[str, object],
    flags: tuple[str, ...],
) -> ParsedSample:
    total_bytes = sum(copy.bytes for copy in made)
    return ParsedSample(
        metric=metric,
        variant=variant,
        value=total_bytes / seconds,
        unit="bytes/s",
        parameters={"bytes": total_bytes, "seconds": seconds, "copies": len(made), **described},
        flags=flags,
    )
