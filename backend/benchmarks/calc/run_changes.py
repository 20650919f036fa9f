"""True if one run measured less than another, metric by metric, and how surely.

Both medians get the interval of `stats.summary`, and `simultaneous.are_apart` says whether two of them are
clear of each other, as in a list of one more figure than metrics are compared: a gate asks all metrics
at once, and each would else be one more chance of a false alarm. Ruling a loss out has to succeed for
every metric, so there the two figures are a list of two.

On one machine the spread between machines does not come in. What the same machine differs by from one
run to the next is not in the repeats of a run either; the least loss that counts stands for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import exp, hypot, log
from statistics import median

from backend.measure.metrics import Metric
from backend.measure.pairwise import Interval
from backend.measure.simultaneous import are_apart
from backend.measure.stats import summary


class RunChange(IntEnum):
    """Outcome of a comparison; the number is the exit code of a gate."""

    FINE = 0
    """A loss of the size asked about is ruled out."""
    WORSE = 1
    """Clear of the earlier run, and the loss is at least of the size asked about."""
    UNCLEAR = 2
    """The repeats differ too much among themselves, or there are too few."""


@dataclass(frozen=True)
class MetricChange:
    """A metric of two runs; values and intervals in its unit.

    `change_ratio` is after / before − 1 with the ends of its 95 % interval; `is_apart` says whether
    the two differ at all.
    """

    metric: str
    variant: str
    unit: str
    before: float
    after: float
    change_ratio: float | None
    is_apart: bool
    outcome: RunChange
    change_low: float | None = None
    change_high: float | None = None


def metric_change(
    metric: Metric,
    variant: str,
    before: Sequence[float],
    after: Sequence[float],
    *,
    cv: float,
    count: int,
    least_loss_ratio: float,
) -> MetricChange:
    """Change of one metric between the counted repeats of two runs, one of `count` metrics
    compared.

    `cv` is 0 where both ran on one machine, else the stated spread between such machines (ratio).
    """
    was, is_now = median(before), median(after)
    if min(*before, *after) <= 0:
        # Intervals are of logarithms; a share of nothing cannot be stated either.
        outcome = RunChange.FINE if was == is_now else RunChange.UNCLEAR
        return MetricChange(
            metric.key, variant, metric.unit, was, is_now, None, was != is_now, outcome
        )
    if min(len(before), len(after)) < 2:
        # A single repeat says nothing of its spread; the one between machines is better than none.
        cv = max(cv, metric.between_instance_cv)
    first, other = (_interval(values, metric, cv) for values in (before, after))
    sign = 1 if metric.is_higher_better else -1
    limit_factor = 1 - sign * least_loss_ratio
    limit: Interval = (first[0] * limit_factor, first[1] * limit_factor, first[2] * limit_factor)
    is_apart = are_apart(first, other, count + 1)
    if is_apart and sign * (is_now - limit[0]) <= 0:
        outcome = RunChange.WORSE
    elif sign * (is_now - limit[0]) > 0 and are_apart(limit, other, 2):
        outcome = RunChange.FINE
    else:
        outcome = RunChange.UNCLEAR
    low, high = _change_ends(first, other, is_now / was)
    return MetricChange(
        metric.key,
        variant,
        metric.unit,
        was,
        is_now,
        is_now / was - 1,
        is_apart,
        outcome,
        low,
        high,
    )


def _change_ends(before: Interval, after: Interval, factor: float) -> tuple[float, float]:
    """Ends of the change: the logarithms of two independent figures differ with the root of the
    sum of their squared half widths."""
    half = hypot(*(log(high / low) / 2 for _, low, high in (before, after)))
    return factor * exp(-half) - 1, factor * exp(half) - 1


def _interval(values: Sequence[float], metric: Metric, cv: float) -> Interval:
    of = summary(
        {"machine": {"run": values}},
        between_instance_cv=cv,
        target_half_width_ratio=metric.target_half_width_ratio,
    )
    return of.value, of.ci95_low, of.ci95_high


def overall(changes: Iterable[MetricChange]) -> RunChange:
    """Worse where any metric is, else unclear where any is or none was compared."""
    outcomes = {change.outcome for change in changes}
    if RunChange.WORSE in outcomes:
        return RunChange.WORSE
    return RunChange.FINE if outcomes == {RunChange.FINE} else RunChange.UNCLEAR
