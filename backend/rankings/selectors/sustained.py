"""Scores that machines with CPU credits hold under load, by what the same processors do elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backend.catalog.models import VcpuKind
from backend.measure.metrics import CPU_METRICS
from backend.money.amounts import Flags, Floats, Ints, codes_of
from backend.rankings.calc.credit_columns import ratios_without_credits
from backend.rankings.selectors.coded import Coded
from backend.rankings.selectors.offer_table import OfferTable
from backend.rankings.selectors.score_table import ScoreTable

# Not a speed but the share of it that is left.
RATIO = "cmips_sustained_ratio"


def ratio_under_load(scores: ScoreTable) -> Floats:
    """By offer the share of its score that it holds under load in the mode "standard".

    1 without credits, and for metrics that credits do not slow.
    """
    offers, metric = scores.table, scores.metric
    ratios = np.ones(len(offers))
    baselines = offer_numbers(offers, "cpu_baseline_ratio")
    rows = np.flatnonzero(~np.isnan(baselines))
    if metric.key not in CPU_METRICS - {RATIO} or not metric.is_higher_better:
        return ratios
    vcpus = offer_numbers(offers, "vcpu_count")
    # The score of one thread is the same on any number of vCPUs.
    per_vcpu = scores.value if "single" in metric.key else scores.value / vcpus
    full_speed = _full_speed(scores, per_vcpu, rows)
    ratios[rows] = ratios_without_credits(
        scores.value[rows], vcpus[rows], baselines[rows], full_speed
    )
    return ratios


def mix_ratio_under_load(parts: Sequence[tuple[ScoreTable, float]]) -> Floats:
    """The same of a mix: each part is slowed before the mean; `parts` have their signed shares."""
    logs = [share * np.log(ratio_under_load(scores)) for scores, share in parts]
    ratios: Floats = np.exp(np.sum(logs, axis=0))
    return ratios


def offer_numbers(offers: OfferTable, field: str) -> Floats:
    """A field of numbers by offer; NaN is unknown."""
    column = offers.fields[field]
    values = [np.nan if value is None else float(value) for value in column.values]
    return np.array(values, np.float64)[column.codes] if values else np.zeros(0)


def _full_speed(scores: ScoreTable, per_vcpu: Floats, rows: Ints) -> Floats:
    """The score per vCPU of the same provider's fixed-performance types on the CPU model of each row.

    Without such types it is the best of the provider's burstable ones on that model, of which small
    ones are often measured when their credits were spent.
    """
    offers = scores.table
    kinds = offers.fields["vcpu_kind"]
    models = _models(scores)
    groups, _ = codes_of(offers.fields["provider"].codes, models)
    has_figure = ~np.isnan(per_vcpu) & (models >= 0)
    fixed = _by_group(
        groups, offers, per_vcpu, has_figure & kinds.meets(lambda kind: kind == VcpuKind.DEDICATED)
    )
    burst = _by_group(
        groups, offers, per_vcpu, has_figure & kinds.meets(lambda kind: kind == VcpuKind.BURSTABLE)
    )
    speeds = []
    for row in rows.tolist():
        group = int(groups[row])
        speed = np.nan
        if group in fixed:
            speed = float(np.median(fixed[group]))
        elif group in burst:
            speed = max(burst[group])
        speeds.append(speed)
    return np.array(speeds, np.float64)


def _by_group(
    groups: Ints, offers: OfferTable, figures: Floats, is_in: Flags
) -> Mapping[int, list[float]]:
    """Figures by group, each type once, in however many regions it is sold."""
    rows = np.flatnonzero(is_in)
    _, first = codes_of(groups[rows], offers.fields["name"].codes[rows])
    by_group: dict[int, list[float]] = {}
    for row in rows[first].tolist():
        by_group.setdefault(int(groups[row]), []).append(float(figures[row]))
    return by_group


def _models(scores: ScoreTable) -> Ints:
    """Numbers of the CPU model of each offer, −1 where none is known: the one behind most of its
    score, else the stated one."""
    numbers: dict[str, int] = {}

    def codes(column: Coded, model: Any) -> Ints:
        names = [model(value) for value in column.values]
        known = [numbers.setdefault(name, len(numbers)) if name else -1 for name in names]
        return np.array([*known, -1], np.int64)[column.codes]

    measured = codes(scores.cpu_models, _most_common)
    stated = codes(scores.table.fields["cpu_model"], str)
    return np.where(measured < 0, stated, measured)


def _most_common(models: tuple[tuple[str, int], ...] | None) -> str:
    return max(models, key=lambda pair: (pair[1], pair[0]))[0] if models else ""
