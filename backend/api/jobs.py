"""Work that somebody waits for: scenarios that are calculated and bills that are read."""

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.bills.api.bills import upload_job
from backend.bills.selectors.bills import upload_by_id
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import Problem
from backend.core.rest.jobs import Job
from backend.core.rest.permissions import WRITE
from backend.core.rest.problem import Conflict
from backend.core.rest.views import View
from backend.scenarios.api.documents import ScenarioResult
from backend.scenarios.api.jobs import result_of, scenario_job
from backend.scenarios.models import ScenarioJob
from backend.scenarios.selectors.jobs import job_by_id
from backend.scenarios.services.jobs import job_cancel

LOST = "what of it was calculated is lost; that it was asked for stays"
# As bills: what is calculated for somebody is no business of strangers and of those who only read.
SCOPES: Mapping[str, str] = {"GET": WRITE, "DELETE": WRITE}


def _job_of(request: Request, job_id: UUID) -> ScenarioJob:
    job = job_by_id(workspace_of(request), job_id)
    if job is None:
        raise Http404
    return job


def _cancel(job: ScenarioJob, by: str) -> None:
    if not job_cancel(job=job, actor=by):
        job.refresh_from_db(fields=["state"])
        raise Conflict(f"the job is {job.state}", state=job.state)


class JobView(View):
    """How far a job is."""

    scopes: ClassVar[Mapping[str, str]] = SCOPES

    @extend_schema(operation_id="jobs_get", responses={200: Job})
    def get(self, request: Request, job_id: UUID) -> Response:
        upload = upload_by_id(workspace_of(request), job_id)
        if upload is not None:
            return Response(upload_job(upload, request))
        return Response(scenario_job(_job_of(request, job_id), request))

    @deleting("jobs_cancel")
    def delete(self, request: Request, job_id: UUID) -> Response:
        """Cancel a calculation that is not done; workers stop within about a second."""
        if upload_by_id(workspace_of(request), job_id) is not None:
            raise Conflict("a bill that was sent is read: delete it afterwards")
        job = _job_of(request, job_id)
        return delete_response(request, lambda: [LOST], lambda: _cancel(job, actor(request)))


class JobResultView(View):
    """The result of a scenario that was calculated as a job."""

    scopes: ClassVar[Mapping[str, str]] = SCOPES

    @extend_schema(
        operation_id="jobs_result", responses={200: ScenarioResult, 409: Problem, 410: Problem}
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """The very answer that simulating it within the request has."""
        return Response(result_of(_job_of(request, job_id)))
