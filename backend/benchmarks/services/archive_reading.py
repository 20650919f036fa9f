"""Reads and checks the archive of a run: its form, checksums, and every raw output once more."""

import datetime as dt
import gzip
import io
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.benchmarks.calc.archived_run import (
    ArchivedRun,
    ArchiveRefused,
    EvidenceEntry,
    SampleEntry,
    read_run,
)
from backend.core import clock
from backend.foundation.errors import ProbeError
from backend.measure.readers import ParsedSample
from backend.measure.repeats import reparse

# All of it is read into memory: these bound what a small upload can grow to.
MAX_PACKED_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
GZIP = b"\x1f\x8b"
# Another version may round a last digit otherwise; a figure that was changed is further off.
SAME = 1e-9

Key = tuple[str, str, int]


@dataclass(frozen=True)
class ArchivedOutput:
    """A command of the archive: its entry, its raw text, and what that says today."""

    entry: EvidenceEntry
    raw: bytes
    samples: Sequence[ParsedSample]


@dataclass(frozen=True)
class CheckedRun:
    """A whole archive, checked; nothing is stored yet."""

    document: ArchivedRun
    outputs: Sequence[ArchivedOutput]
    samples: Mapping[Key, SampleEntry]


def read_archive(content: bytes) -> CheckedRun:
    """Content of an archive (JSON, or that by gzip), checked from end to end; raises ArchiveRefused
    naming what is wrong."""
    # The clock of another site may run ahead of ours.
    document = read_run(_unpack(content), latest=clock.now() + dt.timedelta(days=1))
    samples: dict[Key, SampleEntry] = {}
    for sample in document.samples:
        if sample.key in samples:
            raise ArchiveRefused(f"{_result_name(sample.key)} is there twice")
        samples[sample.key] = sample
    # Samples name their evidence by number, so a number must lead to one text.
    if len({entry.n for entry in document.evidence}) != len(document.evidence):
        raise ArchiveRefused("two outputs have the same number")
    with_samples = {sample.evidence for sample in document.samples}
    outputs = [_read_output(entry, entry.n in with_samples) for entry in document.evidence]
    _compare(outputs, samples)
    return CheckedRun(document, outputs, samples)


def _unpack(content: bytes) -> bytes:
    if len(content) > MAX_PACKED_BYTES:
        raise ArchiveRefused(f"{len(content)} bytes are too many, {MAX_PACKED_BYTES} the most")
    if not content.startswith(GZIP):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            # The stated size may be a lie, so reading stops by itself.
            unpacked = packed.read(MAX_TOTAL_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ArchiveRefused(f"the file is cut off or damaged: {error}") from error
    if len(unpacked) > MAX_TOTAL_BYTES:
        raise ArchiveRefused(f"more than {MAX_TOTAL_BYTES} bytes when unpacked")
    return unpacked


def _read_output(entry: EvidenceEntry, has_samples: bool) -> ArchivedOutput:
    raw = entry.raw
    # A command that failed has nothing to be compared; its text is kept all the same.
    if not has_samples and (entry.exit_code != 0 or entry.error):
        return ArchivedOutput(entry, raw, ())
    try:
        return ArchivedOutput(entry, raw, reparse(entry.probe, entry.variant, raw.decode()))
    except (ProbeError, UnicodeDecodeError) as error:
        detail = f"evidence {entry.n} cannot be read by this version: {error}"
        raise ArchiveRefused(detail) from error


def _compare(outputs: Sequence[ArchivedOutput], samples: Mapping[Key, SampleEntry]) -> None:
    """The samples stated must be those that the raw outputs hold, no more and no fewer."""
    missing = dict(samples)
    seen: set[Key] = set()
    for output in outputs:
        for sample in output.samples:
            key = sample.metric, sample.variant, output.entry.repeat
            if key in seen:
                continue
            seen.add(key)
            stated = missing.pop(key, None)
            if stated is None:
                raise ArchiveRefused(f"{_result_name(key)} is in the raw output and in no sample")
            _compare_figure(stated, output, sample)
    if missing:
        raise ArchiveRefused(f"{_result_name(min(missing))} is in no raw output")


def _compare_figure(stated: SampleEntry, output: ArchivedOutput, sample: ParsedSample) -> None:
    name = _result_name(stated.key)
    if stated.evidence != output.entry.n:
        raise ArchiveRefused(f"{name} belongs to evidence {output.entry.n}")
    if not math.isclose(stated.value, sample.value, rel_tol=SAME) or stated.unit != sample.unit:
        raise ArchiveRefused(
            f"{name} is {stated.value!r} {stated.unit}, "
            f"and the raw output says {sample.value!r} {sample.unit}"
        )


def _result_name(key: Key) -> str:
    metric, variant, repeat = key
    return f"{metric} {variant}, repeat {repeat},"
