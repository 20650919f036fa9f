"""How well the stated spread of a metric fits what was published and what was measured."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.calc import calibration
from backend.benchmarks.calc.calibration import Expected, LeftOut
from backend.benchmarks.models import Run, Sample, Source
from backend.benchmarks.selectors.samples import samples_visible
from backend.measure import stats
from backend.measure.metrics import Metric, between_instance_cv


@dataclass(frozen=True)
class PublishedSpread:
    """Machine types of one provider whose spread over many machines is published."""

    provider: str
    """Slug."""
    vcpu_kind: str
    """Empty where it is not stated."""
    stated_cv: float
    median_cv: float
    largest_cv: float
    expected: Expected
    repeated_count: int
    """Types of which the lowest and the highest of several runs are known."""
    contained_count: int
    """Offers whose runs all lie within the interval of the spread."""


@dataclass(frozen=True)
class MeasuredSpread:
    """Offers of one kind of vCPU of which several machines were measured here."""

    vcpu_kind: str
    stated_cv: float
    left_out: LeftOut


def spreads_of_sources(metric: Metric) -> list[PublishedSpread]:
    """By provider and kind of vCPU. One type counts once, in however many regions it is sold."""
    rows = (
        Sample.objects.filter(
            metric=metric.key,
            variant__in=metric.ranking_variants,
            source=Source.PUBLISHED,
            excluded_reason="",
        )
        .order_by()
        .values_list(
            "offer__provider__slug",
            "offer__vcpu_kind",
            "offer__kind",
            "offer__name",
            "published_sd_ratio",
            "published_count",
            "value",
            "published_low",
            "published_high",
        )
        .distinct()
    )
    spreads: dict[tuple[str, str, float], list[_PublishedRuns]] = defaultdict(list)
    for provider, vcpu_kind, kind, _, ratio, count, value, low, high in rows:
        if ratio:  # not every source states a spread
            runs = _PublishedRuns(ratio, count or 0, value, low, high)
            stated_cv = between_instance_cv(metric, vcpu_kind, kind)
            spreads[provider, vcpu_kind, stated_cv].append(runs)
    lines = []
    for (provider, vcpu_kind, stated_cv), types in sorted(spreads.items()):
        ratios = [runs.sd_ratio for runs in types]
        repeated = [runs for runs in types if runs.are_repeated]
        lines.append(
            PublishedSpread(
                provider,
                vcpu_kind,
                stated_cv,
                median(ratios),
                max(ratios),
                calibration.expected_coverage(ratios, stated_cv),
                len(repeated),
                sum(runs.are_contained for runs in repeated),
            )
        )
    return lines


class _PublishedRuns(NamedTuple):
    sd_ratio: float
    run_count: int
    value: float
    low: float | None
    high: float | None

    @property
    def are_repeated(self) -> bool:
        return self.run_count > 1 and None not in (self.low, self.high)

    @property
    def are_contained(self) -> bool:
        interval = stats.interval_of_source(self.value, self.sd_ratio, self.sd_ratio)
        return interval.low <= (self.low or 0) and (self.high or 0) <= interval.high


def spreads_of_machines(metric: Metric) -> list[MeasuredSpread]:
    """By kind of vCPU, of the offers with at least two machines that were measured alike."""
    workspace = default_workspace()
    # First which offers have several machines at all: most samples are of offers that have one.
    hosts = Run.objects.filter(workspace=workspace).order_by().values("offer")
    several = hosts.annotate(hosts=Count("host", distinct=True)).filter(hosts__gt=1)
    samples = (
        samples_visible(workspace)
        .filter(
            offer_id__in=list(several.values_list("offer", flat=True)),
            metric=metric.key,
            variant=metric.canonical_variant,
            source=Source.MEASURED,
            host__isnull=False,
            value__gt=0,
        )
        .order_by("offer_id", "method_version")
        .values(
            "offer_id",
            "offer__vcpu_kind",
            "offer__kind",
            "method_version",
            "host_id",
            "value",
            "flags",
            "excluded_reason",
        )
    )
    offers: dict[tuple[str, float], list[Mapping[str, Sequence[float]]]] = defaultdict(list)
    # Another version is another method: its difference must not count as one between machines.
    for _, group in groupby(samples, itemgetter("offer_id", "method_version")):
        alike = list(group)
        machines = _machines(alike)
        if len(machines) > 1:
            vcpu_kind = alike[0]["offer__vcpu_kind"]
            stated_cv = between_instance_cv(metric, vcpu_kind, alike[0]["offer__kind"])
            offers[vcpu_kind, stated_cv].append(machines)
    lines = []
    for (vcpu_kind, stated_cv), of in sorted(offers.items()):
        counted = calibration.left_out(
            of,
            between_instance_cv=stated_cv,
            target_half_width_ratio=metric.target_half_width_ratio,
        )
        lines.append(MeasuredSpread(vcpu_kind, stated_cv, counted))
    return lines


def _machines(samples: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Values by machine; a machine whose every repeat was disturbed says nothing here."""
    machines: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        if not sample["excluded_reason"] and stats.UNFIT.isdisjoint(sample["flags"]):
            machines[str(sample["host_id"])].append(sample["value"])
    return dict(machines)
