"""Scenarios over the API: calculate, keep, list, change, copy, freeze and remove."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.core.rest.documents import Problem
from backend.core.rest.jobs import Job
from backend.core.rest.parameters import InvalidParameters, given
from backend.core.rest.parsers import ExactJSONParser
from backend.core.rest.permissions import READ, WRITE
from backend.core.rest.preferences import RESPOND_ASYNC, prefers
from backend.core.rest.problem import Conflict
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView, View, created_response
from backend.core.work import WorkRefused
from backend.foundation.errors import InvalidDocument
from backend.scenarios.api.documents import (
    ScenarioChange,
    ScenarioDetail,
    ScenarioNote,
    ScenarioResult,
)
from backend.scenarios.api.jobs import naming_jobs, queue_job
from backend.scenarios.calc.document import ScenarioDocument
from backend.scenarios.calc.work import TooMuchWork
from backend.scenarios.models import Scenario
from backend.scenarios.selectors.scenarios import (
    scenario_by_slug,
    scenario_result,
    scenarios_visible,
    scope_to_delete,
    simulate_document,
)
from backend.scenarios.services.scenarios import (
    MOST_BYTES,
    ScenarioFrozen,
    scenario_create,
    scenario_delete,
    scenario_duplicate,
    scenario_freeze,
    scenario_update,
)

COLUMNS = (
    Column("slug", ColumnType.TEXT, "Name in addresses, which never changes"),
    Column("name", ColumnType.TEXT, "Name for people"),
    Column("template", ColumnType.TEXT, "Template that it was opened from"),
    Column("created_by", ColumnType.TEXT, "User name, or token and its name"),
    Column("created_at", ColumnType.TIME, "When it was made"),
    Column("updated_at", ColumnType.TIME, "When it was last changed"),
    Column("frozen_at", ColumnType.TIME, "Since when it never changes"),
    Column("note", ColumnType.TEXT, "Words for what was frozen"),
    Column("data_version", ColumnType.INTEGER, "State of the data that it was frozen at"),
)


def scenario_of(request: Request, slug: str) -> Scenario:
    """The scenario of this slug in the caller's workspace."""
    scenario = scenario_by_slug(workspace_slug(request), slug)
    if scenario is None:
        raise Http404
    return scenario


def _cells(scenario: Scenario) -> dict[str, Any]:
    names = ("slug", "name", "created_by", "created_at", "updated_at", "frozen_at", "data_version")
    words = {name: getattr(scenario, name) or None for name in ("template", "note")}
    return {**{name: getattr(scenario, name) for name in names}, **words}


def _detail(scenario: Scenario) -> Any:
    return ScenarioDetail({**_cells(scenario), "document": scenario.document}).data


class ScenarioSimulateView(View):
    """From a document to its result, without storing anything."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": READ}
    # Floats would change amounts before anybody reads them.
    parser_classes = (ExactJSONParser,)
    most_bytes = MOST_BYTES

    @extend_schema(
        operation_id="scenarios_simulate",
        parameters=[
            OpenApiParameter(
                "Prefer",
                str,
                OpenApiParameter.HEADER,
                description="respond-async: workers calculate it, and the answer is a job (202)",
            )
        ],
        request=ScenarioDocument,
        responses={200: ScenarioResult, 202: Job, 413: Problem, 422: Problem, 503: Problem},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Cost of each option, and the demand that it leaves unserved."""
        # A misspelt parameter would change nothing and say nothing.
        if unknown := given(dict(request.query_params.lists())):
            detail = "simulate takes no parameters: everything stands in the document"
            raise InvalidParameters([(name, detail) for name in unknown])
        if prefers(request, RESPOND_ASYNC):
            return queue_job(request)
        try:
            return Response(
                simulate_document(request.data, workspace_slug=workspace_slug(request)).result
            )
        except (TooMuchWork, WorkRefused) as error:
            raise naming_jobs(error) from error


class ScenariosView(ListView):
    """Scenarios that are kept, by name."""

    name = "scenarios"
    orders = {"name": "name", "updated_at": "updated_at"}
    since = "updated_at"
    columns = COLUMNS
    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}
    parser_classes = (ExactJSONParser,)
    most_bytes = MOST_BYTES

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.parameters(request)
        rows = scenarios_visible(workspace_of(request))
        return ListAnswer(COLUMNS, rows, rows.count(), cells=_cells, **shown)

    @extend_schema(request=ScenarioDocument, responses={201: ScenarioDetail, 413: Problem})
    def post(self, request: Request, **_: Any) -> Response:
        """Keep a document; nothing is stored of one that has a fault."""
        scenario = scenario_create(
            workspace=workspace_of(request), document=request.data, actor=actor(request)
        )
        return created_response(request, _detail(scenario), "scenario", slug=scenario.slug)


class ScenarioView(View):
    """A scenario."""

    scopes: ClassVar[Mapping[str, str]] = {"PATCH": WRITE, "DELETE": WRITE}
    parser_classes = (ExactJSONParser,)
    most_bytes = MOST_BYTES

    @extend_schema(operation_id="scenarios_get", responses={200: ScenarioDetail})
    def get(self, request: Request, slug: str) -> Response:
        return Response(_detail(scenario_of(request, slug)))

    @extend_schema(
        operation_id="scenarios_change",
        request=ScenarioChange,
        responses={200: ScenarioDetail, 409: Problem, 413: Problem},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Replace members of the document; null takes one away."""
        if not isinstance(request.data, Mapping):
            raise InvalidDocument([("", "an object is needed")])
        scenario = scenario_of(request, slug)
        merged = {**scenario.document, **request.data}
        # A null that is stored already stays: only one of the request takes its member away.
        document = {k: v for k, v in merged.items() if v is not None or k not in request.data}
        try:
            changed = scenario_update(scenario=scenario, document=document, actor=actor(request))
        except ScenarioFrozen as error:
            raise Conflict(str(error)) from error
        return Response(_detail(changed))

    @extend_schema(operation_id="scenarios_delete", responses={204: None, 403: Problem})
    def delete(self, request: Request, slug: str) -> Response:
        """Remove it; a frozen one with the scope admin only."""
        scenario = scenario_of(request, slug)
        person: Any = request.user
        if not person.scope.includes(scope_to_delete(scenario)):
            raise PermissionDenied("a frozen scenario is deleted with the scope admin only")
        scenario_delete(scenario=scenario, actor=actor(request))
        return Response(status=204)


class ScenarioResultView(View):
    """The result of a kept scenario: now, or when it was frozen."""

    @extend_schema(
        operation_id="scenarios_result",
        responses={200: ScenarioResult, 409: Problem, 422: Problem, 503: Problem},
    )
    def get(self, request: Request, slug: str) -> Response:
        scenario = scenario_of(request, slug)
        try:
            return Response(scenario_result(scenario))
        except InvalidDocument as error:
            # 409 and not 422: the caller sent no document; what a kept one names has gone since.
            raise Conflict(f"it has no result any more: {error}") from error


class ScenarioDuplicateView(View):
    """A copy of a scenario."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(
        operation_id="scenarios_duplicate", request=None, responses={201: ScenarioDetail}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Copy it, also a frozen one; the copy may be changed."""
        copy = scenario_duplicate(scenario=scenario_of(request, slug), actor=actor(request))
        return created_response(request, _detail(copy), "scenario", slug=copy.slug)


class ScenarioFreezeView(View):
    """A scenario as it is now, for good."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(
        operation_id="scenarios_freeze",
        request=ScenarioNote,
        responses={200: ScenarioDetail, 409: Problem},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Keep document, prices, scores and result as they are now."""
        stated = ScenarioNote(data=request.data)
        stated.is_valid(raise_exception=True)
        scenario = scenario_of(request, slug)
        try:
            frozen = scenario_freeze(
                scenario=scenario, note=stated.validated_data["note"], actor=actor(request)
            )
        except (ScenarioFrozen, InvalidDocument) as error:
            raise Conflict(str(error)) from error
        return Response(_detail(frozen))
