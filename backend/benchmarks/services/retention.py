"""How long is kept what runs leave behind beside their numbers.

Text and series of a run stay for as long as one of its samples counts: a number on screen leads
there.
"""

import datetime as dt

from django.db.models import Exists, OuterRef, QuerySet

from backend.benchmarks.models import Event, Evidence, Sample, Step
from backend.benchmarks.services.evidence_objects import (
    evidence_in_database,
    evidence_move,
    objects_forget,
)
from backend.common.retention import Retention


def _without_number(before: dt.datetime) -> QuerySet[Evidence]:
    counted = Sample.objects.filter(run=OuterRef("run"), excluded_reason="")
    return Evidence.objects.filter(~Exists(counted), run__finished_at__lt=before)


def _series(before: dt.datetime) -> QuerySet[Evidence]:
    return _without_number(before).exclude(series=None)


def _forget_series(before: dt.datetime, size: int) -> int:
    keys = list(_series(before).order_by("pk").values_list("pk", flat=True)[:size])
    return Evidence.objects.filter(pk__in=keys).update(series=None)


def _forget_evidence(before: dt.datetime, size: int) -> int:
    keys = list(_without_number(before).order_by("pk").values_list("pk", flat=True)[:size])
    going = Evidence.objects.filter(pk__in=keys)
    objects_forget(going)
    going.delete()
    return len(keys)


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
    Retention("evidence", "RETAIN_EVIDENCE_DAYS", _without_number, _forget_evidence),
    Retention("texts", "EVIDENCE_STORE_AFTER_DAYS", evidence_in_database, evidence_move, "moved"),
)
