"""Schedules: when campaigns start by themselves."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.api.campaign_documents import ScheduleDetail, SchedulePatch
from backend.benchmarks.calc.schedules import Recurrence, ScheduleDocument
from backend.benchmarks.models import Campaign, Schedule
from backend.benchmarks.selectors.schedules import (
    schedule_document,
    schedule_times,
    schedules_visible,
)
from backend.benchmarks.services.schedules import schedule_create, schedule_delete, schedule_update
from backend.core.rest.documents import document_cells, document_columns, request_fields
from backend.core.rest.parameters import boolean, identifier
from backend.core.rest.permissions import RUN
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import FilteredListView, ListAnswer, View, created_response
from backend.foundation.errors import InvalidValue

# Each takes the place of the other.
ALTERNATIVES = (("cron", "every_s"), ("every_s", "cron"))


class SchedulesView(FilteredListView):
    """Schedules of the workspace."""

    name = "schedules"
    orders = {"campaign": "campaign__name", "created_at": "created_at"}
    since = "created_at"
    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}
    lookups = {
        "campaign": ("campaign_id", identifier),
        "enabled": ("is_enabled", boolean),
    }
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("campaign", ColumnType.TEXT, "Identifier of the campaign"),
        Column("campaign_name", ColumnType.TEXT, "Its name"),
        *document_columns(Recurrence),
        Column("next_at", ColumnType.TIME, "Next start"),
        Column("last_at", ColumnType.TIME, "When it was due last"),
        Column("last_outcome", ColumnType.TEXT, "What that led to"),
    )

    def listing(self, request: Request) -> ListAnswer:
        conditions, paging = self.asked(request)
        schedules = schedules_visible(workspace_of(request)).filter(**conditions)
        schedules = schedules.order_by("created_at", "id")
        return ListAnswer(self.columns, schedules, schedules.count(), cells=_cells, **paging)

    @extend_schema(request=ScheduleDocument, responses={201: ScheduleDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Start a campaign at times to come; the answer names the next five."""
        document = ScheduleDocument.read(request.data)
        campaign = Campaign.objects.filter(
            workspace=workspace_of(request), pk=document.campaign
        ).first()
        if campaign is None:
            raise InvalidValue("/campaign", f"no campaign has the id {document.campaign}")
        schedule = schedule_create(campaign=campaign, when=document, actor=actor(request))
        return created_response(request, _detail(schedule), "schedule", schedule_id=schedule.pk)


def _cells(schedule: Schedule) -> dict[str, Any]:
    stated = _stated(schedule)
    return {
        **stated,
        **document_cells(Recurrence, stated),
        "campaign_name": schedule.campaign.name,
        "next_at": schedule.next_at,
    }


def _stated(schedule: Schedule) -> dict[str, Any]:
    return schedule_document(schedule).model_dump(by_alias=True) | {
        "id": schedule.pk,
        "last_at": schedule.last_at,
        "last_outcome": schedule.last_outcome or None,
    }


def _detail(schedule: Schedule) -> Any:
    return ScheduleDetail({**_stated(schedule), "next": schedule_times(schedule)}).data


class ScheduleView(View):
    """A schedule."""

    scopes: ClassVar[Mapping[str, str]] = {"PATCH": RUN, "DELETE": RUN}

    def _schedule(self, request: Request, schedule_id: UUID) -> Schedule:
        return get_object_or_404(schedules_visible(workspace_of(request)), pk=schedule_id)

    @extend_schema(operation_id="schedules_get", responses={200: ScheduleDetail})
    def get(self, request: Request, schedule_id: UUID) -> Response:
        return Response(_detail(self._schedule(request, schedule_id)))

    @extend_schema(request=SchedulePatch, responses={200: ScheduleDetail})
    def patch(self, request: Request, schedule_id: UUID) -> Response:
        """Change it; a cron line takes the place of an interval, and the other way round."""
        schedule = self._schedule(request, schedule_id)
        changes = request_fields(request.data)
        other = {other: None for name, other in ALTERNATIVES if changes.get(name) is not None}
        stored = Recurrence.model_construct(**dict(schedule_document(schedule)))
        when = stored.merge({**other, **changes})
        changed = schedule_update(schedule=schedule, when=when, actor=actor(request))
        return Response(_detail(changed))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, schedule_id: UUID) -> Response:
        """Remove it; the campaign stays."""
        schedule_delete(schedule=self._schedule(request, schedule_id), actor=actor(request))
        return Response(status=204)
