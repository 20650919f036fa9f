"""Jobs of scenarios over the API: asked for instead of an answer, followed and cancelled."""

from http import HTTPStatus
from typing import Any

from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from backend.accounts.api.authentication import actor
from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.core.rest.jobs import job_data
from backend.core.rest.preferences import APPLIED, RESPOND_ASYNC
from backend.core.rest.problem import Conflict, Gone
from backend.core.work import RETRY_S, WorkRefused
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.work import TooMuchWork
from backend.scenarios.models import JobState, ScenarioJob
from backend.scenarios.selectors.jobs import job_progress, job_result
from backend.scenarios.services.job_requests import TooManyJobs, job_create

OR_A_JOB = "or send Prefer: respond-async with a token that may write, and workers calculate it"


def scenario_job(job: ScenarioJob, request: Request) -> Any:
    """How far a job is."""
    is_done = job.state == JobState.DONE
    url = reverse("api:job-result", kwargs={"job_id": job.pk}, request=request)
    return job_data(
        state=job.state,
        progress=job_progress(job),
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        result_url=url if is_done else None,
        reason=job.reason,
        failure=job.failure,
    )


def queue_job(request: Request) -> Response:
    """202 with a job for the document of the request."""
    if not request.user.is_authenticated:
        raise NotAuthenticated("jobs are of a workspace: a token or a session is needed")
    person: Any = request.user
    if not person.scope.includes(Scope.WRITE):
        raise PermissionDenied("a job needs the scope write; without Prefer reading is enough")
    try:
        job = job_create(
            workspace=workspace_of(request), document=request.data, actor=actor(request)
        )
    except TooManyJobs as error:
        raise WorkRefused(HTTPStatus.TOO_MANY_REQUESTS, str(error), RETRY_S) from error
    url = reverse("api:job", kwargs={"job_id": job.pk}, request=request)
    headers = {"Location": url, APPLIED: RESPOND_ASYNC}
    return Response(scenario_job(job, request), status=202, headers=headers)


def naming_jobs(error: TooMuchWork | WorkRefused) -> Exception:
    """The same refusal with what a client can do to have the answer all the same."""
    if isinstance(error, TooMuchWork):
        return InvalidDocument([(field, f"{detail}; {OR_A_JOB}") for field, detail in error.errors])
    return WorkRefused(HTTPStatus(error.status_code), f"{error.detail}; {OR_A_JOB}", error.wait)


def result_of(job: ScenarioJob) -> dict[str, Any]:
    """The result of a job; Conflict where it has none, Gone where it is kept no longer."""
    if job.state != JobState.DONE:
        raise Conflict(f"the job is {job.state} and has no result", state=job.state)
    result = job_result(job)
    if result is None:
        raise Gone("results are kept for a while only: ask for it again")
    return result
