"""How long results of jobs are kept, and after them that there was a job."""

import datetime as dt

from django.db.models import QuerySet

from backend.core.retention import Retention
from backend.scenarios.models import ScenarioJob


def _results(before: dt.datetime) -> QuerySet[ScenarioJob]:
    return ScenarioJob.objects.filter(finished_at__lt=before, result__isnull=False)


def _forget_results(before: dt.datetime, size: int) -> int:
    keys = list(_results(before).order_by("pk").values_list("pk", flat=True)[:size])
    return ScenarioJob.objects.filter(pk__in=keys).update(result=None, document="")


POLICIES = (
    Retention("job results", "RETAIN_JOB_RESULTS_DAYS", _results, _forget_results),
    Retention(
        "jobs",
        "RETAIN_JOBS_DAYS",
        lambda before: ScenarioJob.objects.filter(finished_at__lt=before),
    ),
)
