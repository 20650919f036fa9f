"""Spread between machines of one type, from public runs that were repeated."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.measure.mixtures import TypeRuns

# A family's few runs may agree by chance: as many more are added that spread as its provider's do, and to
# a provider's such that spread as everybody's.
PRIOR_DEGREES = 1


@dataclass
class _Pooled:
    squares: float = 0.0
    degrees: int = 0

    def add(self, types: TypeRuns) -> None:
        if types.count == 1:
            return
        centre = math.log(types.median / types.vcpus)
        self.squares += math.fsum((math.log(value) - centre) ** 2 for value in types.per_vcpu)
        self.degrees += types.count - 1

    def variance_near(self, prior: float) -> float:
        return (self.squares + PRIOR_DEGREES * prior) / (self.degrees + PRIOR_DEGREES)


def family_spreads(types: Iterable[TypeRuns]) -> Mapping[str, float]:
    """Standard deviation of runs over their type's median (ratio), by family.

    On logarithms, pooled within types. A family without a repeated run spreads as its provider's do, a
    provider without one as all do. Empty where no run was repeated.
    """
    families: dict[str, _Pooled] = defaultdict(_Pooled)
    providers: dict[str, _Pooled] = defaultdict(_Pooled)
    provider_of: dict[str, str] = {}
    everybody = _Pooled()
    for runs in types:
        provider_of[runs.family] = runs.provider
        for pooled in (families[runs.family], providers[runs.provider], everybody):
            pooled.add(runs)
    if not everybody.degrees:
        return {}
    all_of_them = everybody.squares / everybody.degrees
    priors = {provider: pooled.variance_near(all_of_them) for provider, pooled in providers.items()}
    return {
        family: math.sqrt(pooled.variance_near(priors[provider_of[family]]))
        for family, pooled in families.items()
    }
