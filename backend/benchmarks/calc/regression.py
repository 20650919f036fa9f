"""True if a run's result leaves the band of its own history, and whether the machine is the same.

The rule. One value a run: the median of its clean repeats. The band around the medians of at least
five earlier runs is their median ± the larger of k × 1.4826 × MAD and 5 % of the median. MAD is the
median absolute deviation; times 1.4826 it estimates the standard deviation of a normal spread
(Rousseeuw and Croux, 1993). The MAD of a few runs is often far too small, so k depends on their number
n, as Student's t does: it is chosen so that one value in a hundred of a steady series with normal noise
leaves the band, whatever n is (simulated: 400,000 series for each n up to 12, 150,000 above). Unlike
mean and standard deviation, both stay where they are while fewer than half of the runs went wrong.
The floor of 5 % is the smallest effect worth telling: a quiet machine repeats within a fraction of
a percent, and a note for each such fraction would not be read. A test of two samples (Mann-Whitney)
would need several new runs before it may speak; instead a value is reported at once and marked as the
first of its kind, which may be an outlier, or as one more in a row, which is a step.

Runs are compared on the same hardware only. A new kernel or microcode is what a history is there
to show, so it does not end the comparison; it is reported as a note of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import median
from typing import Any, Literal

MIN_RUNS = 5
MAD_TO_SD = 1.4826
# k by the number of runs, from five on; between two of them the smaller number counts.
BAND_SDS = {
    5: 14.4, 6: 8.0, 7: 7.7, 8: 5.9, 9: 5.8, 10: 4.9, 12: 4.4, 15: 4.0, 20: 3.55, 25: 3.3, 30: 3.2, 40: 3.0,
}  # fmt: skip
MIN_EFFECT_RATIO = 0.05
# What a kernel keeps of the memory for itself differs between versions; a DIMM is more.
MEMORY_TOLERANCE_RATIO = 0.03

HARDWARE = (
    "cpu_model",
    "vcpu_count",
    "usable_cpu_count",
    "threads_per_core",
    "memory_bytes",
    "virtualization",
    "disk_kinds",
)
SOFTWARE = ("kernel", "os_name", "microcode", "governor")

Environment = Mapping[str, object]


@dataclass(frozen=True)
class Band:
    """Where the next value is expected: low ≤ median ≤ high, from `count` earlier runs."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Departure:
    """A value outside its band.

    `change_ratio` is value / median of the band − 1; `streak` counts this run and those directly
    before it that lie outside on the same side.
    """

    kind: Literal["regression", "improvement"]
    change_ratio: float
    streak: int


def band(values: Sequence[float]) -> Band | None:
    """The band of earlier runs' medians, oldest first; None for fewer than five of them.

    Also None around a median that is not above zero: no share of it can be stated.
    """
    if len(values) < MIN_RUNS:
        return None
    centre = median(values)
    if centre <= 0:
        return None
    deviation = median(abs(value - centre) for value in values)
    sds = next(sds for runs, sds in reversed(BAND_SDS.items()) if runs <= len(values))
    half = max(sds * MAD_TO_SD * deviation, MIN_EFFECT_RATIO * centre)
    return Band(centre, centre - half, centre + half, len(values))


def departure(
    value: float, earlier: Sequence[float], *, is_higher_better: bool
) -> Departure | None:
    """How a run's value leaves the band of the earlier ones; None while it does not."""
    expected = band(earlier)
    if expected is None or expected.low <= value <= expected.high:
        return None
    is_above = value > expected.high
    alike = takewhile(
        lambda before: before > expected.high if is_above else before < expected.low,
        reversed(earlier),
    )
    return Departure(
        kind="improvement" if is_above == is_higher_better else "regression",
        change_ratio=value / expected.median - 1,
        streak=1 + len(list(alike)),
    )


def environment(facts: Mapping[str, object]) -> dict[str, object]:
    """Identity of the measured machine, from the facts of its inventory."""
    known = {**facts, "disk_kinds": _disk_kinds(facts.get("disks"))}
    return {name: known.get(name) for name in (*HARDWARE, *SOFTWARE)}


def _disk_kinds(disks: object) -> str | None:
    """Kinds of disks, each once: another disk of a kind is no other machine."""
    kinds = {
        f"{disk.get('transport') or ''} {'hdd' if disk['is_rotational'] else 'ssd'}".strip()
        for disk in (disks if isinstance(disks, list | tuple) else ())
        if isinstance(disk, Mapping) and disk.get("is_rotational") is not None
    }
    return ", ".join(sorted(kinds)) or None


def is_same_hardware(first: Environment, other: Environment) -> bool:
    """True if results may be compared; what one of them does not state is no difference."""
    return not changes(first, other, HARDWARE)


def changes(before: Environment, after: Environment, names: Sequence[str]) -> list[str]:
    """`name: before → after` of each fact that both state differently."""
    return [f"{name}: {old} → {other}" for name, old, other in differing(before, after, names)]


def differing(
    before: Environment, after: Environment, names: Sequence[str]
) -> list[tuple[str, Any, Any]]:
    """Name and both values of each fact that both state differently."""
    return [
        (name, before[name], after[name])
        for name in names
        if before.get(name) is not None
        and after.get(name) is not None
        and not _is_same(name, before[name], after[name])
    ]


def _is_same(name: str, first: object, other: object) -> bool:
    if name == "memory_bytes" and isinstance(first, int) and isinstance(other, int):
        return abs(first - other) <= MEMORY_TOLERANCE_RATIO * max(first, other)
    return first == other
