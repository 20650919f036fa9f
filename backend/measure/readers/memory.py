"""Output of the native memory probe: one JSON line per repeat."""

from collections.abc import Mapping
from dataclasses import replace

from backend.measure.readers import ParsedSample
from backend.measure.readers.record import ProbeRecord, read_record

TOOL = "memory"
CAPPED = "cached"
SMALL_PAGES = "small_pages"
LEAST_HUGE_RATIO = 0.5
# Of the triad.
ARRAYS = 3
MAX_NODES = 8192


def parse(text: str) -> list[ParsedSample]:
    """Bandwidth (bytes/s, median of the rounds) or latency (ns). Raises ProbeError.

    Where the machine has several NUMA nodes, a bandwidth of each (node0, node1, …) follows. The
    flag "cached" says that the buffers were too small to keep the caches out of the result,
    "small_pages" that most of them lay in small pages: more translations of addresses are part of it.
    """
    record = read_record(TOOL, text, probe=TOOL)
    if not record.flag("checksum_ok"):
        record.fail("checksum_ok is false: memory returned wrong values")
    match record.text("test"):
        case "bandwidth":
            return _bandwidths(record)
        case "latency":
            return [_latency(record)]
        case unknown:
            return record.fail(f"test {unknown!r} is unknown")


def _common(record: ProbeRecord) -> dict[str, object]:
    return {
        "threads": record.count("threads", minimum=1),
        "usable_cpus": record.count("usable_cpus", minimum=1),
        "rounds": record.count("rounds", minimum=1),
        "last_cache_bytes": record.count("last_cache_bytes", minimum=1),
        "arch": record.text("arch"),
        "build_sha256": record.text("build_sha256"),
    }


def _bandwidths(record: ProbeRecord) -> list[ParsedSample]:
    common = _common(record)
    best, median = record.positive("best_bytes_per_s"), record.positive("median_bytes_per_s")
    if best < median:
        record.fail(f"the best round ({best}) is below the median ({median})")
    array_bytes = record.count("array_bytes", minimum=1)
    named = {1: "single", common["usable_cpus"]: "all"}
    parameters = {
        **common,
        "array_bytes": array_bytes,
        "best_bytes_per_s": best,
        # Moved between nodes a worker would leave its memory behind.
        "is_pinned": "is_pinned" in record.fields and record.flag("is_pinned"),
        # Two things that move the result from run to run: whether huge pages were granted, and
        # whether the host keeps the first two virtual CPUs on one die or on two.
        **_huge_pages(record, ARRAYS * array_bytes),
        "handover_ns": record.number_or_none("handover_ns"),
    }
    whole = ParsedSample(
        metric="memory_bandwidth_bytes_per_s",
        variant=named.get(common["threads"], f"{common['threads']}_threads"),
        value=median,
        unit="bytes/s",
        parameters=parameters,
        flags=_flags(record, parameters),
    )
    return [
        whole,
        *(
            replace(whole, variant=f"node{node}", value=value, parameters={**common, "node": node})
            for node, value in _nodes(record)
        ),
    ]


def _nodes(record: ProbeRecord) -> list[tuple[int, float]]:
    """NUMA node and bytes/s; nothing where there is one node."""
    if "nodes" not in record.fields:
        return []
    ids, values = record.numbers("node_ids"), record.numbers("nodes")
    if (
        len(values) < 2
        or len(ids) != len(values)
        or ids != sorted({int(i) % MAX_NODES for i in ids})
    ):
        record.fail("node_ids and nodes do not fit each other")
    if 0 in values:
        record.fail("the bandwidth of a node is 0")
    return [(int(node), value) for node, value in zip(ids, values, strict=True)]


def _latency(record: ProbeRecord) -> ParsedSample:
    buffer_bytes = record.count("buffer_bytes", minimum=1)
    parameters = {
        **_common(record),
        "buffer_bytes": buffer_bytes,
        **_huge_pages(record, buffer_bytes),
        "best_latency_ns": record.positive("best_latency_ns"),
    }
    return ParsedSample(
        metric="memory_latency_ns",
        variant="single",
        value=record.positive("latency_ns"),
        unit="ns",
        parameters=parameters,
        flags=_flags(record, parameters),
    )


def _huge_pages(record: ProbeRecord, total_bytes: int) -> dict[str, float | None]:
    """How much of the memory that was measured lay in huge pages; None = not known."""
    huge_bytes = record.number_or_none("huge_page_bytes")
    # Other pages of the program may be huge, too.
    ratio = None if huge_bytes is None else min(1.0, huge_bytes / total_bytes)
    return {"huge_page_bytes": huge_bytes, "huge_page_ratio": ratio}


def _flags(record: ProbeRecord, parameters: Mapping[str, object]) -> tuple[str, ...]:
    ratio = parameters["huge_page_ratio"]
    is_small = isinstance(ratio, float) and ratio < LEAST_HUGE_RATIO
    return (*([CAPPED] if record.flag("is_capped") else []), *([SMALL_PAGES] if is_small else []))
