"""How often a further machine of an offer falls where a score says that it will.

A stated spread is an assumption until machines were counted against it. Two kinds of evidence
hold it to account: standard deviations that providers publish over many machines, and our own
offers with several machines, of which each is left out once and compared with the rest.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median

from backend.foundation.errors import InsufficientSamples, InvalidValue
from backend.measure import stats

SQRT_2 = math.sqrt(2)


@dataclass(frozen=True)
class Expected:
    """Expected coverage of a single figure's interval, by the published spreads of `n_offers`
    offers.

    Shares are 0 to 1. Where the stated spread is the true one they are 95 % and 83 %: between two
    machines lie two deviations, not one.
    """

    n_offers: int
    typical_share: float
    """The interval around one machine's figure holds the offer's typical machine."""
    further_share: float
    """It holds one more machine."""


@dataclass(frozen=True)
class LeftOut:
    """Coverage over `n_machines` machines, each compared with the others of its offer."""

    n_offers: int
    n_machines: int
    n_inside: int

    @property
    def share(self) -> float | None:
        """The share that fell inside; None without machines."""
        return self.n_inside / self.n_machines if self.n_machines else None


def expected_coverage(published_cvs: Iterable[float], stated_cv: float) -> Expected:
    """Expected coverage for offers with these published coefficients of variation (ratios).

    Machines are taken as lognormal, as the interval `stated_spread` takes them. Raises
    InvalidValue for a spread that is not above zero, InsufficientSamples without any offer.
    """
    sigma = _sigma(stated_cv)
    ratios = [sigma / _sigma(cv) for cv in published_cvs]
    if not ratios:
        raise InsufficientSamples(1, 0)
    return Expected(
        n_offers=len(ratios),
        typical_share=fmean(_within(stats.Z_95 * ratio) for ratio in ratios),
        further_share=fmean(_within(stats.Z_95 * ratio / SQRT_2) for ratio in ratios),
    )


def left_out(
    offers: Iterable[Mapping[str, Sequence[float]]],
    *,
    between_instance_cv: float,
    target_half_width_ratio: float,
) -> LeftOut:
    """Each machine of each offer against the interval that the offer's other machines give.

    An offer maps its machines to their repeats; offers of one machine say nothing.
    """
    n_offers = n_machines = n_inside = 0
    for machines in offers:
        if len(machines) < 2:
            continue
        n_offers += 1
        for name, repeats in machines.items():
            rest = stats.summary(
                {other: {"": values} for other, values in machines.items() if other != name},
                between_instance_cv=between_instance_cv,
                target_half_width_ratio=target_half_width_ratio,
            )
            n_machines += 1
            n_inside += rest.ci95_low <= median(repeats) <= rest.ci95_high
    return LeftOut(n_offers, n_machines, n_inside)


def _sigma(cv: float) -> float:
    """Standard deviation of the logarithm; a spread of zero would hold everything, or nothing."""
    if not cv > 0:
        raise InvalidValue("cv", f"{cv} is not above zero")
    return stats.log_sigma(cv)


def _within(deviations: float) -> float:
    """Share of a normal distribution within that many standard deviations of its mean."""
    return 2 * NormalDist().cdf(deviations) - 1
