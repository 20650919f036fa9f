"""An offer's score for a metric from its samples: summary, provenance and flags."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from backend.benchmarks.calc.alike import AlikeSamples, Origin, alike
from backend.benchmarks.calc.regression import HARDWARE
from backend.benchmarks.calc.targets import is_sold_volume
from backend.benchmarks.models import Sample, Source
from backend.benchmarks.selectors.samples import BY_OWNER, of_offer
from backend.catalog.models import Offer
from backend.measure import stats
from backend.measure.metrics import METRICS, Metric, between_instance_cv
from backend.measure.readers.disk_files import SMALL_FILE
from backend.measure.readers.memory import SMALL_PAGES
from backend.measure.repeats import MACHINE_FLAGS
from backend.measure.stats import DISTURBED, Summary

# Flag of a figure that is published for a part of the machine and not for the offer.
DERIVED = "derived"
# Flag of a published figure far from those of other types on the same CPU.
UNLIKE_PEERS = "unlike_peers"
# What we measured ourselves, with its raw output, before what others state.
SOURCE_ORDER = (Source.MEASURED, Source.IMPORTED, Source.PUBLISHED)
READ = (
    "id",
    "offer_id",
    "metric",
    "offer__kind",
    "offer__vcpu_kind",
    "offer__source",
    "offer__figures_of",
    "host_id",
    "run_id",
    "run__environment",
    "evidence_id",
    "variant",
    "value",
    "flags",
    "excluded_reason",
    "source",
    "source_note",
    "published_sd_ratio",
    "published_count",
    "published_low",
    "published_high",
    "licence",
    "parameters__cpu_models",
    "parameters__stored_on",
    "parameters__root_on",
    "method_version",
    "target",
    "measured_at",
)
# A sample with the fields READ.
Row = Mapping[str, Any]
# Flags of samples that a score repeats, and that keep it from no rank.
NOTED = (MACHINE_FLAGS - stats.UNFIT) | {
    SMALL_PAGES, SMALL_FILE, UNLIKE_PEERS, stats.OTHER_METHOD,
}  # fmt: skip
# What says whether a repeat counts (measure.stats.counted_repeats).
MARKS = itemgetter("flags", "excluded_reason")
SAME_ORIGIN = itemgetter("run_id", "host_id", "method_version", "target")
# Samples of others never make a score; an import has two of them for one of these.
RANKING_VARIANTS = frozenset(
    variant for metric in METRICS.values() for variant in metric.ranking_variants
)
COUNTED = {"excluded_reason": "", "value__gt": 0, "variant__in": RANKING_VARIANTS}


@dataclass(frozen=True)
class Score:
    """A metric of one offer, from its best source and ranking variant."""

    metric: Metric
    summary: Summary
    variant: str
    is_unfit: bool
    """True if every sample has a flag of stats.UNFIT; such a score takes no place."""
    cpu_models: Mapping[str, int]
    """CPU model → machines of it behind the score, of a published figure its results; those that
    state none are left out."""
    flags: tuple[str, ...]
    source: str
    measured_at: dt.datetime
    method_version: str
    target: str
    licence: str
    result_url: str | None

    @property
    def variant_on_target(self) -> str:
        """The variant with the volume or the other end that the score is of."""
        return f"{self.variant} {self.target}".strip()


def compute_scores(**conditions: Any) -> Iterator[tuple[UUID, Score]]:
    """Offer and score of every metric that ranks, from the samples that meet the conditions.

    The conditions keep or leave out whole metrics of whole offers, or what is newer than a time.
    """
    scored = set()
    leads: dict[UUID, UUID | None] = {}
    for offer_id, key, samples in _samples(**conditions):
        leads[offer_id] = samples[0]["offer__figures_of"]
        for score in _ranking_score(key, samples):
            scored.add((offer_id, key))
            yield offer_id, score
    asked = conditions.get("offer_id__in")
    if asked is not None and all(leads.get(offer_id, offer_id) is None for offer_id in asked):
        # All of them were met, and none is a twin.
        return
    of = {name: value for name, value in conditions.items() if name.startswith("offer_id")}
    others = {name: value for name, value in conditions.items() if name not in of}
    twins = Offer.objects.filter(
        figures_of__isnull=False, **{name.replace("offer_id", "pk"): of[name] for name in of}
    )
    by_lead: dict[UUID | None, list[UUID]] = {}
    for lead, twin in twins.order_by().values_list("figures_of", "pk"):
        by_lead.setdefault(lead, []).append(twin)
    for lead, key, samples in _samples(
        source=Source.PUBLISHED, offer_id__in=list(by_lead), **others
    ):
        for score in _ranking_score(key, samples):
            yield from ((twin, score) for twin in by_lead[lead] if (twin, key) not in scored)


def _ranking_score(key: str, samples: list[Row]) -> Iterator[Score]:
    """The score that ranks, if any."""
    metric = METRICS[key]
    # The others are another method, other hardware or another target: not the same quantity.
    for group in _groups(metric, samples)[:1]:
        if _is_sold(group):
            yield _score(metric, group)


def score_groups(offer_id: UUID, **conditions: Any) -> dict[str, list[Score]]:
    """Metric → a score of each group of alike samples of the offer, the newest first; the
    conditions leave out what is newer than a time."""
    return {
        key: [_score(METRICS[key], group) for group in _groups(METRICS[key], samples)]
        for key, samples in _samples_of(offer_id, **conditions).items()
    }


def metrics_of_many_methods(offer_id: UUID) -> set[str]:
    """Metrics of which the offer has samples of several methods, targets or kinds of hardware: no
    other has a second group. Within the database, as a machine of years has tens of thousands of samples."""
    hardware = (f"run__environment__{name}" for name in HARDWARE)
    origins = Sample.objects.filter(
        BY_OWNER, **COUNTED, offer_id=offer_id, source__in=(Source.MEASURED, Source.IMPORTED)
    )
    rows = (
        origins.order_by()
        .values_list("metric", "variant", "source", "method_version", "target", *hardware)
        .distinct()
    )
    counts = Counter((metric, variant, source) for metric, variant, source, *_ in rows)
    return {metric for (metric, _, _), count in counts.items() if count > 1}


@dataclass(frozen=True)
class ScoreOrigin:
    """The samples behind an offer's score."""

    score: Score
    stated_cv: float
    interval: stats.ScoreInterval
    machines: Mapping[str, stats.Machine]
    """Host → run → values; empty of a published figure."""
    pooled: frozenset[int]
    """Keys of the samples behind the score."""
    earlier: frozenset[int]
    """Keys of those of an older method, of other hardware or of another target."""


def score_origin(offer_id: UUID, metric: Metric) -> ScoreOrigin | None:
    """The samples behind the offer's score for the metric; None where it has none."""
    samples = _samples_of(offer_id, metric=metric.key).get(metric.key, [])
    groups = _groups(metric, samples)
    return _origin_of_score(metric, groups[0], groups[1:]) if groups else None


def _origin_of_score(
    metric: Metric, newest: AlikeSamples[Row], older: list[AlikeSamples[Row]]
) -> ScoreOrigin:
    counted, _ = stats.repeats_that_count(newest.samples, MARKS)
    first, stated_cv = counted[0], _cv_between_machines(metric, counted[0])
    if first["source"] == Source.PUBLISHED:
        machines: dict[str, stats.Machine] = {}
        interval = stats.interval_of_source(
            first["value"], first["published_sd_ratio"], stated_cv, _source_interval(first)
        )
    else:
        machines = _machines(counted)
        interval = stats.machines_interval(machines, stated_cv, _method_ratio(counted))
    return ScoreOrigin(
        score=_score(metric, newest),
        stated_cv=stated_cv,
        interval=interval,
        machines=machines,
        pooled=frozenset(sample["id"] for sample in counted),
        earlier=frozenset(sample["id"] for group in older for sample in group.samples),
    )


def _samples_of(offer_id: UUID, **conditions: Any) -> Mapping[str, list[Row]]:
    """Metric → samples of one offer, with the published ones of its machine type."""
    by_metric: dict[str, list[Row]] = {}
    for _, key, samples in _samples(of_offer(offer_id), **conditions):
        by_metric.setdefault(key, []).extend(samples)
    return by_metric


def _samples(*which: Q, **conditions: Any) -> Iterator[tuple[UUID, str, list[Row]]]:
    samples = (
        Sample.objects.filter(BY_OWNER, *which, **COUNTED, **conditions)
        .order_by("offer_id", "metric", "id")
        .values(*READ)
        .iterator()
    )
    for (offer_id, key), group in groupby(samples, lambda row: (row["offer_id"], row["metric"])):
        if key in METRICS:
            yield offer_id, key, list(group)


def _groups(metric: Metric, samples: list[Row]) -> list[AlikeSamples[Row]]:
    """Alike samples of the best source and variant, the newest group first: it is the one that
    ranks, where it is of the volume that the offer sells. Measured before imported before
    published, the canonical variant before its fallbacks; groups of other volumes come last."""
    beside: list[AlikeSamples[Row]] = []
    for source in SOURCE_ORDER:
        for variant in metric.ranking_variants:
            chosen = [s for s in samples if s["source"] == source and s["variant"] == variant]
            if chosen and source == Source.PUBLISHED:
                newest = max(chosen, key=lambda s: (s["measured_at"], s["published_count"] or 0))
                return [AlikeSamples(newest["method_version"], samples=[newest]), *beside]
            chosen.sort(key=itemgetter("measured_at"), reverse=True)
            groups = alike(chosen, SAME_ORIGIN, _origin)
            beside = [*(group for group in groups if not _is_sold(group)), *beside]
            if sold := list(filter(_is_sold, groups)):
                return [*sold, *beside]
    return beside


def _is_sold(group: AlikeSamples[Row]) -> bool:
    first = group.samples[0]
    return is_sold_volume(first["parameters__stored_on"], first["parameters__root_on"])


def _origin(sample: Row) -> Origin:
    environment = sample["run__environment"] or {}
    return Origin(sample["method_version"], str(sample["host_id"]), environment, sample["target"])


def _score(metric: Metric, group: AlikeSamples[Row]) -> Score:
    counted, is_unfit = stats.repeats_that_count(group.samples, MARKS)
    first, stated_cv = counted[0], _cv_between_machines(metric, counted[0])
    if first["source"] == Source.PUBLISHED:
        summary = stats.summary_of_source(
            first["value"],
            first["published_sd_ratio"],
            first["published_count"],
            between_instance_cv=stated_cv,
            seen=_source_interval(first),
        )
        models = first["parameters__cpu_models"] or {}
        return _score_of(metric, summary, counted, is_unfit=is_unfit, cpu_models=models)
    machines = _machines(counted)
    summary = stats.summary(
        machines,
        between_instance_cv=stated_cv,
        target_half_width_ratio=metric.target_half_width_ratio,
        method_ratio=_method_ratio(counted),
    )
    models = Counter(group.cpu_models[host] for host in machines)
    # Nobody knows that machines are alike of which one does not state its model.
    is_unknown = len(machines) > 1 and models.pop("", 0) > 0
    models.pop("", None)
    return _score_of(
        metric,
        summary,
        counted,
        is_unfit=is_unfit,
        is_unknown=is_unknown,
        cpu_models=dict(models),
    )


def _source_interval(sample: Row) -> tuple[float, float] | None:
    low, high = sample["published_low"], sample["published_high"]
    return None if low is None or high is None else (low, high)


def _machines(counted: Iterable[Row]) -> dict[str, stats.Machine]:
    """Host → run → values."""
    machines: dict[str, dict[str, list[float]]] = {}
    for sample in counted:
        # What has no run was imported: a day of theirs stands for it.
        run = str(sample["run_id"] or sample["measured_at"].date())
        runs = machines.setdefault(str(sample["host_id"]), {})
        runs.setdefault(run, []).append(sample["value"])
    return dict(machines)


def _cv_between_machines(metric: Metric, sample: Row) -> float:
    return between_instance_cv(metric, sample["offer__vcpu_kind"], sample["offer__kind"])


def _method_ratio(counted: Iterable[Row]) -> float:
    """The assumed difference between our method and that of the published figures (ratio)."""
    is_other = any(stats.OTHER_METHOD in sample["flags"] for sample in counted)
    return stats.OTHER_METHOD_RATIO if is_other else 0.0


def _score_of(
    metric: Metric,
    summary: Summary,
    used: list[Row],
    *,
    is_unfit: bool,
    is_unknown: bool = False,
    cpu_models: Mapping[str, int],
) -> Score:
    newest = max(used, key=lambda s: s["measured_at"])
    return Score(
        metric=metric,
        summary=summary,
        variant=newest["variant"],
        is_unfit=is_unfit,
        cpu_models=cpu_models,
        flags=tuple(_flags(summary, used, cpu_models, is_unknown=is_unknown)),
        source=newest["source"],
        measured_at=newest["measured_at"],
        method_version=newest["method_version"],
        target=newest["target"],
        licence=newest["licence"],
        result_url=_result_url(newest),
    )


def _flags(
    summary: Summary, used: Iterable[Row], cpu_models: Mapping[str, int], *, is_unknown: bool
) -> Iterator[str]:
    stated = {flag for s in used for flag in s["flags"]}
    if DISTURBED in stated:
        yield DISTURBED
    if summary.is_unstable:
        yield "unstable"
    if len(cpu_models) > 1:
        yield "mixed_hardware"
    if is_unknown:
        yield "unknown_hardware"
    yield from sorted(stats.UNFIT & stated - {DISTURBED})
    yield from sorted(NOTED & stated)
    if DERIVED in stated:
        yield DERIVED
    if any(s["source"] == Source.IMPORTED for s in used):
        yield "imported"


def _result_url(sample: Row) -> str | None:
    """The run page, or the imported text, else the address that a published figure states."""
    site = site_url()
    if sample["run_id"]:
        return f"{site}/runs/{sample['run_id']}/#evidence"
    if sample["evidence_id"]:
        return f"{site}/evidence/{sample['evidence_id']}/"
    words = f"{sample['source_note']} {sample['offer__source']}".split()
    return next((w for w in words if w.startswith(("http://", "https://"))), None)


def site_url() -> str:
    return str(settings.PUBLIC_URL).rstrip("/")
