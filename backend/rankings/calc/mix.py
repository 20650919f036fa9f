"""Several metrics of one offer in one score: a weighted geometric mean of ratios to a baseline.

    score = exp( Σ wᵢ/W · sᵢ · ln(xᵢ / bᵢ) ),  sᵢ = +1 where higher is better, −1 where lower is

The baseline only sets the scale: it scores 1, and no order depends on it.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from backend.foundation.errors import InvalidValue
from backend.foundation.texts import text as _
from backend.measure.metrics import CPU_CV, CPU_TARGET, Metric, resource
from backend.measure.stats import IntervalBasis, Summary

# What a ranking by weights ranks by; it is no metric of METRICS, and no sample is of it.
MIX = Metric(
    key="mix",
    label=_("Mix of several metrics"),
    unit=_("ratio"),
    better="higher",
    definition=_(
        "Weighted geometric mean of the ratios to a baseline offer; where lower is better "
        "the ratio is turned over."
    ),
    method=_("Computed from the scores of the metrics named by the weights."),
    limits=_(
        "The weights are the reader's. Errors of metrics of one resource (CPU, memory, disk, "
        "network) are taken as one, those of different resources as independent, and the baseline as "
        "exact."
    ),
    canonical_variant=None,
    fallback_variants=(),
    between_instance_cv=CPU_CV,
    target_half_width_ratio=CPU_TARGET,
)


@dataclass(frozen=True)
class MixPart:
    """A metric of a mix and its weight, above zero."""

    metric: Metric
    weight: Decimal


def mix_log(parts: Sequence[MixPart], values: Sequence[float]) -> float:
    """Σ wᵢ/W · sᵢ · ln xᵢ: the logarithm of a score whose baseline is 1 in every metric.

    Values are in the order of the parts. Raises InvalidValue for no part, a weight or a value that
    is not above zero.
    """
    return math.fsum(
        share * math.log(_check_weight(value))
        for share, value in zip(mix_shares(parts), values, strict=True)
    )


def mix_summary(
    parts: Sequence[MixPart], summaries: Sequence[Summary], baseline_log: float
) -> Summary:
    """The mix of an offer relative to a baseline, whose `mix_log` is given.

    Weighted half-widths are combined on the logarithm, up and down apart: added within a resource,
    since one machine's clock or neighbours move all that is measured of it, and as the root of the
    sum of squares over resources.
    The counts are the smallest of the metrics, None where one is not known.
    """
    log = mix_log(parts, [summary.value for summary in summaries])
    low, high = _half_widths(parts, summaries)
    return Summary(
        value=math.exp(log - baseline_log),
        ci95_low=math.exp(log - baseline_log - low),
        ci95_high=math.exp(log - baseline_log + high),
        n_instances=_least_if_all_known([summary.n_instances for summary in summaries]),
        n_repeats=_least_if_all_known([summary.n_repeats for summary in summaries]),
        interval_basis=IntervalBasis.COMBINED,
        is_unstable=any(summary.is_unstable for summary in summaries),
    )


def mix_shares(parts: Sequence[MixPart]) -> list[float]:
    """Signed shares of the weights: their absolute values add up to 1."""
    if not parts or not all(part.weight > 0 for part in parts):
        raise InvalidValue("weights", "one or more weights above zero are needed")
    total = sum(part.weight for part in parts)
    return [
        float(part.weight / total) * (1 if part.metric.is_higher_better else -1) for part in parts
    ]


def _check_weight(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise InvalidValue("value", f"{value} is not a finite number above zero")
    return value


def _half_widths(parts: Sequence[MixPart], summaries: Sequence[Summary]) -> tuple[float, float]:
    """Half-widths of the logarithm, down and up."""
    down: defaultdict[str, float] = defaultdict(float)
    up: defaultdict[str, float] = defaultdict(float)
    for part, share, summary in zip(parts, mix_shares(parts), summaries, strict=True):
        below = abs(share) * math.log(summary.value / _check_weight(summary.ci95_low))
        above = abs(share) * math.log(summary.ci95_high / summary.value)
        # Where lower is better, a low value is the good end.
        down[resource(part.metric)] += below if share > 0 else above
        up[resource(part.metric)] += above if share > 0 else below
    return math.hypot(*down.values()), math.hypot(*up.values())


def _least_if_all_known(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return min(known) if len(known) == len(counts) else None
