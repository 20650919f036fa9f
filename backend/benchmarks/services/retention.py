"""How long texts and series of runs are kept. Samples and the rows of their evidence stay for good.

Text and series of a run stay for as long as one of its samples counts, since a number on screen
leads there, and for the same time after a person left the last sample out.
"""

import datetime as dt
from itertools import groupby

from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet
from django.db.models.functions import Cast

from backend.accounts.models import AuditEntry
from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import Event, Evidence, Sample, Step
from backend.benchmarks.services.evidence_objects import (
    evidence_in_database,
    evidence_move,
    objects_forget,
    text_is_deleted,
)
from backend.core.retention import Retention

ACTOR = "retention"


def _without_number(before: dt.datetime) -> QuerySet[Evidence]:
    counted = Sample.objects.filter(run=OuterRef("run"), excluded_reason="")
    exclusions = AuditEntry.objects.filter(
        action="sample_exclude", object_type="sample", at__gte=before
    )
    sample_ids = exclusions.annotate(key=Cast("object_id", BigIntegerField())).values("key")
    lately_excluded = Sample.objects.filter(run__isnull=False, pk__in=sample_ids).values("run")
    old = Evidence.objects.filter(~Exists(counted), run__finished_at__lt=before)
    return old.exclude(run__in=lately_excluded)


def _series(before: dt.datetime) -> QuerySet[Evidence]:
    return _without_number(before).exclude(series=None)


def _forget_series(before: dt.datetime, size: int) -> int:
    """Delete the series of the oldest runs that finished before; at most `size`."""
    leaving = _oldest(_series(before), size)
    Evidence.objects.filter(pk__in=[row.pk for row in leaving]).update(series=None)
    return _record(leaving, "series_delete")


def _texts(before: dt.datetime) -> QuerySet[Evidence]:
    return _without_number(before).exclude(text_is_deleted())


def _forget_texts(before: dt.datetime, size: int) -> int:
    """Delete the raw output of the oldest runs that finished before; at most `size`."""
    leaving = _oldest(_texts(before), size)
    evidence = Evidence.objects.filter(pk__in=[row.pk for row in leaving])
    # Stored objects first: their keys are in the rows.
    objects_forget(evidence)
    evidence.update(raw_gzip=b"", object_key="")
    return _record(leaving, "evidence_text_delete")


def _oldest(old: QuerySet[Evidence], size: int) -> list[Evidence]:
    rows = old.select_related("run__workspace").only("n", "run__workspace")
    return list(rows.order_by("run__finished_at", "run_id", "n")[:size])


def _record(evidence: list[Evidence], action: str) -> int:
    """An entry in the trail for each run; returns the number of rows."""
    for run, items in groupby(evidence, key=lambda row: row.run):
        if run is not None:
            detail: dict[str, object] = {"evidence": [item.n for item in items]}
            audit_record(actor=ACTOR, action=action, target=run, detail=detail)
    return len(evidence)


POLICIES = (
    Retention(
        "steps",
        "RETAIN_STEPS_DAYS",
        lambda before: Step.objects.filter(run__finished_at__lt=before, finished_at__isnull=False),
    ),
    Retention(
        "events",
        "RETAIN_EVENTS_DAYS",
        lambda before: Event.objects.filter(run__finished_at__lt=before),
    ),
    Retention("series", "RETAIN_SERIES_DAYS", _series, _forget_series),
    Retention("evidence", "RETAIN_EVIDENCE_DAYS", _texts, _forget_texts),
    Retention("texts", "EVIDENCE_STORE_AFTER_DAYS", evidence_in_database, evidence_move, "moved"),
)
