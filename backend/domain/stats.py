"""Summaries of repeated measurements, their intervals, and common draws for rankings.

Values are positive finite floats of one metric. Instances are different machines of one offer,
repeats are measurements within one machine; the two are never mixed up.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from statistics import NormalDist, fmean, median
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from backend.domain.errors import InsufficientSamples, InvalidValue
from backend.domain.student_t import t_quantile

CONFIDENCE = 0.95
Z_95 = 1.96
SEED = 20_130_921  # the day the first table of this kind was published; any fixed number serves
BOOTSTRAP_DRAWS = 4_000
RANK_DRAWS = 500
RANK_BLOCK = 50  # draws ranked at a time: six thousand offers then fit the processor's cache
MIN_INSTANCES_T = 3
MIN_INSTANCES_BOOTSTRAP = 10

DISTURBED = "disturbed"
"""Flag of a repeat during which something else ran on the machine."""
CACHED = "cached"
"""Flag of a repeat that may have measured memory instead of the disk."""
LOWER_BOUND = "lower_bound"
"""Flag of a figure of which is only known that the true one is larger."""
ABORTED = "aborted"
"""Flag of a job that was stopped: its time is that until then."""
CONDITIONS_UNKNOWN = "conditions_unknown"
"""Flag of a figure of which nobody says how it was made."""
ZEROS = "zeros"
"""Flag of a copy of nothing but zeros, which disks that compress never store."""
UNFIT = frozenset({DISTURBED, CACHED, LOWER_BOUND, ABORTED, CONDITIONS_UNKNOWN, ZEROS})

Draws = NDArray[np.float64]
Repeat = TypeVar("Repeat")


class IntervalBasis(StrEnum):
    """How a 95 % interval was made; see `summary` and `published_summary`."""

    INSTANCES_BOOTSTRAP = "instances_bootstrap"
    INSTANCES_T = "instances_t"
    REPEATS_WIDENED = "repeats_widened"
    PUBLISHED_SD = "published_sd"
    COMBINED = "combined"
    """Of the intervals of several metrics; see domain.mix."""
    NONE = "none"


@dataclass(frozen=True)
class Summary:
    """A metric of one offer: its value and 95 % interval, in the metric's unit.

    Both bounds are set or neither is; when set, low ≤ value ≤ high. `n_instances` is None where
    a source does not say how many machines stand behind its figure.
    """

    value: float
    ci95_low: float | None
    ci95_high: float | None
    n_instances: int | None
    n_repeats: int | None
    interval_basis: IntervalBasis
    is_unstable: bool = False


@dataclass(frozen=True)
class StoppingRule:
    """When a series of repeats may end."""

    min_repeats: int
    max_repeats: int
    half_width_ratio: float

    def __post_init__(self) -> None:
        if not 2 <= self.min_repeats <= self.max_repeats:
            raise InvalidValue("min_repeats", "2 ≤ min_repeats ≤ max_repeats does not hold")
        if not self.half_width_ratio > 0:
            raise InvalidValue("half_width_ratio", f"{self.half_width_ratio} is not above zero")


# --- plain intervals --------------------------------------------------------------------------


def _checked(values: Sequence[float], needed: int = 1) -> Sequence[float]:
    if len(values) < needed:
        raise InsufficientSamples(needed, len(values))
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise InvalidValue("value", f"{value} is not a finite number above zero")
    return values


def _standard_deviation(values: Sequence[float]) -> float:
    # statistics.stdev sums exact fractions: a hundred times slower for digits nobody measured.
    centre = fmean(values)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1))


def t_half_width(values: Sequence[float]) -> float:
    """Half the width of the 95 % t interval of the mean of two or more finite numbers."""
    if len(values) < 2:
        raise InsufficientSamples(2, len(values))
    quantile = t_quantile((1 + CONFIDENCE) / 2, len(values) - 1)
    return quantile * _standard_deviation(values) / math.sqrt(len(values))


def half_width_ratio(values: Sequence[float]) -> float:
    """Half-width of the within-instance 95 % t interval over the mean (ratio)."""
    return t_half_width(_checked(values, 2)) / fmean(values)


def is_settled(values: Sequence[float], rule: StoppingRule) -> bool:
    """Whether a series of repeats on one machine may stop: precise enough, or at its most."""
    if len(values) >= rule.max_repeats:
        return True
    return len(values) >= rule.min_repeats and half_width_ratio(values) <= rule.half_width_ratio


# --- summaries --------------------------------------------------------------------------------


def counted_repeats(
    repeats: Iterable[Repeat],
    marks: Callable[[Repeat], tuple[Any, ...]] = attrgetter("flags", "excluded_reason"),
) -> tuple[list[Repeat], bool]:
    """The repeats of one metric and variant that count, and whether these are unfit.

    `marks` reads from a repeat its flags and why a person left it out, "" where nobody did. What a
    person left out never counts. A repeat with one of the flags UNFIT counts only where there is
    none without: then all count, and the caller shows the flag and gives no rank.
    """
    offered = []
    clean = []
    for repeat in repeats:
        flags, excluded_reason = marks(repeat)
        if not excluded_reason:
            offered.append(repeat)
            if UNFIT.isdisjoint(flags):
                clean.append(repeat)
    return (clean, False) if clean else (offered, bool(offered))


def summary(
    values_by_instance: Mapping[str, Sequence[float]],
    *,
    between_instance_cv: float,
    target_half_width_ratio: float,
    seed: int = SEED,
) -> Summary:
    """Median over instance medians with the interval that the number of instances allows.

    - 10 or more: BCa bootstrap of that median, seeded (`instances_bootstrap`);
    - 3 to 9: t interval of the logarithms of the instance medians (`instances_t`);
    - 1 or 2: `repeats_widened`, see `_widened_interval`; `none` when no machine has two repeats.

    `between_instance_cv` (ratio) is the metric's stated spread between machines. `is_unstable`
    says that the typical machine's repeats ended above `target_half_width_ratio`.
    Raises InsufficientSamples without values, InvalidValue for one that is not above zero.
    """
    series = [values for _, values in sorted(values_by_instance.items())]
    medians = [median(_checked(values)) for values in series]
    if not medians:
        raise InsufficientSamples(1, 0)
    value = median(medians)
    basis, interval = _interval(series, medians, between_instance_cv, seed)
    widths = [half_width_ratio(values) for values in series if len(values) > 1]
    return Summary(
        value=value,
        # A t interval is centred on a mean; it is stretched to hold the median it is shown with.
        ci95_low=None if interval is None else min(interval[0], value),
        ci95_high=None if interval is None else max(interval[1], value),
        n_instances=len(series),
        n_repeats=sum(map(len, series)),
        interval_basis=basis,
        is_unstable=bool(widths) and median(widths) > target_half_width_ratio,
    )


def _interval(
    series: Sequence[Sequence[float]], medians: Sequence[float], cv: float, seed: int
) -> tuple[IntervalBasis, tuple[float, float] | None]:
    if len(medians) >= MIN_INSTANCES_BOOTSTRAP:
        return IntervalBasis.INSTANCES_BOOTSTRAP, bca_median_interval(medians, seed=seed)
    if len(medians) >= MIN_INSTANCES_T:
        low, high = _log_t_interval(medians)
        return IntervalBasis.INSTANCES_T, (low, high)
    if all(len(values) < 2 for values in series):
        return IntervalBasis.NONE, None
    return IntervalBasis.REPEATS_WIDENED, _widened_interval(series, medians, cv)


def _log_t_interval(values: Sequence[float]) -> tuple[float, float]:
    logs = [math.log(value) for value in values]
    centre, half_width = fmean(logs), t_half_width(logs)
    return math.exp(centre - half_width), math.exp(centre + half_width)


def _widened_interval(
    series: Sequence[Sequence[float]], medians: Sequence[float], cv: float
) -> tuple[float, float]:
    """Repeat spread and between-instance spread of one or two machines, in quadrature on logs.

    half-width = √( (t·s/√n)² + (1.96·σ/√m)² ) with s the standard deviation of the log repeats
    pooled within machines, n all repeats, t of n − m degrees; m machines and σ = √ln(1 + cv²),
    or the spread of the two log medians where that is larger: a stated value may be too low.
    """
    if not cv >= 0:
        raise InvalidValue("between_instance_cv", f"{cv} is below zero")
    logs = [[math.log(value) for value in values] for values in series]
    n_repeats, n_instances = sum(map(len, logs)), len(logs)
    squares = sum(sum((x - fmean(values)) ** 2 for x in values) for values in logs)
    degrees = n_repeats - n_instances
    within = t_quantile((1 + CONFIDENCE) / 2, degrees) * math.sqrt(squares / degrees / n_repeats)
    sigma = math.sqrt(math.log1p(cv**2))
    if n_instances > 1:
        sigma = max(sigma, _standard_deviation([math.log(value) for value in medians]))
    half_width = math.hypot(within, Z_95 * sigma / math.sqrt(n_instances))
    centre = fmean(math.log(value) for value in medians)
    return math.exp(centre - half_width), math.exp(centre + half_width)


def bca_median_interval(values: Sequence[float], *, seed: int = SEED) -> tuple[float, float]:
    """The bias-corrected and accelerated bootstrap interval (95 %) of the median.

    Efron and Tibshirani, An Introduction to the Bootstrap, 14.3; draws equal to the median count
    half in the bias, because the median of few values repeats itself.
    """
    sample = np.asarray(_checked(values, 2), dtype=np.float64)
    chosen = np.random.default_rng(seed).integers(0, sample.size, (BOOTSTRAP_DRAWS, sample.size))
    boot = np.median(sample[chosen], axis=1)
    centre = float(np.median(sample))
    below = float(np.mean(boot < centre) + np.mean(boot == centre) / 2)
    edge = 0.5 / BOOTSTRAP_DRAWS
    bias = NormalDist().inv_cdf(min(max(below, edge), 1 - edge))
    left_out = np.array([np.median(np.delete(sample, i)) for i in range(sample.size)])
    deviation = left_out.mean() - left_out
    spread = float(np.sum(deviation**2))
    acceleration = 0.0 if spread == 0 else float(np.sum(deviation**3)) / (6 * spread**1.5)
    shares = [
        bca_share(probability, bias, acceleration)
        for probability in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    ]
    low, high = np.quantile(boot, shares)
    return float(low), float(high)


def bca_share(probability: float, bias: float, acceleration: float) -> float:
    """Which quantile of the bootstrap draws stands for `probability` (same source, 14.10)."""
    shifted = bias + NormalDist().inv_cdf(probability)
    return NormalDist().cdf(bias + shifted / (1 - acceleration * shifted))


def has_interval(sd_ratio: float | None) -> bool:
    """Whether value ± 1.96 · sd lies above zero; a wider spread says nothing about a score."""
    return sd_ratio is not None and 0 <= sd_ratio < 1 / Z_95


def published_summary(value: float, sd_ratio: float | None, sample_count: int | None) -> Summary:
    """A figure as its source states it, with value ± 1.96 · sd where it states a spread.

    The spread of single results is what a buyer of one machine meets, so it is never divided by
    the root of the count. How many machines stand behind the samples is not stated: None.
    """
    _checked([value])
    bounds: tuple[float | None, float | None] = (None, None)
    basis = IntervalBasis.NONE
    if sd_ratio is not None:
        if not has_interval(sd_ratio):
            raise InvalidValue("sd_ratio", f"{sd_ratio} is not in [0, 0.51)")
        bounds = value * (1 - Z_95 * sd_ratio), value * (1 + Z_95 * sd_ratio)
        basis = IntervalBasis.PUBLISHED_SD
    return Summary(value, *bounds, None, sample_count, basis)


# --- common draws for rankings ----------------------------------------------------------------


def common_draws(
    values: Sequence[float],
    intervals: Sequence[tuple[float, float] | None],
    *,
    seed: int = SEED,
    n_draws: int = RANK_DRAWS,
) -> Draws:
    """Plausible values of each row: an array (n_draws, rows), from one seeded stream.

    A row with an interval is drawn from a two-piece log-normal whose median is the value and
    whose 2.5 and 97.5 percentiles are the bounds; a row without one is a point in every draw.
    Rows of one draw belong together, so differences between rows are paired.
    """
    centre = np.asarray(values, dtype=np.float64)
    down, up = np.zeros_like(centre), np.zeros_like(centre)
    for row, interval in enumerate(intervals):
        if interval is not None:
            down[row] = math.log(values[row] / interval[0]) / Z_95
            up[row] = math.log(interval[1] / values[row]) / Z_95
    draws: Draws = np.random.default_rng(seed).standard_normal((n_draws, centre.size))
    draws *= np.where(draws < 0, down, up)
    np.exp(draws, out=draws)
    draws *= centre
    return draws


def rank_bounds(draws: Draws, ranks: Sequence[int]) -> list[tuple[int, int]]:
    """Lowest and highest plausible rank of each row, given its rank by value (1 = largest).

    (min(rank, ⌊p5⌋), max(rank, ⌈p95⌉)) of its competition rank over the draws.
    """
    if not ranks:
        return []
    drawn = np.empty(draws.shape, dtype=np.int32)
    for block in range(0, len(draws), RANK_BLOCK):
        drawn[block : block + RANK_BLOCK] = _competition_ranks(draws[block : block + RANK_BLOCK])
    # Interpolated in whole hundredths: a float may fall short of a whole number that it means.
    (low, low_part), (high, high_part) = (divmod(p * (len(drawn) - 1), 100) for p in (5, 95))
    last = len(drawn) - 1
    drawn.partition(sorted({low, min(low + 1, last), high, min(high + 1, last)}), axis=0)
    p5 = drawn[low] * (100 - low_part) + drawn[min(low + 1, last)] * low_part
    p95 = drawn[high] * (100 - high_part) + drawn[min(high + 1, last)] * high_part
    lowest = np.minimum(ranks, p5 // 100).tolist()
    highest = np.maximum(ranks, -(-p95 // 100)).tolist()
    return list(zip(lowest, highest, strict=True))


def _competition_ranks(draws: Draws) -> NDArray[np.intp]:
    """Rank of each column within its row, 1 for the largest; equal values share the first."""
    order = np.argsort(-draws, axis=1)
    descending = np.take_along_axis(draws, order, axis=1)
    starts = np.diff(descending, axis=1, prepend=np.inf) != 0
    first = np.where(starts, np.arange(draws.shape[1]), 0)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.maximum.accumulate(first, axis=1) + 1, axis=1)
    return ranks


def tie_groups(draws: Draws) -> list[int]:
    """Group numbers from 1 for rows in ranking order (columns of `draws`, best first).

    Walking down, a row joins the group while its paired difference to the group's first row is
    not clear of zero: at least 2.5 % of the draws lie on, or beyond, either side.
    """
    n_rows = draws.shape[1]
    groups: list[int] = []
    while len(groups) < n_rows:
        first = len(groups)
        groups += [groups[-1] + 1 if groups else 1] * _group_size(draws, first)
    return groups


def _group_size(draws: Draws, first: int) -> int:
    """How many rows from `first` on are tied with it; looked at in growing chunks."""
    needed = (1 - CONFIDENCE) / 2 * draws.shape[0]
    start, chunk = first + 1, 8
    while start < draws.shape[1]:
        difference = draws[:, start : start + chunk] - draws[:, first : first + 1]
        is_tied = (np.count_nonzero(difference <= 0, axis=0) >= needed) & (
            np.count_nonzero(difference >= 0, axis=0) >= needed
        )
        if not is_tied.all():
            return start + int(np.argmin(is_tied)) - first
        start, chunk = start + chunk, chunk * 2
    return int(draws.shape[1]) - first
