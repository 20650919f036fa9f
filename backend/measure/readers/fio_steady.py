"""Framed output of fio_steady: how a disk came to rest under a work, then what it does from there."""

from dataclasses import dataclass, replace

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample, fio
from backend.measure.readers.document import Node, read_document
from backend.measure.readers.frames import Section, counts, key_values, sections

PREFIX = "steady"
NOT_STEADY = "not_steady"
KEYS = ("limit_s", "window_s", "cache_bytes")


@dataclass(frozen=True)
class Settling:
    """The work before the measurement, until it was steady or a bound was reached."""

    is_steady: bool
    seconds: float
    total_bytes: int
    drift_ratio: float | None
    """From the begin of the last window to its end, of its mean; None = there was no whole one."""


def parse(text: str) -> list[ParsedSample]:
    """Samples as those of fio, of variants `steady_<block>_qd<depth>`. Raises ProbeError.

    The flag "not_steady" says that the time or the bytes were over before the disk was steady.
    """
    parts = sections(fio.TOOL, check_text(fio.TOOL, text))
    if [section.name for section in parts] != ["conditions", PREFIX, fio.TOOL]:
        raise ProbeError(fio.TOOL, "not the sections conditions, steady and fio", 1)
    conditions, settled, output = parts
    values = key_values(fio.TOOL, conditions, (*fio.KEYS, *KEYS), fio.OPTIONAL_KEYS)
    known = counts(fio.TOOL, conditions, values, KEYS)
    settling = _settling(settled, known["window_s"])
    parameters = {
        "cache_bytes": known["cache_bytes"],
        "steady_window_s": known["window_s"],
        "is_steady": settling.is_steady,
        "settled_s": settling.seconds,
        "settled_bytes": settling.total_bytes,
        "drift_ratio": settling.drift_ratio,
    }
    flags = () if settling.is_steady else (NOT_STEADY,)
    return [
        replace(
            sample,
            parameters={**sample.parameters, **parameters},
            flags=(*sample.flags, *flags),
        )
        for sample in fio.build_samples(conditions, output, prefix=PREFIX, more_keys=KEYS)
    ]


def _settling(section: Section, window_s: int) -> Settling:
    root = read_document(fio.TOOL, section.text, first_line=section.first_line).root
    jobs = root.nodes("jobs")
    if len(jobs) != 1:
        root.fail(f"{len(jobs)} groups of jobs instead of one")
    (job,) = jobs
    if job.count("error"):
        job.fail(f"error is {job.count('error')}")
    state = job.node("steadystate")
    if state.count("duration") != window_s:
        state.fail(f"duration is {state.count('duration')} s, and {window_s} s were asked for")
    is_steady = state.count("attained")
    if is_steady > 1:
        state.fail(f"attained is {is_steady}")
    made = [job.node(direction) for direction in ("read", "write")]
    seconds = max(node.count("runtime") for node in made) / 1000
    return Settling(
        is_steady=bool(is_steady),
        seconds=seconds,
        total_bytes=sum(node.count("io_bytes") for node in made),
        # fio looks once a second, so its first second may be a part of one.
        drift_ratio=_drift_ratio(state, window_s) if seconds > window_s - 1 else None,
    )


def _drift_ratio(state: Node, window_s: int) -> float:
    slope = state.fields.get("slope")
    # It is negative where the disk becomes slower.
    if isinstance(slope, bool) or not isinstance(slope, int | float):
        state.fail(f"slope is {slope!r}, not a number")
    return slope * window_s / state.node("data").positive("iops_mean")
