"""What the samples of an offer say of a metric: summary, provenance and flags."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from django.conf import settings

from backend.benchmarks.models import Sample, Source
from backend.domain import stats
from backend.domain.metrics import METRICS, Metric, between_instance_cv
from backend.domain.stats import Summary

SOURCE_ORDER = (Source.MEASURED, Source.IMPORTED, Source.PUBLISHED)
DISTURBED = "disturbed"
CACHED = "cached"
UNFIT = frozenset({DISTURBED, CACHED})
"""Samples with one of these are shown without a rank, and only where there are no others."""
FIELDS = (
    "offer_id",
    "metric",
    "offer__vcpu_kind",
    "offer__source",
    "host_id",
    "run_id",
    "evidence_id",
    "variant",
    "value",
    "flags",
    "source",
    "source_note",
    "published_sd_ratio",
    "published_count",
    "method_version",
    "measured_at",
)


@dataclass(frozen=True)
class Score:
    """One metric of one offer, from its best source and ranking variant."""

    metric: Metric
    summary: Summary
    variant: str
    is_unfit: bool
    """Whether every sample is disturbed or cached; such a score takes no place."""
    flags: tuple[str, ...]
    source: str
    measured_at: dt.datetime
    method_version: str
    result_url: str | None


def scores(metric: Metric) -> dict[UUID, Score]:
    """The score of every offer that has one for the metric, by offer id."""
    return dict(_scores(metric=metric.key))


def offer_scores(offer_id: UUID) -> list[Score]:
    """Every ranking metric of one offer, in the order of METRICS."""
    found = {score.metric.key: score for _, score in _scores(offer_id=offer_id)}
    return [found[key] for key in METRICS if key in found]


def _scores(**conditions: Any) -> Iterator[tuple[UUID, Score]]:
    samples = (
        Sample.objects.filter(excluded_reason="", value__gt=0, **conditions)
        .order_by("offer_id", "metric", "id")
        .values(*FIELDS)
    )
    for (offer_id, key), group in groupby(samples, lambda row: (row["offer_id"], row["metric"])):
        score = _score(METRICS[key], list(group)) if key in METRICS else None
        if score is not None:
            yield offer_id, score


def _score(metric: Metric, samples: list[Mapping[str, Any]]) -> Score | None:
    """Measured before imported before published, the canonical variant before its fallbacks."""
    for source in SOURCE_ORDER:
        for variant in metric.ranking_variants:
            chosen = [s for s in samples if s["source"] == source and s["variant"] == variant]
            if chosen:
                summarised = _published if source == Source.PUBLISHED else _measured
                return summarised(metric, chosen)
    return None


def _published(metric: Metric, samples: list[Mapping[str, Any]]) -> Score:
    newest = max(samples, key=lambda s: (s["measured_at"], s["published_count"] or 0))
    summary = stats.published_summary(
        newest["value"], newest["published_sd_ratio"], newest["published_count"]
    )
    return _told(metric, summary, [newest], is_unfit=False)


def _measured(metric: Metric, samples: list[Mapping[str, Any]]) -> Score:
    repeats: dict[str, list[tuple[float, bool]]] = {}
    for sample in samples:
        pair = sample["value"], not UNFIT.isdisjoint(sample["flags"])
        repeats.setdefault(str(sample["host_id"]), []).append(pair)
    kept, is_unfit = stats.kept_repeats(repeats)
    summary = stats.summary(
        kept,
        between_instance_cv=between_instance_cv(metric, samples[0]["offer__vcpu_kind"] or None),
        target_half_width_ratio=metric.target_half_width_ratio,
    )
    used = [s for s in samples if is_unfit or UNFIT.isdisjoint(s["flags"])]
    return _told(metric, summary, used, is_unfit=is_unfit)


def _told(
    metric: Metric, summary: Summary, used: list[Mapping[str, Any]], *, is_unfit: bool
) -> Score:
    newest = max(used, key=lambda s: s["measured_at"])
    return Score(
        metric=metric,
        summary=summary,
        variant=newest["variant"],
        is_unfit=is_unfit,
        flags=tuple(_flags(summary, used)),
        source=newest["source"],
        measured_at=newest["measured_at"],
        method_version=newest["method_version"],
        result_url=_result_url(newest),
    )


def _flags(summary: Summary, used: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    if any(DISTURBED in s["flags"] for s in used):
        yield DISTURBED
    if summary.is_unstable:
        yield "unstable"
    if any(CACHED in s["flags"] for s in used):
        yield CACHED
    if any(s["source"] == Source.IMPORTED for s in used):
        yield "imported"


def _result_url(sample: Mapping[str, Any]) -> str | None:
    """The run page, or the imported text, else the address that a published figure states."""
    site = settings.PUBLIC_URL.rstrip("/")
    if sample["run_id"]:
        return f"{site}/runs/{sample['run_id']}/#evidence"
    if sample["evidence_id"]:
        return f"{site}/evidence/{sample['evidence_id']}/"
    words = f"{sample['source_note']} {sample['offer__source']}".split()
    return next((w for w in words if w.startswith(("http://", "https://"))), None)
