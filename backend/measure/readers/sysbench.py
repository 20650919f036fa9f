"""Output of `sysbench cpu run` and `sysbench memory run`, versions 1.0 and 1.1."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.stats import LOWER_BOUND

TOOL = "sysbench"
MIB = 1024**2
UNITS = {"B": 1, "KiB": 1024, "MiB": MIB, "GiB": 1024**3, "TiB": 1024**4}
MAX_CHARACTERS = 2**18
MAX_NUMBER = 1e15
# Below this the printed time is too coarse to compare the rate with.
CHECKED_S = 1.0
TOLERANCE = 0.05
VERSION = re.compile(r"sysbench (1\.[01]\.[0-9]{1,3}\S{0,40})(?: \(.*\))?")
OTHER_VERSION = re.compile(r"sysbench v?([0-9]\S{0,40}).*")
NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,9})?)"
FIELDS = {
    "limit": re.compile(r"Target transaction rate: ([0-9]{1,9})/sec"),
    "threads": re.compile(r"Number of threads: ([0-9]{1,6})"),
    "prime_limit": re.compile(r"Prime numbers limit: ([0-9]{1,12})"),
    "events_per_s": re.compile(rf"events per second:\s+{NUMBER}"),
    "block": re.compile(r"block size: ([0-9]{1,15})([KMGT]?i?B)"),
    "total": re.compile(r"total size: ([0-9]{1,15})([KMGT]?i?B)"),
    "operation": re.compile(r"operation: (\w{1,20})"),
    "scope": re.compile(r"scope: (\w{1,20})"),
    "transferred": re.compile(rf"{NUMBER} MiB transferred \({NUMBER} MiB/sec\)"),
    "total_s": re.compile(rf"(?:total time|time elapsed):\s+{NUMBER}s"),
    "events": re.compile(r"total number of events:\s+([0-9]{1,18})"),
    # The last line: without it the text is cut off.
    "end": re.compile(rf"execution time \(avg/stddev\):\s+{NUMBER}/{NUMBER}"),
}
FAILED = ("FATAL: ", "ALERT: ")


@dataclass(frozen=True)
class _Report:
    """The groups of each field and the lines they stand on."""

    groups: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, int]

    @property
    def flags(self) -> tuple[str, ...]:
        """With --rate the machine does less than it could."""
        return (LOWER_BOUND,) if "limit" in self.groups else ()

    def fail(self, name: str, detail: str) -> NoReturn:
        raise ProbeError(TOOL, f"{name} {detail}", self.lines.get(name, self.lines["version"]))

    def words(self, name: str) -> tuple[str, ...]:
        if name not in self.groups:
            self.fail(name.replace("_", " "), "is missing: the text is cut off, or no whole result")
        return self.groups[name]

    def number(self, name: str, group: int = 0) -> float:
        value = float(self.words(name)[group])
        if not 0 < value < MAX_NUMBER:
            self.fail(name, f"is {value:g}")
        return value

    def count(self, name: str) -> int:
        return int(self.number(name))

    def size(self, name: str) -> int:
        _, unit = self.words(name)
        if unit not in UNITS:
            self.fail(name, f"is in {unit}")
        return self.count(name) * UNITS[unit]


def version(text: str) -> str:
    """The version that the text states. Raises ProbeError."""
    return _report(text).groups["version"][0]


def parse(text: str) -> list[ParsedSample]:
    """sysbench_cpu_events_per_s or sysbench_memory_bytes_per_s of one result. Raises ProbeError."""
    report = _report(text)
    threads = report.count("threads")
    seconds = report.number("total_s")
    report.words("end")
    if "transferred" in report.groups or "block" in report.groups:
        return [_memory(report, threads, seconds)]
    if not {"prime_limit", "events_per_s"} & report.groups.keys():
        detail = "it is of neither a cpu nor a memory test, which alone are read"
        raise ProbeError(TOOL, detail, report.lines["version"])
    return [_cpu(report, threads, seconds)]


def _report(text: str) -> _Report:
    groups: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    for number, whole in enumerate(
        check_text(TOOL, text, most=MAX_CHARACTERS).split("\n"), start=1
    ):
        line = whole.strip()
        if line.startswith(FAILED):
            raise ProbeError(TOOL, line[:200], number)
        name, match = _field(line)
        if match is None:
            if other := OTHER_VERSION.fullmatch(line):
                raise ProbeError(TOOL, f"version {other[1]} is not one of 1.0 and 1.1", number)
            continue
        if name in groups:
            raise ProbeError(TOOL, f"{name} is there twice: give one result at a time", number)
        groups[name], lines[name] = match.groups(), number
    if "version" not in groups:
        raise ProbeError(TOOL, "the line with the version is missing", 1)
    return _Report(groups, lines)


def _field(line: str) -> tuple[str, re.Match[str] | None]:
    for name, pattern in {"version": VERSION, **FIELDS}.items():
        match = pattern.fullmatch(line)
        if match:
            return name, match
    return "", None


def _cpu(report: _Report, threads: int, seconds: float) -> ParsedSample:
    rate = report.number("events_per_s")
    _compare(report, "events_per_s", rate, report.number("events"), seconds)
    return ParsedSample(
        metric="sysbench_cpu_events_per_s",
        variant=_threads(threads),
        value=rate,
        unit="events/s",
        parameters={
            "threads": threads,
            "seconds": seconds,
            "prime_limit": report.count("prime_limit"),
            "sysbench": report.groups["version"][0],
        },
        flags=report.flags,
    )


def _memory(report: _Report, threads: int, seconds: float) -> ParsedSample:
    rate = report.number("transferred", 1)
    _compare(report, "transferred", rate, report.number("transferred"), seconds)
    (operation,) = report.words("operation")
    return ParsedSample(
        metric="sysbench_memory_bytes_per_s",
        variant=f"{operation}_{_threads(threads)}",
        value=rate * MIB,
        unit="bytes/s",
        parameters={
            "threads": threads,
            "seconds": seconds,
            "operation": operation,
            "scope": report.words("scope")[0],
            "block_bytes": report.size("block"),
            "total_bytes": report.size("total"),
            "sysbench": report.groups["version"][0],
        },
        flags=report.flags,
    )


def _threads(threads: int) -> str:
    return "single" if threads == 1 else f"{threads}_threads"


def _compare(report: _Report, name: str, rate: float, amount: float, seconds: float) -> None:
    """Refuse a rate that the amount and the time of the same text contradict."""
    if seconds >= CHECKED_S and abs(amount / seconds - rate) > TOLERANCE * rate:
        report.fail(name, f"{rate:g} per second does not agree with {amount:g} in {seconds:g} s")
