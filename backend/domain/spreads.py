"""Spread between machines of one type, from public runs that were repeated."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.domain.mixtures import TypeRuns

# A family's few runs may agree by chance: as many more are added that spread as its provider's do.
PRIOR_DEGREES = 1


@dataclass
class _Pooled:
    squares: float = 0.0
    degrees: int = 0

    def add(self, types: TypeRuns) -> None:
        centre = math.log(types.median / types.vcpus)
        self.squares += math.fsum((math.log(value) - centre) ** 2 for value in types.per_vcpu)
        self.degrees += types.count - 1

    @property
    def variance(self) -> float:
        return self.squares / self.degrees


def family_spreads(types: Iterable[TypeRuns]) -> Mapping[str, float]:
    """Standard deviation of runs over their type's median (ratio), by family.

    On logarithms, pooled within types. Families without a repeated run are left out.
    """
    families: dict[str, _Pooled] = defaultdict(_Pooled)
    providers: dict[str, _Pooled] = defaultdict(_Pooled)
    provider_of: dict[str, str] = {}
    for runs in types:
        if runs.count > 1:
            provider_of[runs.family] = runs.provider
            families[runs.family].add(runs)
            providers[runs.provider].add(runs)
    return {
        family: math.sqrt(
            (pooled.squares + PRIOR_DEGREES * providers[provider_of[family]].variance)
            / (pooled.degrees + PRIOR_DEGREES)
        )
        for family, pooled in families.items()
    }
