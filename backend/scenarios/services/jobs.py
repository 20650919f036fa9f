"""Writes of jobs: calculated in pieces by workers, and ended; job_requests has how they begin.

The row of the job is locked before any of its pieces, so that no two of these wait for each other.
A piece is claimed with a lease as steps of runs are: whoever lost it writes nothing.
"""

import datetime as dt
import json
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from backend.accounts.services.audit import audit_record
from backend.core import clock
from backend.core.queue import Task, enqueue
from backend.foundation.errors import DomainError, Reason
from backend.scenarios.models import OPEN_STATES, JobState, ScenarioJob, ScenarioJobPiece
from backend.scenarios.selectors.jobs import pieces_due

# Of a piece: what ended so many workers would end the next one.
MOST_ATTEMPTS = 3
# Messages for a job at once; each goes on with the next piece.
MOST_WOKEN = 8


class JobEnded(DomainError):
    """The job was cancelled or failed meanwhile, or somebody else has the piece."""


@transaction.atomic
def job_cancel(*, job: ScenarioJob, actor: str) -> bool:
    """End a job that is not done; False where it has ended otherwise. Its workers find out by
    themselves, within about a second."""
    locked = _open_job(job.pk)
    if locked is None:
        return ScenarioJob.objects.filter(pk=job.pk, state=JobState.CANCELLED).exists()
    _end(locked, state=JobState.CANCELLED)
    audit_record(actor=actor, action="scenario_job_cancel", target=locked)
    return True


# --- what workers do ------------------------------------------------------------------------------


@transaction.atomic
def piece_claim(*, job_id: UUID) -> ScenarioJobPiece | None:
    """The next piece, ours until its lease ends; None where there is none to do."""
    job = _open_job(job_id)
    piece = pieces_due(job).first() if job else None
    if job is None or piece is None:
        return None
    if piece.attempts >= MOST_ATTEMPTS:
        why = f"calculating it ended a worker {MOST_ATTEMPTS} times"
        _end(job, state=JobState.FAILED, reason=Reason.INTERRUPTED, failure=why)
        return None
    piece.attempts += 1
    piece.lease_token += 1
    piece.lease_until = _lease_end()
    piece.save(update_fields=("attempts", "lease_token", "lease_until"))
    now = clock.now()
    ScenarioJob.objects.filter(pk=job.pk).update(
        state=JobState.RUNNING, started_at=job.started_at or now, woken_at=now
    )
    return piece


def piece_keep(*, piece: ScenarioJobPiece) -> None:
    """A new lease for a piece that is being calculated; JobEnded where it is ours no more."""
    if not _ours(piece).update(lease_until=_lease_end()):
        raise JobEnded(f"{piece} is no longer ours")


@transaction.atomic
def piece_done(*, piece: ScenarioJobPiece, figures: list[dict[str, Any]]) -> None:
    """Keep what its options came to, and have the next piece done."""
    job = _job_of(piece)
    ScenarioJobPiece.objects.filter(pk=piece.pk).update(
        figures=json.dumps(figures), lease_until=None
    )
    job_wake(job, 1)


@transaction.atomic
def job_finish(*, piece: ScenarioJobPiece, result: dict[str, Any]) -> None:
    """Keep the result that the last piece made."""
    job = _job_of(piece)
    members = json.loads(job.assumptions)
    result["assumptions"] += members
    result["data_version"] = job.data_version
    _end(job, state=JobState.DONE, result=json.dumps(result))


@transaction.atomic
def job_fail(*, piece: ScenarioJobPiece, reason: Reason, failure: str) -> None:
    """End a job whose piece cannot be calculated."""
    _end(_job_of(piece), state=JobState.FAILED, reason=reason, failure=failure)


@transaction.atomic
def jobs_wake() -> int:
    """Send messages for jobs that nobody has worked on for a lease: theirs were lost, or their
    worker was; returns for how many."""
    before = clock.now() - dt.timedelta(seconds=settings.LEASE_S)
    stale = ScenarioJob.objects.filter(state__in=OPEN_STATES, woken_at__lte=before)
    woken = 0
    for job in stale.select_for_update(skip_locked=True).defer("document"):
        if pieces := pieces_due(job).count():
            job_wake(job, pieces)
            woken += 1
    return woken


def job_wake(job: ScenarioJob, pieces: int) -> None:
    """Have workers do so many of its pieces."""
    ScenarioJob.objects.filter(pk=job.pk).update(woken_at=clock.now())
    for _ in range(min(pieces, MOST_WOKEN)):
        enqueue(Task.SIMULATE_JOB, job_id=str(job.pk))


def _lease_end() -> dt.datetime:
    return clock.now() + dt.timedelta(seconds=settings.LEASE_S)


def _open_job(job_id: UUID) -> ScenarioJob | None:
    rows = ScenarioJob.objects.select_for_update(of=("self",)).defer("document")
    return rows.select_related("workspace").filter(pk=job_id, state__in=OPEN_STATES).first()


def _ours(piece: ScenarioJobPiece) -> QuerySet[ScenarioJobPiece]:
    mine = Q(pk=piece.pk, lease_token=piece.lease_token, figures=None)
    return ScenarioJobPiece.objects.filter(mine)


def _job_of(piece: ScenarioJobPiece) -> ScenarioJob:
    """The locked job of a piece that is still ours; raises JobEnded."""
    job = _open_job(piece.job_id)
    if job is None or not _ours(piece).exists():
        raise JobEnded(f"{piece} is no longer ours")
    return job


def _end(job: ScenarioJob, *, state: JobState, **fields: Any) -> None:
    # What has no result needs no document either, and that may be a trade secret of megabytes.
    forgotten = {} if state == JobState.DONE else {"document": ""}
    ScenarioJob.objects.filter(pk=job.pk).update(
        state=state, finished_at=clock.now(), **forgotten, **fields
    )
    job.pieces.all().delete()
