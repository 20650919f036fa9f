"""The scores of offers, stored ready.

`summaries_refresh` stores those of `selectors.scores` for what changed (see catalog.stored),
`summary_scores` reads what it stored.
"""

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from math import nan
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from backend.benchmarks.models import Sample, StoredSummary
from backend.benchmarks.selectors.scores import Score, compute_scores, site_url
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.services.current_prices import MANY, SUMMARIES, marks_taken
from backend.core.reading import CHUNK, copy_rows, json_text, key_bytes
from backend.core.statistics import tables_analyze
from backend.measure.metrics import METRICS
from backend.measure.stats import IntervalBasis, Summary

# To be counted up with what a summary says of the same samples; older ones are made anew.
FORMULAS = 8
OFFERS_AT_ONCE = 500
BATCH = 10_000
# Fields of Summary that are columns of the same name.
SUMMARY = ("value", "ci95_low", "ci95_high", "n_instances", "n_repeats")
# Fields of Score that are columns of the same name.
SAME = (
    "variant",
    "is_unfit",
    "source",
    "measured_at",
    "method_version",
    "target",
    "licence",
    "cpu_models",
)
STORED = (*SUMMARY, *SAME, "interval_basis", "is_unstable", "flags", "result")
FIGURES = ("value", "ci95_low", "ci95_high")
ABOUT = tuple(name for name in STORED if name not in FIGURES)


def summary_scores(**conditions: Any) -> Iterator[tuple[UUID, Score]]:
    """Offer and score of every stored summary that meets the conditions."""
    of = partial(_score, site_url())
    rows = StoredSummary.objects.filter(**conditions).order_by()
    return map(of, rows.values("offer_id", "metric", *STORED).iterator(CHUNK))


def _score(site: str, row: Mapping[str, Any]) -> tuple[UUID, Score]:
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
    return row["offer_id"], score


class ReadScore(NamedTuple):
    """A stored summary of one metric: the bytes of its offer's key, the FIGURES, and a text of all
    else, of which most offers share a few."""

    offer: bytes
    value: float
    low: float
    high: float
    text: str


def scores_read(metric: str, **conditions: Any) -> Iterator[ReadScore]:
    """The same of one metric, for tables of many: `score_of` says what a text stands for."""
    rows = StoredSummary.objects.filter(metric=metric, **conditions).order_by()
    read = rows.annotate(offer_key=key_bytes("offer_id"), text=json_text(*ABOUT))
    of = read.values_list("offer_key", *FIGURES, "text")
    return map(ReadScore._make, copy_rows(of, "bytea", *("float8" for _ in FIGURES), "text"))


def score_of(metric: str, text: str) -> Score:
    """A score with this text; its figures are not those of any offer."""
    row = dict(zip(ABOUT, json.loads(text), strict=True))
    row["measured_at"] = dt.datetime.fromisoformat(row["measured_at"])
    figures = dict.fromkeys(FIGURES, nan)
    return _score(site_url(), {"offer_id": None, "metric": metric, **figures, **row})[1]


def is_pending(stamp: DataStamp) -> bool:
    """True if stored summaries may be older than the samples."""
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
                _store(compute_scores(offer_id__in=chunk))
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
    scores = list(compute_scores(offer_id__in=list(marked), metric__in=list(metrics)))
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
    site = site_url()
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
