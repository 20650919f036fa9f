"""Calculates jobs: a piece at a time, so that several workers share one and several jobs a worker."""

import logging
import time
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError

from backend.foundation.errors import DomainError, Reason
from backend.scenarios.models import ScenarioJobPiece
from backend.scenarios.selectors.jobs import job_document, option_figures
from backend.scenarios.services.jobs import (
    JobEnded,
    job_fail,
    job_finish,
    piece_claim,
    piece_done,
    piece_keep,
)

log = logging.getLogger(__name__)

# A piece takes seconds; the most that one option may take a minute.
TASK_S = 600
BEAT_S = 1.0


class _Heartbeat:
    """Keeps the lease while a piece is calculated, and ends the work on one that is no longer ours."""

    def __init__(self, piece: ScenarioJobPiece) -> None:
        self._piece = piece
        self._next_s = time.monotonic() + BEAT_S

    def __call__(self) -> None:
        if time.monotonic() >= self._next_s:
            piece_keep(piece=self._piece)
            self._next_s = time.monotonic() + BEAT_S


def work(job_id: UUID) -> bool:
    """Calculate the next piece of a job; whether there was one."""
    piece = piece_claim(job_id=job_id)
    if piece is None:
        return False
    try:
        _work(piece)
    except JobEnded as ended:
        log.info("dropped: %s", ended)
    return True


def _work(piece: ScenarioJobPiece) -> None:
    try:
        _calculate(piece)
    except (JobEnded, OperationalError, InterfaceError):
        # Without the database nothing can be written: the lease ends, and somebody takes it up.
        raise
    except SoftTimeLimitExceeded:
        detail = f"a part of it takes longer than {TASK_S} s"
        job_fail(piece=piece, reason=Reason.TIMEOUT, failure=detail)
    except DomainError as error:
        job_fail(piece=piece, reason=Reason.UNSUPPORTED, failure=str(error))
    except Exception as error:
        log.exception("a piece of job %s failed", piece.job_id)
        job_fail(piece=piece, reason=Reason.BUG, failure=f"a fault of ours: {type(error).__name__}")


def _calculate(piece: ScenarioJobPiece) -> None:
    # Here, as it loads numpy, which no other task needs: 30 MB in each process.
    from backend.scenarios.calc.simulate import compared, options_written

    document, check = job_document(piece.job_id), _Heartbeat(piece)
    if document is None:
        raise JobEnded(f"{piece} has no document any more")
    if piece.count:
        figures = options_written(document, piece.first, piece.count, check)
        piece_done(piece=piece, figures=figures)
    else:
        result = compared(document, option_figures(piece.job_id), check)
        job_finish(piece=piece, result=result)
