"""How a job begins: read, checked and cut into pieces. Apart from what workers do with it, since this
loads the arithmetic of scenarios, which takes 30 MB in every process."""

import json

from django.conf import settings
from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.core import clock
from backend.core.work import calculation
from backend.foundation.errors import DomainError, InvalidDocument
from backend.foundation.reading.texts import why_not_kept
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.work import ADVICE, check_job_work
from backend.scenarios.models import OPEN_STATES, ScenarioJob, ScenarioJobPiece
from backend.scenarios.selectors.resolving import resolve
from backend.scenarios.selectors.scenarios import storable
from backend.scenarios.services.jobs import job_wake

MOST_NAME = 100
# Steps of a piece: about three seconds, in which reading the document again is little.
PIECE_WORK = 60_000_000


class TooManyJobs(DomainError):
    """A workspace has as many open jobs as it may."""


@transaction.atomic
def job_create(*, workspace: Workspace, document: object, actor: str) -> ScenarioJob:
    """Have a document calculated with the prices and scores of this moment.

    Raises InvalidDocument with everything that is wrong, and TooManyJobs.
    """
    plain = resolve(document, workspace_slug=workspace.slug, today=clock.now().date())
    work = check_job_work(plain.document)
    with calculation(work, advice=ADVICE) as check:
        scenario = scenario_from(plain.document, check)
    document_kept = storable(plain.document)
    if why := why_not_kept(document_kept):
        raise InvalidDocument([("", why)])
    # One after the other, so that two do not both find the last place free.
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    most = settings.SCENARIO_JOBS_OPEN
    if ScenarioJob.objects.filter(workspace=workspace, state__in=OPEN_STATES).count() >= most:
        raise TooManyJobs(f"{most} jobs of this workspace are not done yet: wait or cancel one")
    job = ScenarioJob.objects.create(
        workspace=workspace,
        created_by=actor,
        name=scenario.name[:MOST_NAME],
        document=json.dumps(document_kept),
        assumptions=json.dumps(plain.assumptions),
        data_version=plain.data_version,
        options_count=len(scenario.options),
        woken_at=clock.now(),
    )
    pieces = _pieces(job, max(1, PIECE_WORK // max(1, work)))
    ScenarioJobPiece.objects.bulk_create(pieces)
    detail = {"name": job.name, "options": job.options_count}
    audit_record(
        actor=actor,
        action="scenario_job_create",
        target=job,
        detail={**detail, "steps": work * job.options_count},
    )
    job_wake(job, len(pieces) - 1)
    return job


def _pieces(job: ScenarioJob, size: int) -> list[ScenarioJobPiece]:
    """So many options each, and the comparison behind them."""
    whole = job.options_count
    options = [
        ScenarioJobPiece(job=job, first=first, count=min(size, whole - first))
        for first in range(0, whole, size)
    ]
    return [*options, ScenarioJobPiece(job=job, first=whole, count=0)]
