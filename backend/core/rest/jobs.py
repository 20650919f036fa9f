"""Work that somebody waits for, whoever does it: one document for all kinds."""

import datetime as dt
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from rest_framework import serializers

from backend.core.rest.documents import Problem
from backend.core.rest.problem import problem_document
from backend.foundation.errors import Reason

STATES = ("queued", "running", "done", "failed", "cancelled")
# Why a job may fail; more may be added.
STATUS_OF_REASON: Mapping[str, HTTPStatus] = {
    Reason.UNSUPPORTED: HTTPStatus.BAD_REQUEST,
    Reason.TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    Reason.INTERRUPTED: HTTPStatus.SERVICE_UNAVAILABLE,
    Reason.BUG: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class JobError(Problem):
    """The problem document of a job that failed."""

    reason = serializers.ChoiceField(choices=[str(code) for code in STATUS_OF_REASON])


class Job(serializers.Serializer[Any]):
    """Work that somebody waits for."""

    state = serializers.ChoiceField(choices=STATES)
    progress = serializers.FloatField(help_text="From 0 to 1: how much of it is done")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    result_url = serializers.URLField(allow_null=True)
    failure = serializers.CharField(help_text="Why it failed; empty otherwise")
    error = JobError(allow_null=True)


def job_data(
    *,
    state: str,
    progress: float,
    created_at: dt.datetime,
    started_at: dt.datetime | None = None,
    finished_at: dt.datetime | None = None,
    result_url: str | None,
    reason: str,
    failure: str,
) -> Any:
    """The document of a job."""
    return Job(
        {
            "state": state,
            "progress": progress,
            "created_at": created_at,
            "started_at": started_at,
            "finished_at": finished_at,
            "result_url": result_url,
            "failure": failure,
            "error": _error(reason, failure) if reason else None,
        }
    ).data


def _error(reason: str, failure: str) -> dict[str, Any]:
    status = STATUS_OF_REASON[reason]
    return {**problem_document(status, failure), "reason": reason}
