"""Output of fio 3: its JSON or JSON+, bare as people keep it or framed by the runner.

Figures are fio's own. Jobs that ran without group_reporting are added up, but percentiles of
several jobs cannot be merged and are left out. fio 2 counts in microseconds and is refused.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.readers.disk_files import (
    ASKED_KEY,
    IN_MEMORY,
    STORED_KEYS,
    is_implausible,
    lies_in_memory,
    size_flags,
    storage_parameters,
)
from backend.measure.readers.document import JsonDocument, Node, ToolResult, read_document
from backend.measure.readers.fio_groups import JobGroup, groups
from backend.measure.readers.fio_setup import READ, WRITE, Setup
from backend.measure.readers.frames import Section, key_values, sections
from backend.measure.stats import CACHED, LOWER_BOUND

TOOL = "fio"
KEYS = (
    "work",
    "block_bytes",
    "depth",
    "jobs",
    "runtime_s",
    "ramp_s",
    "file_bytes",
    "ram_bytes",
    "engine",
    "direct",
    "directory",
    "filesystem",
    "mount_options",
    "fio",
)
# An option that was given twice is listed twice, and the last one counts.
REPEATED = (
    "name",
    "rw",
    "bs",
    "iodepth",
    "numjobs",
    "runtime",
    "size",
    "filesize",
    "filename",
    "directory",
    "ioengine",
    "direct",
)
OPTIONAL_KEYS = (ASKED_KEY, *STORED_KEYS)
DESCRIBED = ("directory", "filesystem", "mount_options", "ramp_s")
PERCENTILES = ("50", "90", "95", "99", "99.9", "99.99")
# A job of a fixed time that ended before had an error or a full disk; a few percent are fio's own clock.
LEAST_RUNTIME = 0.95
# Below, the 99th percentile is simply the slowest operation.
LEAST_FOR_P99 = 100
# fio rounds its figures, and averages iops over windows of its own.
TOLERANCE = 0.02
# The last level of depth that fio counts is "64 and more".
MAX_LEVEL = 64


@dataclass(frozen=True)
class FioReading:
    """A text while it is read; what is doubtful about its results is added to `warnings`."""

    document: JsonDocument
    prefix: str
    ram_bytes: int | None
    warnings: list[str] = field(default_factory=list)
    memory_bytes_per_s: float | None = None
    """Memory bandwidth of the machine, where that was measured."""
    filesystem: str = ""
    """Known of our own runs only."""

    @property
    def version(self) -> str:
        return self.document.root.text("fio version")

    @property
    def has_disk(self) -> bool:
        """True if the kernel counted operations of a disk beneath the file."""
        root = self.document.root
        return root.has("disk_util") and bool(root.nodes("disk_util"))


@dataclass(frozen=True)
class Made:
    """A group of equal jobs, with what was measured in one direction."""

    setup: Setup
    direction: str
    iops: float
    bytes_per_s: float
    operations: int
    total_bytes: int
    runtime_s: float
    mean_ns: float | None
    percentiles_ns: Mapping[str, float]


def parse(text: str, prefix: str = TOOL) -> list[ParsedSample]:
    """Samples of one framed fio_run. Raises ProbeError.

    Random work gives disk_rand_*_iops (operations/s) and disk_rand_*_p99_ns, sequential work
    disk_*_bytes_per_s, of variant `<prefix>_<block>_qd<depth>`.
    """
    parts = sections(TOOL, check_text(TOOL, text))
    # Another order or number of sections is the text of another script, or one that was cut.
    if [section.name for section in parts] != ["conditions", TOOL]:
        raise ProbeError(TOOL, "not the sections conditions and fio", 1)
    return build_samples(*parts, prefix=prefix)


def build_samples(
    conditions: Section, output: Section, *, prefix: str, more_keys: tuple[str, ...] = ()
) -> list[ParsedSample]:
    """Samples of fio's output and its conditions, which have `more_keys`. Raises ProbeError."""
    values = key_values(TOOL, conditions, (*KEYS, *more_keys), OPTIONAL_KEYS)
    document = read_document(TOOL, output.text, first_line=output.first_line)
    known = groups(document)
    # The runner asks for one group; more would be jobs that were not ours.
    if len(known) != 1:
        document.root.fail(f"{len(known)} groups of jobs instead of one")
    group = replace(known[0], setup=_as_requested(known[0].setup, values, document.root))
    # After the JSON is read: its own error says more than a status.
    if output.exit_code:
        document.root.fail(f"fio ended with {output.exit_code}")
    ram_bytes = _bytes(values, "ram_bytes", conditions.first_line)
    # A directory that memory keeps is as good as a file system without a disk.
    is_in_memory = values.get("in_memory") == "yes"
    filesystem = IN_MEMORY[0] if is_in_memory else values["filesystem"]
    reading = FioReading(document, prefix, ram_bytes, filesystem=filesystem)
    described = {**{key: values[key] for key in DESCRIBED}, **storage_parameters(values)}
    return [
        replace(
            sample,
            parameters={**sample.parameters, **described},
            flags=(*sample.flags, *size_flags(values)),
        )
        for sample in _samples(group, reading)
    ]


def parse_json(
    text: str,
    *,
    prefix: str = TOOL,
    ram_bytes: int | None = None,
    memory_bytes_per_s: float | None = None,
) -> ToolResult:
    """All jobs of a bare JSON; lines before it are kept as warnings. Raises ProbeError.

    Buffered work is flagged "cached" unless `ram_bytes` is known to be half of the file or less;
    so is what lay in memory, or had no disk beneath it and `memory_bytes_per_s` explains.
    """
    document = read_document(TOOL, text, repeated=REPEATED, takes_more=True)
    notes = list(document.remarks)
    reading = FioReading(document, prefix, ram_bytes, notes, memory_bytes_per_s)
    samples = [sample for group in groups(document) for sample in _samples(group, reading)]
    return ToolResult(tuple(samples), tuple(reading.warnings), reading.version)


def _bytes(values: Mapping[str, str], key: str, line: int) -> int | None:
    """A number of bytes in the conditions; 0 = not known."""
    text = values[key]
    # isdigit alone also takes digits of other scripts, which int reads and no tool prints.
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ProbeError(TOOL, f"{key} {text[:80]!r}", line)
    return int(text) or None


def _as_requested(reported: Setup, values: Mapping[str, str], root: Node) -> Setup:
    """The setup with the size of the file from the conditions, which must agree otherwise."""
    said = {
        "work": f"{reported.work}{reported.read_percent}" if reported.is_mixed else reported.work,
        "block_bytes": str(reported.block_bytes),
        "depth": str(reported.depth),
        "jobs": str(reported.jobs),
        "engine": reported.engine,
        "direct": "yes" if reported.is_direct else "no",
    }
    # What ran must be what its variant is going to be called.
    for key, value in said.items():
        if values[key] != value:
            root.fail(f"{key} is {value} in the JSON and {values[key][:80]} in the conditions")
    return replace(reported, file_bytes=_bytes(values, "file_bytes", root.line))


def _samples(group: JobGroup, reading: FioReading) -> Iterator[ParsedSample]:
    """The samples of one group of jobs."""
    flags = tuple(_flags(group, reading.warnings))
    for direction in (READ, WRITE):
        nodes = [job.node(direction) for job in group.jobs if job.has(direction)]
        if direction in group.setup.directions:
            yield from _direction_samples(
                group, _join_jobs(group, direction, nodes, reading), reading, flags
            )
        # The sums of a group would mix the two.
        elif any(node.count("total_ios") for node in nodes):
            group.jobs[0].fail(
                f"{direction}s in a job of {group.setup.work}: run it without verify; else jobs are mixed up"
            )


def _flags(group: JobGroup, warnings: list[str]) -> Iterator[str]:
    # fio counts depths in powers of two: 24 is counted under 16.
    asked = 1 << (min(group.setup.depth, MAX_LEVEL).bit_length() - 1)
    if group.depth_reached not in {None, asked}:
        warnings.append(
            f"{group.name}: depth {group.setup.depth} was asked for, "
            f"most operations ran at depth {group.depth_reached}"
        )
        if not group.is_at_one:
            yield "depth_not_reached"
    # Two jobs share the disk, and neither figure is that of the disk alone.
    if not group.is_alone:
        warnings.append(f"{group.name}: another job ran at the same time")
        yield "disturbed"


def _join_jobs(group: JobGroup, direction: str, nodes: Sequence[Node], reading: FioReading) -> Made:
    """Joint result of the jobs in one direction."""
    if len(nodes) != len(group.jobs):
        group.jobs[0].fail(f"{direction} is missing")
    for node in nodes:
        _check_work(node, group)
    # Percentiles of two jobs are no percentiles of both together.
    mean_ns, percentiles_ns = _latencies(nodes[0]) if len(nodes) == 1 else (None, {})
    made = Made(
        setup=group.setup,
        direction=direction,
        # Jobs of a group run at the same time, so rates add up, while their times do not.
        iops=math.fsum(node.positive("iops") for node in nodes),
        bytes_per_s=math.fsum(map(_bytes_per_s, nodes)),
        operations=sum(node.count("total_ios") for node in nodes),
        total_bytes=sum(node.count("io_bytes") for node in nodes),
        runtime_s=max(node.count("runtime", minimum=1) for node in nodes) / 1000,
        mean_ns=mean_ns,
        percentiles_ns=percentiles_ns,
    )
    title = f"{group.name} {direction}"
    reading.warnings.extend(f"{title}: {warning}" for warning in _warnings(made, len(nodes)))
    return made


def _bytes_per_s(node: Node) -> float:
    # fio before 3.2 prints kibibytes alone as a rate.
    if node.has("bw_bytes"):
        return node.positive("bw_bytes")
    return node.positive("io_bytes") * 1000 / node.positive("runtime")


def _warnings(made: Made, jobs: int) -> Iterator[str]:
    if jobs > 1:
        yield "no percentiles, those of several jobs cannot be merged"
    elif "99" not in made.percentiles_ns:
        yield "no latencies were measured"
    elif made.operations < LEAST_FOR_P99:
        yield f"{made.operations} operations are too few for a percentile"
    counted = made.operations / made.runtime_s
    if jobs == 1 and abs(made.iops - counted) > TOLERANCE * counted:
        yield f"iops is {made.iops:g}, the operations make {counted:g}"


def _check_work(node: Node, group: JobGroup) -> None:
    """Refuses work that ended early, is none, or is not in blocks of the size asked for."""
    setup = group.setup
    for key in ("short_ios", "drop_ios"):
        # Short or dropped operations are errors of the disk or its end.
        if node.has(key) and node.count(key):
            node.fail(f"{key} is {node.count(key)}")
    operations = node.count("total_ios")
    if operations == 0:
        node.fail("total_ios is 0")
    runtime_s = node.count("runtime", minimum=1) / 1000
    asked_s = None if group.is_steady else setup.runtime_s
    if asked_s is not None and runtime_s < LEAST_RUNTIME * asked_s:
        node.fail(
            f"runtime is {runtime_s:g} s of {asked_s:g} s asked: it ended early; run it with --time_based"
        )
    expected = operations * setup.block_bytes
    # What is in flight when the ramp ends is counted as bytes only.
    slack = TOLERANCE * expected + setup.depth * setup.jobs * setup.block_bytes
    if abs(node.count("io_bytes") - expected) > slack:
        node.fail(f"io_bytes is not total_ios times {setup.block_bytes}")


def _latencies(node: Node) -> tuple[float | None, dict[str, float]]:
    """Mean and percentiles (ns) of the completion, else of the whole operation. 0 = not measured."""
    # Completion latency first: submission is the program's own time, not the disk's.
    for key in ("clat_ns", "lat_ns"):
        latency = node.node(key) if node.has(key) else replace(node, fields={})
        if latency.has("percentile"):
            shares = latency.node("percentile")
            values = {
                f"{float(name):g}": shares.number(name)
                for name in shares.fields
                if _is_percent(name)
            }
            # fio prints 0 for percentiles of nothing.
            kept = {name: values[name] for name in PERCENTILES if values.get(name)}
            return latency.number("mean") or None, kept
    return None, {}


def _is_percent(name: str) -> bool:
    return re.fullmatch(r"[0-9]{1,3}\.[0-9]{1,9}", name, re.ASCII) is not None


def _why_cached(made: Made, reading: FioReading) -> str:
    """Why memory may have stood in for the disk; "" where it cannot have."""
    asked = made.setup
    if reading.filesystem in IN_MEMORY or any(map(lies_in_memory, asked.path.split(":"))):
        return "the file lies in memory"
    # A flushed write is on the disk when it is counted; a flushed read may still come from memory.
    is_buffered = not asked.is_direct and not (asked.is_flushed and made.direction == WRITE)
    file_bytes, ram_bytes = asked.file_bytes, reading.ram_bytes
    if is_buffered and (file_bytes is None or ram_bytes is None or file_bytes < 2 * ram_bytes):
        return "buffered, so memory may stand in for the disk"
    # fio counts what the disk beneath the file did; NFS and btrfs have none that it could name.
    if (
        not reading.filesystem
        and not reading.has_disk
        and is_implausible(
            made.bytes_per_s,
            reading.memory_bytes_per_s,
            file_bytes=file_bytes,
            ram_bytes=ram_bytes,
        )
    ):
        return "fio saw no disk beneath the file, and memory explains the rate"
    return ""


def _direction_samples(
    group: JobGroup, made: Made, reading: FioReading, flags: tuple[str, ...]
) -> Iterator[ParsedSample]:
    """The metrics of one direction."""
    setup = made.setup
    # The matrix names jobs always, so that its variants sort and compare; others do only where there are
    # several.
    jobs = f"_jobs{setup.jobs}" if setup.jobs > 1 or reading.prefix == "matrix" else ""
    mixed = f"_mixed{setup.read_percent}" if setup.is_mixed else ""
    variant = f"{reading.prefix}_{setup.block}_qd{group.depth}{jobs}{mixed}"
    if why := _why_cached(made, reading):
        flags = (CACHED, *flags)
        reading.warnings.append(
            f"{group.name} {made.direction}: {why}: flagged cached, and takes no rank"
        )
    slowed = (LOWER_BOUND,) if setup.limit else ()
    if slowed:
        reading.warnings.append(
            f"{group.name} {made.direction}: {setup.limit} held the job back, so the disk can do more: "
            "kept, and takes no rank"
        )
    values = [(f"disk_{made.direction}_bytes_per_s", made.bytes_per_s, "bytes/s")]
    if setup.is_random:
        values = [(f"disk_rand_{made.direction}_iops", made.iops, "operations/s")]
        # A p99 of fewer operations would be the slowest one by another name.
        if "99" in made.percentiles_ns and made.operations >= LEAST_FOR_P99:
            p99_ns = made.percentiles_ns["99"]
            values.append((f"disk_rand_{made.direction}_p99_ns", p99_ns, "ns"))
    parameters = _parameters(group, made, reading)
    for metric, value, unit in values:
        # A slow pace does not make a single operation slower.
        more = () if unit == "ns" else slowed
        yield ParsedSample(metric, variant, value, unit, parameters, (*flags, *more))


def _parameters(group: JobGroup, made: Made, reading: FioReading) -> dict[str, object]:
    setup = made.setup
    return {
        "block_bytes": setup.block_bytes,
        "depth": setup.depth,
        "depth_reached": group.depth_reached,
        "jobs": setup.jobs,
        "read_ratio": setup.read_percent / 100 if setup.is_mixed else None,
        "engine": setup.engine,
        "is_direct": setup.is_direct,
        "file_bytes": setup.file_bytes,
        "ram_bytes": reading.ram_bytes,
        "runtime_s": made.runtime_s,
        "bytes": made.total_bytes,
        "operations": made.operations,
        "iops": made.iops,
        "bytes_per_s": made.bytes_per_s,
        "mean_ns": made.mean_ns,
        "percentiles_ns": dict(made.percentiles_ns),
        "fio": reading.version,
    }
