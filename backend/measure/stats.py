"""Summaries of repeated measurements and published figures, with their intervals.

Values are positive finite floats of one metric. Instances are different machines of one offer,
repeats are measurements within one machine, in one run or several; they are never mixed up.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from statistics import fmean, median
from typing import Any, TypeVar

from backend.foundation.errors import InsufficientSamples, InvalidValue
from backend.measure.student_t import t_quantile

CONFIDENCE = 0.95
Z_95 = 1.96
MIN_INSTANCES_T = 3
MIN_INSTANCES_ORDER = 6  # of five values even the least and the greatest hold the median in 93.75 %
MOST_DEGREES = 10**9  # Student's t is the normal distribution there

# Flag of a repeat during which something else ran on the machine.
DISTURBED = "disturbed"
# Flag of a repeat that may have measured memory instead of the disk.
CACHED = "cached"
# Flag of a figure of which is only known that the true one is larger.
LOWER_BOUND = "lower_bound"
# Flag of a job that was stopped: its time is that until then.
ABORTED = "aborted"
# Flag of a figure of which nobody says how it was made.
CONDITIONS_UNKNOWN = "conditions_unknown"
# Flag of a copy of nothing but zeros, which disks that compress never store.
ZEROS = "zeros"
# Flag of a figure of a processor that a program imitates.
EMULATED = "emulated"
# Flag of a figure that the tested program limited, and not the machine.
SATURATED = "saturated"
# Flag of a figure of our own that was made with other versions of the tools than the published ones.
OTHER_METHOD = "other_method"
# How far such a figure may be off, as the half-width of 95 % (ratio). Our own assumption, until a machine
# type was measured by both methods.
OTHER_METHOD_RATIO = 0.15
# Flag of a figure of a machine that is not what its offer states.
UNLIKE_OFFER = "unlike_offer"
UNFIT = frozenset(
    {
        DISTURBED,
        CACHED,
        LOWER_BOUND,
        ABORTED,
        CONDITIONS_UNKNOWN,
        ZEROS,
        EMULATED,
        SATURATED,
        UNLIKE_OFFER,
    }
)

Repeat = TypeVar("Repeat")
# Run → values of its repeats, of one machine.
Machine = Mapping[str, Sequence[float]]


class IntervalBasis(StrEnum):
    """How a 95 % interval was made; see `summary` and `summary_of_source`."""

    INSTANCES_ORDER = "instances_order"
    INSTANCES_T = "instances_t"
    REPEATS_WIDENED = "repeats_widened"
    PUBLISHED_SD = "published_sd"
    STATED_SPREAD = "stated_spread"
    COMBINED = "combined"
    """Combines the intervals of several metrics; see rankings.calc.mix."""


@dataclass(frozen=True)
class Summary:
    """A metric of one offer: its value and 95 % interval, in the metric's unit.

    low ≤ value ≤ high: nothing is certain, and a single figure has the stated spread between
    machines. `n_instances` is None where a source does not say how many machines stand behind it.
    """

    value: float
    ci95_low: float
    ci95_high: float
    n_instances: int | None
    n_repeats: int | None
    interval_basis: IntervalBasis
    is_unstable: bool = False


@dataclass(frozen=True)
class ScoreInterval:
    """A 95 % interval, low < high, and the numbers that its formula was given, by their symbols."""

    basis: IntervalBasis
    low: float
    high: float
    terms: Mapping[str, float]
    """n machines · d depth, w way inwards to the next order statistic · mean and s (standard
    deviation) of logarithms · t quantile · v variance of the median · sigma · h half-width on the
    logarithm · sd as a ratio · method what the method may be off, as a ratio."""


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


def _check_values(values: Sequence[float], needed: int = 1) -> Sequence[float]:
    if len(values) < needed:
        raise InsufficientSamples(needed, len(values))
    # Intervals are of logarithms, which zero has none of; a benchmark that scores 0 failed.
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
    return t_half_width(_check_values(values, 2)) / fmean(values)


def is_settled(values: Sequence[float], rule: StoppingRule) -> bool:
    """True if a series of repeats on one machine may stop: precise enough, or at its most."""
    # First: a machine that never becomes quiet would be measured for ever.
    if len(values) >= rule.max_repeats:
        return True
    return len(values) >= rule.min_repeats and half_width_ratio(values) <= rule.half_width_ratio


# --- summaries --------------------------------------------------------------------------------


def repeats_that_count(
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
    # Disturbed repeats are better than none, yet never beside clean ones, which they would pull down.
    return (clean, False) if clean else (offered, bool(offered))


def summary(
    machines: Mapping[str, Machine],
    *,
    between_instance_cv: float,
    target_half_width_ratio: float,
    method_ratio: float = 0.0,
) -> Summary:
    """Median over the medians of machines, with the interval that their number allows.

    - 6 or more: of order statistics (`instances_order`), which holds the median of whatever
      distribution the machines have, such as two generations of processors behind one type;
    - 3 to 5: t interval of the logarithms of the medians (`instances_t`);
    - 1 or 2, or all equal: `repeats_widened`, see `_interval_of_few`, and `stated_spread` where
      no machine has two repeats.

    `between_instance_cv` (ratio) is the metric's stated spread between machines, `method_ratio` the
    half-width of what the method itself may be off, whatever the number of machines. `is_unstable`
    says that the typical machine's repeats ended above `target_half_width_ratio`.
    Raises InsufficientSamples without values, InvalidValue for one that is not above zero.
    """
    # Names sorted: sums of floats depend on their order, and stored summaries must not change between
    # readings.
    interval = machines_interval(machines, between_instance_cv, method_ratio)
    series = [_repeats(runs) for _, runs in sorted(machines.items())]
    # Each machine counts once, however often it was measured.
    value = median(median(values) for values in series)
    widths = [half_width_ratio(values) for values in series if len(values) > 1]
    return Summary(
        value=value,
        # A t interval is centred on a mean; it is stretched to hold the median it is shown with.
        ci95_low=min(interval.low, value),
        ci95_high=max(interval.high, value),
        n_instances=len(series),
        n_repeats=sum(map(len, series)),
        interval_basis=interval.basis,
        is_unstable=bool(widths) and median(widths) > target_half_width_ratio,
    )


def _repeats(runs: Machine) -> Sequence[float]:
    return _check_values([value for _, values in sorted(runs.items()) for value in values])


def machines_interval(
    machines: Mapping[str, Machine], cv: float, method_ratio: float = 0.0
) -> ScoreInterval:
    """The interval of `summary`, whose arguments these are."""
    interval = _interval_of_machines(machines, cv)
    if not method_ratio:
        return interval
    # Independent of the machines, so half-widths of logarithms add as squares.
    centre = math.sqrt(interval.low * interval.high)
    half_width = math.hypot(math.log(interval.high / centre), math.log1p(method_ratio))
    low, high = centre * math.exp(-half_width), centre * math.exp(half_width)
    return ScoreInterval(interval.basis, low, high, {**interval.terms, "method": method_ratio})


def _interval_of_machines(machines: Mapping[str, Machine], cv: float) -> ScoreInterval:
    medians = [median(_repeats(runs)) for _, runs in sorted(machines.items())]
    if not medians:
        raise InsufficientSamples(1, 0)
    interval = None
    if len(medians) >= MIN_INSTANCES_ORDER:
        interval = order_interval(medians)
    elif len(medians) >= MIN_INSTANCES_T:
        interval = _log_t_interval(medians)
    if interval is not None and interval.low < interval.high:
        return interval
    # Machines that agree to the last digit, as coarse figures do, say nothing of their spread.
    return _interval_of_few(machines.values(), medians, cv)


def order_interval(values: Sequence[float]) -> ScoreInterval:
    """The 95 % interval of the median of six or more values, whatever their distribution.

    The d-th smallest and d-th largest of n hold the median with 1 − 2 · P(Binomial(n, ½) < d).
    Between the last d with 95 % and the next, which has less, Hettmansperger and Sheather's
    interpolation is taken (Confidence intervals based on interpolated order statistics, 1986).
    """
    if len(values) < MIN_INSTANCES_ORDER:
        raise InsufficientSamples(MIN_INSTANCES_ORDER, len(values))
    ordered, n = sorted(_check_values(values)), len(values)
    depth, outside = 0, 0.0  # outside: P(the median lies beyond the values of this depth)
    following = 2 / 2**n
    while following <= 1 - CONFIDENCE:
        depth, outside = depth + 1, following
        following += 2 * math.comb(n, depth) / 2**n
    # How far from the last sure depth towards the next one the missing probability lies.
    share = (1 - CONFIDENCE - outside) / (following - outside)
    inner = (n - depth) * share / (depth + (n - 2 * depth) * share)
    low = (1 - inner) * ordered[depth - 1] + inner * ordered[depth]
    high = (1 - inner) * ordered[n - depth] + inner * ordered[n - depth - 1]
    return ScoreInterval(IntervalBasis.INSTANCES_ORDER, low, high, {"n": n, "d": depth, "w": inner})


def _log_t_interval(values: Sequence[float]) -> ScoreInterval:
    logs = [math.log(value) for value in values]
    # On logarithms: speeds of machines differ by factors, and no interval reaches below zero.
    s = _standard_deviation(logs)
    t = t_quantile((1 + CONFIDENCE) / 2, len(logs) - 1)
    terms = {"n": len(logs), "s": s, "t": t}
    return _around(IntervalBasis.INSTANCES_T, fmean(logs), t * s / math.sqrt(len(logs)), terms)


def _around(
    basis: IntervalBasis, centre: float, half_width: float, terms: Mapping[str, float]
) -> ScoreInterval:
    """Interval of a centre and half-width on the logarithm."""
    low, high = math.exp(centre - half_width), math.exp(centre + half_width)
    return ScoreInterval(basis, low, high, {**terms, "mean": math.exp(centre), "h": half_width})


def _interval_of_few(
    machines: Iterable[Machine], medians: Sequence[float], cv: float
) -> ScoreInterval:
    """Spread within one or two machines and between them, added as variances on logs.

    half-width = t · √(v + σ²/m), m machines, σ = √ln(1 + cv²), or the spread of the two log
    medians where that is larger: a stated value may be too low. v is the variance of the median over
    repeats, or over the medians of runs where days differ by more than their repeats explain. σ is
    taken as known and v as estimated with d degrees, so t has d · (1 + σ²/(m·v))² of them
    (Satterthwaite, 1946), and is 1.96 where nothing was repeated.
    """
    logs = [
        [[math.log(value) for value in values] for values in runs.values()] for runs in machines
    ]
    repeats = _variance_of_median([[x for run in runs for x in run] for runs in logs])
    days = _variance_of_median([[median(run) for run in runs] for runs in logs])
    # The larger of the two, never their sum: repeats of one run are part of what runs differ by.
    within, degrees = max(repeats, days)
    centres = [math.log(value) for value in medians]
    sigma = log_sigma(cv)
    # Two machines say little of a spread, so what they say counts only where it is more than the stated
    # one.
    if len(centres) > 1:
        sigma = max(sigma, _standard_deviation(centres))
    variance = within + sigma**2 / len(centres)
    # σ is stated and not estimated, so it has as many degrees as anybody likes.
    quantile = Z_95
    if within:
        # Degrees of the sum of a known and an estimated variance; int rounds down, which widens.
        whole_degrees = min(degrees * (variance / within) ** 2, MOST_DEGREES)
        quantile = max(quantile, t_quantile((1 + CONFIDENCE) / 2, int(whole_degrees)))
    basis = IntervalBasis.REPEATS_WIDENED if repeats[1] else IntervalBasis.STATED_SPREAD
    terms = {"n": len(centres), "v": within, "sigma": sigma, "t": quantile}
    return _around(basis, fmean(centres), quantile * math.sqrt(variance), terms)


def _variance_of_median(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Variance of the median of all numbers, pooled within the groups, and its degrees of freedom;
    both 0 where no group has two numbers.

    It is that of their mean, up to π/2 times for more than two normal numbers.
    """
    count = sum(map(len, groups))
    # Each group loses one to its own mean.
    degrees = count - len(groups)
    if not degrees:
        return 0.0, 0
    # Each centre once: within the sum a year of one machine would take seconds.
    centred = ((fmean(group), group) for group in groups)
    squares = math.fsum((x - centre) ** 2 for centre, group in centred for x in group)
    of_mean = squares / degrees / count
    # A median of three or more normal numbers has up to π/2 the variance of their mean; of two it is the
    # mean.
    return of_mean * (math.pi / 2 if max(map(len, groups)) > 2 else 1), degrees


def log_sigma(cv: float) -> float:
    """Standard deviation of the logarithm of a log-normal value with this coefficient of variation."""
    if not 0 <= cv < math.inf:
        raise InvalidValue("between_instance_cv", f"{cv} is not a finite number from zero on")
    return math.sqrt(math.log1p(cv**2))


def summary_of_source(
    value: float,
    sd_ratio: float | None,
    sample_count: int | None,
    *,
    between_instance_cv: float,
    seen: tuple[float, float] | None = None,
) -> Summary:
    """A figure as its source states it: value ± 1.96 · sd where it states a spread, else with the
    stated spread between machines (`stated_spread`). `seen` are the lowest and the highest result
    behind the figure, in its unit: the interval reaches at least that far.

    The spread of single results is what a buyer of one machine meets, so it is never divided by
    the root of the count. How many machines stand behind the samples is not stated: None. A spread
    of zero is one that was rounded away or not looked for.
    """
    of = interval_of_source(value, sd_ratio, between_instance_cv, seen)
    return Summary(value, of.low, of.high, None, sample_count, of.basis)


def interval_of_source(
    value: float,
    sd_ratio: float | None,
    cv: float,
    seen: tuple[float, float] | None = None,
) -> ScoreInterval:
    """The interval of `summary_of_source`, whose arguments these are."""
    _check_values([value, *(seen or ())])
    of = _source_interval(value, sd_ratio, cv)
    if seen is None:
        return of
    lowest, highest = seen
    # A stated spread may be narrower than results that were really seen.
    terms = {**of.terms, "lowest": lowest, "highest": highest}
    return ScoreInterval(of.basis, min(of.low, lowest), max(of.high, highest), terms)


def _source_interval(value: float, sd_ratio: float | None, cv: float) -> ScoreInterval:
    # A spread of zero was rounded away, and would make a figure certain.
    if sd_ratio is None or not 0 < sd_ratio < math.inf:
        sigma = log_sigma(cv)
        terms = {"n": 1, "v": 0.0, "sigma": sigma, "t": Z_95}
        return _around(IntervalBasis.STATED_SPREAD, math.log(value), Z_95 * sigma, terms)
    basis, terms = IntervalBasis.PUBLISHED_SD, {"sd": sd_ratio}
    if Z_95 * sd_ratio >= 1:  # on a line the low end would be no score
        return _around(basis, math.log(value), Z_95 * log_sigma(sd_ratio), terms)
    return ScoreInterval(basis, value * (1 - Z_95 * sd_ratio), value * (1 + Z_95 * sd_ratio), terms)


@dataclass(frozen=True)
class PublishedGroup:
    """A source's statement on results of one kind of machine."""

    mean: float
    sd_ratio: float
    """Standard deviation of single results over their mean."""
    count: int


def pool_groups(groups: Sequence[PublishedGroup]) -> PublishedGroup:
    """All results together, as if every kind of machine were met as often as it was measured.

    The variance is the mean of the groups' variances plus the variance of their means (law of
    total variance), each weighted with its count: it covers not knowing which kind one gets.
    Raises InsufficientSamples without a group.
    """
    count = sum(group.count for group in groups)
    if not count:
        raise InsufficientSamples(1, count)
    mean = math.fsum(group.count * group.mean for group in groups) / count
    variance = (
        math.fsum(
            group.count * ((group.sd_ratio * group.mean) ** 2 + (group.mean - mean) ** 2)
            for group in groups
        )
        / count
    )
    return PublishedGroup(mean, math.sqrt(variance) / mean, count)
