"""A metric's results over time: the runs of one machine or offer with the band of their past."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import median
from typing import Any
from uuid import UUID

from django.db.models import Count

from backend.benchmarks.calc.regression import (
    HARDWARE,
    SOFTWARE,
    Band,
    Departure,
    band,
    changes,
    departure,
    is_same_hardware,
)
from backend.benchmarks.models import Host, Run, RunState, Sample, Source
from backend.benchmarks.selectors.scores import RANKING_VARIANTS
from backend.catalog.models import Offer
from backend.foundation import figures
from backend.measure.drift import Trend, trend
from backend.measure.metrics import METRICS, Metric
from backend.measure.stats import repeats_that_count

# The newest of the comparable runs make the band.
COMPARED_RUNS = 20
# Thrice as many: runs of other profiles and parameters between them are passed over.
LOOKED_AT_RUNS = 60
SHOWN_RUNS = 200


@dataclass(frozen=True)
class Point:
    """A run's result of a metric: median, least and most of its counted repeats, all clean.

    `band` is what the comparable runs before it led to expect; None with fewer than five.
    """

    run_id: UUID
    host_id: UUID
    host: str
    at: dt.datetime
    median: float
    low: float
    high: float
    n: int
    band: Band | None


def history(
    *,
    metric: str,
    variant: str,
    offer: Offer | None = None,
    host: Host | None = None,
    limit: int = SHOWN_RUNS,
) -> list[Point]:
    """The newest finished runs of a host, or of all hosts of an offer, oldest first."""
    runs = Run.objects.filter(state=RunState.DONE).select_related("host")
    runs = runs.filter(**({"host": host} if host is not None else {"offer": offer}))
    # Not joined: PostgreSQL would compare whole rows of runs, one for each of their samples.
    of = {"metric": metric, "variant": variant, "run__in": runs.values("pk")}
    runs = runs.filter(pk__in=Sample.objects.filter(**of).values("run"))
    chosen = sorted(runs.order_by("-finished_at")[:limit], key=_end_of_run)
    results = run_values(chosen, metric=metric, variant=variant)
    points: list[Point] = []
    before: list[tuple[Run, float]] = []
    for run in chosen:
        values = results.get((run.pk, metric, variant))
        if not values:
            continue
        centre = median(values)
        earlier = [value for other, value in before if is_comparable(other, run)]
        points.append(
            Point(
                run_id=run.pk,
                host_id=run.host_id,
                host=run.host.name,
                at=_end_of_run(run),
                median=centre,
                low=min(values),
                high=max(values),
                n=len(values),
                band=band(earlier[-COMPARED_RUNS:]),
            )
        )
        before.append((run, centre))
    return points


def _end_of_run(run: Run) -> dt.datetime:
    return run.finished_at or run.created_at


def is_comparable(run: Run, other: Run) -> bool:
    """True if two runs measured the same thing in the same way: the same host with the same
    hardware and peer, the same profile and the same parameters."""
    return (
        run.host_id == other.host_id
        and run.peer_id == other.peer_id
        and run.profile == other.profile
        and run.parameters == other.parameters
        and is_same_hardware(run.environment, other.environment)
    )


def run_values(
    runs: Iterable[Run], **conditions: str
) -> Mapping[tuple[UUID, str, str], list[float]]:
    """(run, metric, variant) → values of its counted, measured repeats in order (one query).

    A series without a clean repeat is left out: it says nothing of the machine.
    """
    samples = Sample.objects.filter(
        run__in=[run.pk for run in runs], source=Source.MEASURED, **conditions
    )
    rows: Iterable[Mapping[str, Any]] = samples.order_by("repeat", "id").values(
        "run_id", "metric", "variant", "value", "flags", "excluded_reason"
    )
    repeats: dict[tuple[UUID, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        repeats[row["run_id"], row["metric"], row["variant"]].append(row)
    values: dict[tuple[UUID, str, str], list[float]] = {}
    for key, group in repeats.items():
        counted, is_unfit = repeats_that_count(group, itemgetter("flags", "excluded_reason"))
        if counted and not is_unfit:
            values[key] = [row["value"] for row in counted]
    return values


# --- a run against its own past -----------------------------------------------------------------


@dataclass(frozen=True)
class Note:
    """A note on a run beside its results; `kind` is that of its event."""

    kind: str
    detail: str


def run_notes(run: Run) -> list[Note]:
    """Notes on a run: changes since the runs before it, of the machine and of results that left
    their band, and results that climbed or fell from repeat to repeat."""
    before = earlier_runs(run)
    notes = _environment_notes(run, before)
    comparable = [other for other in before if is_comparable(other, run)][-COMPARED_RUNS:]
    results = run_values([*comparable, run])
    for (run_id, key, variant), values in sorted(results.items(), key=lambda item: item[0][1:]):
        metric = METRICS.get(key)
        # Only what ranks: every further variant would be one more chance of a false alarm.
        if run_id != run.pk or metric is None or variant not in metric.ranking_variants:
            continue
        past = [
            median(results[other.pk, key, variant])
            for other in comparable
            if (other.pk, key, variant) in results
        ]
        change = departure(median(values), past, is_higher_better=metric.is_higher_better)
        expected = band(past)
        if change is not None and expected is not None:
            text = _departure_text(metric, variant, median(values), expected, change)
            notes.append(Note(change.kind, text))
        drift = trend(values, least_change_ratio=metric.target_half_width_ratio)
        if drift is not None:
            notes.append(Note("drift", _drift_text(metric, variant, drift, len(values))))
    return notes


def earlier_runs(run: Run) -> Sequence[Run]:
    """The newest finished runs of the host before this one, oldest first."""
    runs = Run.objects.filter(host=run.host_id, state=RunState.DONE).exclude(pk=run.pk)
    if run.finished_at is not None:
        runs = runs.filter(finished_at__lt=run.finished_at)
    return list(runs.order_by("-finished_at")[:LOOKED_AT_RUNS])[::-1]


def _environment_notes(run: Run, before: Sequence[Run]) -> list[Note]:
    # A run that did not look at its machine says nothing of it.
    last = next((other for other in reversed(before) if other.environment), None)
    if last is None or not run.environment:
        return []
    notes = []
    if hardware := changes(last.environment, run.environment, HARDWARE):
        detail = f"other hardware than before, not compared with it: {'; '.join(hardware)}"
        notes.append(Note("environment", detail))
    if software := changes(last.environment, run.environment, SOFTWARE):
        notes.append(Note("environment", f"changed since the last run: {'; '.join(software)}"))
    return notes


def _departure_text(
    metric: Metric, variant: str, value: float, expected: Band, change: Departure
) -> str:
    is_above = change.change_ratio > 0
    often = (
        "for the first time" if change.streak == 1 else f"for the {change.streak}. time in a row"
    )
    return (
        f"{metric.label} ({variant}) {'rose' if is_above else 'fell'} "
        f"{figures.percent(abs(change.change_ratio), 0)} {'above' if is_above else 'below'} the median of "
        f"{expected.count} earlier runs, out of their band {often}: {figures.measure(value, metric.unit)}, "
        f"expected {figures.measure(expected.low, metric.unit)} … {figures.measure(expected.high, metric.unit)}"
    )


def _drift_text(metric: Metric, variant: str, drift: Trend, count: int) -> str:
    return (
        f"{metric.label} ({variant}) {'rose' if drift.change_ratio > 0 else 'fell'} "
        f"{figures.percent(abs(drift.change_ratio), 0)} from the first half of its {count} repeats to the last: "
        f"a trend and not noise (Mann–Kendall test, p = {drift.p_value:.2g})"
    )


def host_variants(host: Host) -> dict[str, str]:
    """Metric → the variant that ranks, of those measured on the host in two runs or more."""
    samples = Sample.objects.filter(host=host, source=Source.MEASURED, run__state=RunState.DONE)
    samples = samples.filter(variant__in=RANKING_VARIANTS)
    counted = samples.order_by().values_list("metric", "variant")
    rows = counted.annotate(runs=Count("run", distinct=True))
    measured = {(metric, variant) for metric, variant, runs in rows if runs > 1}
    return {
        key: next(v for v in metric.ranking_variants if (key, v) in measured)
        for key, metric in METRICS.items()
        if any((key, v) in measured for v in metric.ranking_variants)
    }
