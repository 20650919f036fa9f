"""Jobs that a workspace has, and what of them waits for a worker."""

import json
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from backend.accounts.models import Workspace
from backend.core import clock
from backend.scenarios.models import JobState, ScenarioJob, ScenarioJobPiece


def job_by_id(workspace: Workspace, job_id: UUID) -> ScenarioJob | None:
    """A job, without its document and result."""
    jobs = ScenarioJob.objects.defer("document", "assumptions", "result")
    return jobs.filter(workspace=workspace, pk=job_id).first()


def job_progress(job: ScenarioJob) -> float:
    """Share of its options that are calculated with all their draws; comparing them counts as one."""
    # In one statement: a job that ends meanwhile has no pieces any more, and would fall back to 0.
    done = Sum("pieces__count", filter=~Q(pieces__figures=None))
    rows = ScenarioJob.objects.filter(pk=job.pk).annotate(done=done)
    state, options = rows.values_list("state", "done").get()
    return 1.0 if state == JobState.DONE else (options or 0) / (job.options_count + 1)


def job_result(job: ScenarioJob) -> dict[str, Any] | None:
    """Result of the job; None where it is not done, or its result was forgotten."""
    text = ScenarioJob.objects.values_list("result", flat=True).get(pk=job.pk)
    return None if text is None else dict(json.loads(text))


def job_document(job_id: UUID) -> Any:
    """Document to calculate, of the domain; None of a job that has ended."""
    text = ScenarioJob.objects.values_list("document", flat=True).get(pk=job_id)
    return json.loads(text) if text else None


def option_figures(job_id: UUID) -> list[dict[str, Any]]:
    """Results of its options by themselves, in their order."""
    pieces = ScenarioJobPiece.objects.filter(job=job_id).exclude(figures=None)
    texts = pieces.order_by("first").values_list("figures", flat=True)
    return [option for text in texts if text for option in json.loads(text)]


def pieces_due(job: ScenarioJob) -> QuerySet[ScenarioJobPiece]:
    """Pieces that nobody calculates at the moment; options are compared when all are there."""
    waits_for = ScenarioJobPiece.objects.filter(job=OuterRef("job"), count__gt=0, figures=None)
    is_free = Q(lease_until=None) | Q(lease_until__lte=clock.now())
    is_ready = Q(count__gt=0) | ~Exists(waits_for)
    return job.pieces.filter(is_free, is_ready, figures=None).order_by("first")
