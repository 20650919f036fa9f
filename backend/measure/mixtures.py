"""Families of machine types that run on several models of CPU, of which a buyer draws one.

One type's few runs say little of what the next machine has, so the runs of the whole family stand
for each of its types.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from statistics import fmean

# Runs of one model lie closer together: of the families in the stress-ng table whose types agree with
# each other, 95 % of the types are within 1.06.
SEVERAL_MODELS_RATIO = 1.15
# "AMD EPYC 9R14 96-Core Processor" is the "AMD EPYC 9R14" of another firmware.
SURPLUS_WORDS = re.compile(r"\b(?:[0-9]+-core|processor|cpu)\b|\s+", re.IGNORECASE)


@dataclass(frozen=True)
class TypeRuns:
    """Runs of one machine type as a table states them; `cpu_model` is that of the last one."""

    provider: str
    family: str
    cpu_model: str
    vcpus: float
    count: int
    low: float
    median: float
    high: float

    @property
    def per_vcpu(self) -> Sequence[float]:
        """Every run: those between the ends are taken to be the median."""
        ends = [self.low, self.high] if self.count > 1 else []
        values = [*ends, *[self.median] * (self.count - len(ends))]
        return [value / self.vcpus for value in values]

    @property
    def are_close(self) -> bool:
        return self.high <= SEVERAL_MODELS_RATIO * self.low


@dataclass(frozen=True)
class Mixture:
    """Runs of a family for each vCPU, as if every model were met as often as it was measured."""

    runs: Sequence[float]
    cpu_models: Mapping[str, int]
    """CPU model → runs of types whose last run was on it."""

    @cached_property
    def mean(self) -> float:
        return fmean(self.runs)


def mixtures(types: Iterable[TypeRuns]) -> dict[str, Mixture]:
    """The families whose types run on several models of CPU that differ."""
    by_family = groupby(sorted(types, key=attrgetter("family")), attrgetter("family"))
    mixed = {}
    for family, group in by_family:
        members = list(group)
        models: Counter[str] = Counter()
        for member in members:
            models[member.cpu_model] += member.count
        if _are_mixed(members):
            runs = [value for member in members for value in member.per_vcpu]
            mixed[family] = Mixture(runs, dict(models))
    return mixed


def _are_mixed(members: Sequence[TypeRuns]) -> bool:
    by_model: dict[str, list[TypeRuns]] = {}
    for member in members:
        # An unknown model is none of its own.
        if name := SURPLUS_WORDS.sub("", member.cpu_model).casefold():
            by_model.setdefault(name, []).append(member)
    if len(by_model) < 2 or all(member.are_close for member in members):
        return False
    # Where types on one model differ as much, it is the size that matters and not the model.
    return all(
        max(values) <= SEVERAL_MODELS_RATIO * min(values)
        for same in by_model.values()
        if (values := [each.median / each.vcpus for each in same if each.are_close])
    )
