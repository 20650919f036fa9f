"""CSV lines of bonnie++: 1.03 (27 fields), 1.96 and 1.97 (48), 1.98 and later (50).

A field is empty where a test was left out and `+++++` where it ended within half a second, too
fast to be timed: neither gives a sample. Rates are KiB/s (bonnie++(8): K is 1024 bytes).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample

TOOL = "bonnie"
VARIANT = "bonnie"
KIB = 1024
MIN_COMMAS = 4
MAX_RATE = 10**12
TOO_FAST = re.compile(r"\++")
RATE = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,6})?")
PERCENT = re.compile(r"[0-9]{1,6}")
SIZE = re.compile(r"([0-9]{1,12})([kKmMgGtT]?)")
UNITS = {"": KIB**2, "K": KIB, "M": KIB**2, "G": KIB**3, "T": KIB**4}
LATENCY = re.compile(r"([0-9]{1,15})(us|ms|s)")
LATENCY_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
HEADERS = ("name,", "format_version,", "Version,")
IO_TESTS = ("put_char", "put_block", "rewrite", "get_char", "get_block", "seeks")
FILE_TESTS = (
    "sequential_create",
    "sequential_stat",
    "sequential_delete",
    "random_create",
    "random_stat",
    "random_delete",
)


@dataclass(frozen=True)
class _Layout:
    """Where the fields of one form of the line stand, counted from 0."""

    fields: int
    name: int
    size: int
    io: int
    files: int
    file_tests: int
    latencies: int | None


# 1.03 writes neither a version nor latencies: its line begins with the machine's name.
OLD = _Layout(fields=27, name=0, size=1, io=2, files=14, file_tests=15, latencies=None)
LAYOUTS = {
    "1.96": _Layout(fields=48, name=2, size=5, io=7, files=19, file_tests=24, latencies=36),
    "1.97": _Layout(fields=48, name=2, size=5, io=7, files=19, file_tests=24, latencies=36),
    "1.98": _Layout(fields=50, name=2, size=5, io=9, files=21, file_tests=26, latencies=38),
}
VERSION = re.compile(r"[0-9]\.[0-9]{2}[a-z]?")


@dataclass(frozen=True)
class BonnieLine:
    """A line as bonnie++ wrote it. Rates: None = left out; infinity is never a rate.

    `too_fast` names the tests that ended before they could be timed.
    """

    version: str
    file_bytes: int | None
    rates: Mapping[str, float]
    """Test → KiB/s, or 1/s for the seeks and the file tests."""
    cpu_percent: Mapping[str, int]
    latency_ns: Mapping[str, int]
    too_fast: tuple[str, ...]


def lines(text: str) -> list[BonnieLine]:
    """Every CSV line in the text; other lines that bonnie++ prints are passed over.

    Raises ProbeError naming the line.
    """
    parsed = [
        _line(line.strip(), number)
        for number, line in enumerate(check_text(TOOL, text).split("\n"), start=1)
        if line.count(",") >= MIN_COMMAS and not line.strip().startswith(HEADERS)
    ]
    if not parsed:
        raise ProbeError(TOOL, "no CSV line of bonnie++", 1)
    return parsed


def _line(line: str, number: int) -> BonnieLine:
    fields = [field.strip() for field in line.split(",")]
    layout = LAYOUTS.get(fields[0])
    if layout is None:
        if VERSION.fullmatch(fields[0]) and len(fields) != OLD.fields:
            raise ProbeError(TOOL, f"the form {fields[0]} of the line is unknown", number)
        layout = OLD
    if len(fields) != layout.fields:
        detail = f"{len(fields)} fields instead of {layout.fields}: the line is cut off or longer"
        raise ProbeError(TOOL, detail, number)
    tests = {
        **{name: layout.io + 2 * i for i, name in enumerate(IO_TESTS)},
        **{name: layout.file_tests + 2 * i for i, name in enumerate(FILE_TESTS)},
    }
    rates = {name: _rate(name, fields[index], number) for name, index in tests.items()}
    return BonnieLine(
        version="1.03" if layout is OLD else fields[1],
        file_bytes=_size(fields[layout.size], number),
        rates={name: rate for name, rate in rates.items() if rate},
        cpu_percent=dict(_percents(fields, tests, number)),
        latency_ns=dict(_latencies(fields, layout, number)),
        too_fast=tuple(name for name, rate in rates.items() if rate == 0),
    )


def _rate(name: str, field: str, number: int) -> float | None:
    """The rate; None where the test was left out, 0 where it was too fast to time."""
    if not field:
        return None
    if TOO_FAST.fullmatch(field):
        return 0
    rate = float(field) if RATE.fullmatch(field) else 0
    if not 0 < rate < MAX_RATE:
        raise ProbeError(TOOL, f"{name} is {field[:40]!r}", number)
    return rate


def _percents(
    fields: list[str], tests: Mapping[str, int], number: int
) -> Iterator[tuple[str, int]]:
    for name, index in tests.items():
        field = fields[index + 1]
        if field and not TOO_FAST.fullmatch(field):
            if not PERCENT.fullmatch(field):
                raise ProbeError(TOOL, f"the CPU share of {name} is {field[:40]!r}", number)
            yield name, int(field)


def _latencies(fields: list[str], layout: _Layout, number: int) -> Iterator[tuple[str, int]]:
    if layout.latencies is None:
        return
    for name, field in zip((*IO_TESTS, *FILE_TESTS), fields[layout.latencies :], strict=True):
        if field and not TOO_FAST.fullmatch(field):
            match = LATENCY.fullmatch(field)
            if match is None:
                raise ProbeError(TOOL, f"the latency of {name} is {field[:40]!r}", number)
            yield name, int(match[1]) * LATENCY_NS[match[2]]


def _size(field: str, number: int) -> int | None:
    """Bytes of `44G` or `300M:16k`; a bare number is MiB; None where no file was written."""
    if not field:
        return None
    match = SIZE.fullmatch(field.partition(":")[0])
    if match is None or int(match[1]) == 0:
        raise ProbeError(TOOL, f"the size is {field[:40]!r}", number)
    return int(match[1]) * UNITS[match[2].upper()]


def parse(text: str, *, ram_bytes: int | None = None) -> list[ParsedSample]:
    """disk_write and disk_read_bytes_per_s (variant bonnie) and disk_seeks_per_s of each line.

    A file below twice the memory, or a memory that is not known, flags the samples "cached": the
    page cache may be in the result. Raises ProbeError, also where no test could be timed.
    """
    samples = [sample for line in lines(text) for sample in _samples(line, ram_bytes)]
    if not samples:
        raise ProbeError(TOOL, "no test of it was long enough to be timed, or none was made", 1)
    return samples


def _samples(line: BonnieLine, ram_bytes: int | None) -> Iterator[ParsedSample]:
    known = line.file_bytes and ram_bytes and line.file_bytes >= 2 * ram_bytes
    measured = {
        "put_block": ("disk_write_bytes_per_s", VARIANT, KIB, "bytes/s"),
        "get_block": ("disk_read_bytes_per_s", VARIANT, KIB, "bytes/s"),
        "seeks": ("disk_seeks_per_s", "standard", 1, "operations/s"),
    }
    for test, (metric, variant, factor, unit) in measured.items():
        if test in line.rates:
            yield ParsedSample(
                metric=metric,
                variant=variant,
                value=line.rates[test] * factor,
                unit=unit,
                parameters={
                    "file_bytes": line.file_bytes,
                    "ram_bytes": ram_bytes,
                    "cpu_percent": line.cpu_percent.get(test),
                    "latency_max_ns": line.latency_ns.get(test),
                    "bonnie": line.version,
                    **_others(line),
                },
                flags=() if known else ("cached",),
            )


def _others(line: BonnieLine) -> dict[str, object]:
    """Further figures of the line; rewriting in bytes/s, file tests per second."""
    rates: dict[str, object] = {
        f"{name}_per_s": line.rates[name] for name in FILE_TESTS if name in line.rates
    }
    if "rewrite" in line.rates:
        rates["rewrite_bytes_per_s"] = line.rates["rewrite"] * KIB
    if line.too_fast:
        rates["too_fast"] = list(line.too_fast)
    return rates
