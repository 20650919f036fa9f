"""Output of the native memory probe: one JSON line per repeat."""

from backend.domain.parsing import ParsedSample
from backend.domain.parsing.record import Record, read_record

TOOL = "memory"
CAPPED = "cached"


def parse(text: str) -> list[ParsedSample]:
    """Bandwidth (bytes/s, median of the rounds) or latency (ns). Raises ProbeError.

    The flag "cached" says that the buffers were too small to keep the caches out of the result.
    """
    record = read_record(TOOL, text, probe=TOOL)
    if not record.flag("checksum_ok"):
        record.fail("checksum_ok is false: memory returned wrong values")
    match record.text("test"):
        case "bandwidth":
            return [_bandwidth(record)]
        case "latency":
            return [_latency(record)]
        case unknown:
            return record.fail(f"test {unknown!r} is unknown")


def _common(record: Record) -> dict[str, object]:
    return {
        "threads": record.count("threads", minimum=1),
        "usable_cpus": record.count("usable_cpus", minimum=1),
        "rounds": record.count("rounds", minimum=1),
        "last_cache_bytes": record.count("last_cache_bytes", minimum=1),
        "arch": record.text("arch"),
        "build_sha256": record.text("build_sha256"),
    }


def _bandwidth(record: Record) -> ParsedSample:
    parameters = _common(record)
    best, median = record.positive("best_bytes_per_s"), record.positive("median_bytes_per_s")
    if best < median:
        record.fail(f"the best round ({best}) is below the median ({median})")
    named = {1: "single", parameters["usable_cpus"]: "all"}
    return ParsedSample(
        metric="memory_bandwidth_bytes_per_s",
        variant=named.get(parameters["threads"], f"{parameters['threads']}_threads"),
        value=median,
        unit="bytes/s",
        parameters={
            **parameters,
            "array_bytes": record.count("array_bytes", minimum=1),
            "best_bytes_per_s": best,
        },
        flags=_flags(record),
    )


def _latency(record: Record) -> ParsedSample:
    return ParsedSample(
        metric="memory_latency_ns",
        variant="single",
        value=record.positive("latency_ns"),
        unit="ns",
        parameters={
            **_common(record),
            "buffer_bytes": record.count("buffer_bytes", minimum=1),
            "best_latency_ns": record.positive("best_latency_ns"),
        },
        flags=_flags(record),
    )


def _flags(record: Record) -> tuple[str, ...]:
    return (CAPPED,) if record.flag("is_capped") else ()
