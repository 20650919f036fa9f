"""What the samples of an offer say of a metric: summary, provenance and flags; stored ready.

`computed` makes scores from the samples, `summaries_refresh` stores them for what changed (see
catalog.stored), `stored` reads what it stored.
"""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from backend.benchmarks.models import Sample, Source, StoredSummary
from backend.benchmarks.selectors.samples import BY_OWNER
from backend.catalog.selectors.current_prices import CHUNK
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.services.current_prices import MANY, SUMMARIES, marks_taken
from backend.common.statistics import tables_analyze
from backend.domain import stats
from backend.domain.alike import AlikeSamples, Origin, alike
from backend.domain.metrics import METRICS, Metric, between_instance_cv
from backend.domain.parsing.memory import SMALL_PAGES
from backend.domain.repeats import RENTED_FLAGS
from backend.domain.stats import DISTURBED, IntervalBasis, Summary

# To be counted up with what a summary says of the same samples; older ones are made anew.
FORMULAS = 5
DERIVED = "derived"
"""Flag of a figure that is published for a part of the machine and not for the offer."""
OFFERS_AT_ONCE = 500
BATCH = 10_000
# What we measured ourselves, with its raw output, before what others state.
SOURCE_ORDER = (Source.MEASURED, Source.IMPORTED, Source.PUBLISHED)
READ = (
    "id",
    "offer_id",
    "metric",
    "offer__kind",
    "offer__vcpu_kind",
    "offer__source",
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
    "method_version",
    "measured_at",
)
Row = Mapping[str, Any]
"""A sample with the fields READ."""
NOTED = RENTED_FLAGS | {SMALL_PAGES}
"""Flags of samples that a score repeats, and that keep it from no rank."""
MARKS = itemgetter("flags", "excluded_reason")
"""What says whether a repeat counts (domain.stats.counted_repeats)."""
# Samples of others never make a score; an import has two of them for one of these.
RANKING_VARIANTS = frozenset(
    variant for metric in METRICS.values() for variant in metric.ranking_variants
)
SUMMARY = ("value", "ci95_low", "ci95_high", "n_instances", "n_repeats")
"""Fields of Summary that are columns of the same name."""
SAME = (
    "variant",
    "is_unfit",
    "source",
    "measured_at",
    "method_version",
    "licence",
    "cpu_models",
)
"""Fields of Score that are columns of the same name."""
STORED = (*SUMMARY, *SAME, "interval_basis", "is_unstable", "flags", "result")


@dataclass(frozen=True)
class Score:
    """One metric of one offer, from its best source and ranking variant."""

    metric: Metric
    summary: Summary
    variant: str
    is_unfit: bool
    """Whether every sample has a flag of stats.UNFIT; such a score takes no place."""
    cpu_models: Mapping[str, int]
    """CPU model → machines of it behind the score, of a published figure its results; those that
    state none are left out."""
    flags: tuple[str, ...]
    source: str
    measured_at: dt.datetime
    method_version: str
    licence: str
    result_url: str | None


# --- what is stored ---------------------------------------------------------------------------


def stored(**conditions: Any) -> Iterator[tuple[UUID, Score]]:
    """Offer and score of every stored summary that meets the conditions."""
    site = _site()
    rows = StoredSummary.objects.filter(**conditions).order_by()
    for row in rows.values("offer_id", "metric", *STORED).iterator(CHUNK):
        figures = {name: row[name] for name in SUMMARY}
        basis = IntervalBasis(row["interval_basis"])
        result = row["result"]
        score = Score(
            metric=METRICS[row["metric"]],
            summary=Summary(**figures, interval_basis=basis, is_unstable=row["is_unstable"]),
            flags=tuple(row["flags"]),
            result_url=site + result if result.startswith("/") else result or None,
            **{name: row[name] for name in SAME},
        )
        yield row["offer_id"], score


def is_pending(stamp: DataStamp) -> bool:
    """Whether stored summaries may be older than the samples."""
    return bool(stamp.mark) or stamp.summaries < FORMULAS


def summaries_refresh() -> None:
    """Make the summaries of the marked offers and metrics anew from their samples."""
    with transaction.atomic(savepoint=False):
        marks = marks_taken(SUMMARIES, FORMULAS)
        if any(offer is None for offer, _ in marks):
            StoredSummary.objects.all().delete()
            sampled = Sample.objects.order_by().values_list("offer_id", flat=True).distinct()
            # In parts: the samples of all offers at once take gigabytes.
            for chunk in _chunks(list(sampled)):
                _store(computed(offer_id__in=chunk))
            tables_analyze(StoredSummary)
            return
        metrics: dict[UUID, set[str]] = {}
        for offer, metric in marks:
            if offer is not None:
                metrics.setdefault(offer, set()).add(metric)
        for chunk in _chunks(list(metrics)):
            _refresh({offer: metrics[offer] for offer in chunk})
        if len(marks) >= MANY:
            tables_analyze(StoredSummary)


def _chunks(offers: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    return (offers[n : n + OFFERS_AT_ONCE] for n in range(0, len(offers), OFFERS_AT_ONCE))


def _refresh(marked: Mapping[UUID, set[str]]) -> None:
    """All metrics marked, of all offers marked: those made anew without need stay as they are."""
    metrics = set().union(*marked.values())
    scores = list(computed(offer_id__in=list(marked), metric__in=list(metrics)))
    known = {(offer, score.metric.key) for offer, score in scores}
    gone = {(o, metric) for o, of in marked.items() for metric in of if (o, metric) not in known}
    if gone:
        offers, keys = {offer for offer, _ in gone}, {metric for _, metric in gone}
        StoredSummary.objects.filter(offer_id__in=offers, metric__in=keys).delete()
    _store(scores)


COLUMNS = ", ".join(("offer_id", "metric", *STORED))
KEEP = f"""
INSERT INTO benchmarks_storedsummary ({COLUMNS})
SELECT {COLUMNS} FROM json_populate_recordset(NULL::benchmarks_storedsummary, %s)
ON CONFLICT (metric, offer_id) DO UPDATE
SET {", ".join(f"{name} = EXCLUDED.{name}" for name in STORED)}
"""  # noqa: S608 - names of our own columns only


def _store(scores: Iterable[tuple[UUID, Score]]) -> None:
    """As one document: an import marks hundreds of thousands, and objects would take minutes."""
    site = _site()
    rows = (_row(offer, score, site) for offer, score in scores)
    while batch := list(islice(rows, BATCH)):
        with connection.cursor() as cursor:
            cursor.execute(KEEP, [json.dumps(batch, default=str)])


def _row(offer: UUID, score: Score, site: str) -> dict[str, Any]:
    return {
        "offer_id": offer,
        "metric": score.metric.key,
        "interval_basis": score.summary.interval_basis,
        "is_unstable": score.summary.is_unstable,
        "flags": score.flags,
        "result": (score.result_url or "").removeprefix(site),
        **{name: getattr(score.summary, name) for name in SUMMARY},
        **{name: getattr(score, name) for name in SAME},
    }


# --- from the samples -------------------------------------------------------------------------


def computed(**conditions: Any) -> Iterator[tuple[UUID, Score]]:
    """Offer and score of every metric that ranks, from the samples that meet the conditions.

    The conditions keep or leave out whole metrics of whole offers, or what is newer than a time.
    """
    for offer_id, key, samples in _samples(**conditions):
        metric = METRICS[key]
        # Older groups are history: another method or other hardware is not the same quantity.
        for group in _groups(metric, samples)[:1]:
            yield offer_id, _score(metric, group)


def score_groups(offer_id: UUID, **conditions: Any) -> dict[str, list[Score]]:
    """Metric → a score of each group of alike samples of the offer, the newest first; the
    conditions leave out what is newer than a time."""
    return {
        key: [_score(METRICS[key], group) for group in _groups(METRICS[key], samples)]
        for _, key, samples in _samples(offer_id=offer_id, **conditions)
    }


@dataclass(frozen=True)
class ScoreOrigin:
    """What the score of an offer is made of."""

    score: Score
    stated_cv: float
    interval: stats.ScoreInterval
    machines: Mapping[str, stats.Machine]
    """Host → run → values; empty of a published figure."""
    pooled: frozenset[int]
    """Keys of the samples behind the score."""
    earlier: frozenset[int]
    """Keys of those of an older method or of other hardware."""


def score_origin(offer_id: UUID, metric: Metric) -> ScoreOrigin | None:
    """What the offer's score for the metric is made of; None where it has none."""
    for _, _, samples in _samples(offer_id=offer_id, metric=metric.key):
        groups = _groups(metric, samples)
        if groups:
            return _origin_of_score(metric, groups[0], groups[1:])
    return None


def _origin_of_score(
    metric: Metric, newest: AlikeSamples[Row], older: list[AlikeSamples[Row]]
) -> ScoreOrigin:
    counted, _ = stats.counted_repeats(newest.samples, MARKS)
    first, stated_cv = counted[0], _stated_cv(metric, counted[0])
    if first["source"] == Source.PUBLISHED:
        machines: dict[str, stats.Machine] = {}
        interval = stats.published_interval(
            first["value"], first["published_sd_ratio"], stated_cv, _seen(first)
        )
    else:
        machines = _machines(counted)
        interval = stats.machines_interval(machines, stated_cv)
    return ScoreOrigin(
        score=_score(metric, newest),
        stated_cv=stated_cv,
        interval=interval,
        machines=machines,
        pooled=frozenset(sample["id"] for sample in counted),
        earlier=frozenset(sample["id"] for group in older for sample in group.samples),
    )


def _samples(**conditions: Any) -> Iterator[tuple[UUID, str, list[Row]]]:
    counted = {"excluded_reason": "", "value__gt": 0, "variant__in": RANKING_VARIANTS}
    samples = (
        Sample.objects.filter(BY_OWNER, **counted, **conditions)
        .order_by("offer_id", "metric", "id")
        .values(*READ)
        .iterator()
    )
    for (offer_id, key), group in groupby(samples, lambda row: (row["offer_id"], row["metric"])):
        if key in METRICS:
            yield offer_id, key, list(group)


def _groups(metric: Metric, samples: list[Row]) -> list[AlikeSamples[Row]]:
    """Of the best source and variant, the newest group of alike samples first: it is the one that
    ranks. Measured before imported before published, the canonical variant before its fallbacks."""
    for source in SOURCE_ORDER:
        for variant in metric.ranking_variants:
            chosen = [s for s in samples if s["source"] == source and s["variant"] == variant]
            if chosen and source == Source.PUBLISHED:
                newest = max(chosen, key=lambda s: (s["measured_at"], s["published_count"] or 0))
                return [AlikeSamples(newest["method_version"], samples=[newest])]
            if chosen:
                chosen.sort(key=itemgetter("measured_at"), reverse=True)
                return alike(chosen, _origin)
    return []


def _origin(sample: Row) -> Origin:
    environment = sample["run__environment"] or {}
    return Origin(sample["method_version"], str(sample["host_id"]), environment)


def _score(metric: Metric, group: AlikeSamples[Row]) -> Score:
    counted, is_unfit = stats.counted_repeats(group.samples, MARKS)
    first, stated_cv = counted[0], _stated_cv(metric, counted[0])
    if first["source"] == Source.PUBLISHED:
        summary = stats.published_summary(
            first["value"],
            first["published_sd_ratio"],
            first["published_count"],
            between_instance_cv=stated_cv,
            seen=_seen(first),
        )
        models = first["parameters__cpu_models"] or {}
        return _score_of(metric, summary, counted, is_unfit=is_unfit, cpu_models=models)
    machines = _machines(counted)
    summary = stats.summary(
        machines,
        between_instance_cv=stated_cv,
        target_half_width_ratio=metric.target_half_width_ratio,
    )
    models = Counter(group.cpu_models[host] for host in machines if group.cpu_models[host])
    return _score_of(metric, summary, counted, is_unfit=is_unfit, cpu_models=dict(models))


def _seen(sample: Row) -> tuple[float, float] | None:
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


def _stated_cv(metric: Metric, sample: Row) -> float:
    return between_instance_cv(metric, sample["offer__vcpu_kind"], sample["offer__kind"])


def _score_of(
    metric: Metric,
    summary: Summary,
    used: list[Row],
    *,
    is_unfit: bool,
    cpu_models: Mapping[str, int],
) -> Score:
    newest = max(used, key=lambda s: s["measured_at"])
    return Score(
        metric=metric,
        summary=summary,
        variant=newest["variant"],
        is_unfit=is_unfit,
        cpu_models=cpu_models,
        flags=tuple(_flags(summary, used, cpu_models)),
        source=newest["source"],
        measured_at=newest["measured_at"],
        method_version=newest["method_version"],
        licence=newest["licence"],
        result_url=_result_url(newest),
    )


def _flags(summary: Summary, used: Iterable[Row], cpu_models: Mapping[str, int]) -> Iterator[str]:
    stated = {flag for s in used for flag in s["flags"]}
    if DISTURBED in stated:
        yield DISTURBED
    if summary.is_unstable:
        yield "unstable"
    if len(cpu_models) > 1:
        yield "mixed_hardware"
    yield from sorted(stats.UNFIT & stated - {DISTURBED})
    yield from sorted(NOTED & stated)
    if DERIVED in stated:
        yield DERIVED
    if any(s["source"] == Source.IMPORTED for s in used):
        yield "imported"


def _result_url(sample: Row) -> str | None:
    """The run page, or the imported text, else the address that a published figure states."""
    site = _site()
    if sample["run_id"]:
        return f"{site}/runs/{sample['run_id']}/#evidence"
    if sample["evidence_id"]:
        return f"{site}/evidence/{sample['evidence_id']}/"
    words = f"{sample['source_note']} {sample['offer__source']}".split()
    return next((w for w in words if w.startswith(("http://", "https://"))), None)


def _site() -> str:
    return str(settings.PUBLIC_URL).rstrip("/")
