"""Schedules: when campaigns start by themselves."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.api.campaign_documents import (
    ScheduleDetail,
    ScheduleDocument,
    SchedulePatch,
)
from backend.benchmarks.models import Campaign, Schedule
from backend.benchmarks.selectors.schedules import (
    Recurrence,
    StartWindow,
    schedule_recurrence,
    schedule_times,
    schedules_visible,
)
from backend.benchmarks.services.schedules import schedule_create, schedule_delete, schedule_update
from backend.common.rest.parameters import boolean, identifier
from backend.common.rest.permissions import RUN
from backend.common.rest.table import Column, ColumnType
from backend.common.rest.views import FilteredListView, ListAnswer, View, created
from backend.domain.errors import InvalidValue

WHEN = ("cron", "every_s", "time_zone", "window")


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
        Column("cron", ColumnType.TEXT, "Minute, hour, day of month, month, day of week"),
        Column("every_s", ColumnType.INTEGER, "Interval", "s"),
        Column("time_zone", ColumnType.TEXT, "Of the cron line and the window"),
        Column("window_from", ColumnType.TEXT, "Begin of the maintenance window"),
        Column("window_to", ColumnType.TEXT, "Its end; the day after where it is before the begin"),
        Column("enabled", ColumnType.BOOLEAN, "Whether it starts anything"),
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
        document = ScheduleDocument(data=request.data)
        document.is_valid(raise_exception=True)
        fields = document.validated_data
        campaign = Campaign.objects.filter(
            workspace=workspace_of(request), pk=fields["campaign"]
        ).first()
        if campaign is None:
            raise InvalidValue("/campaign", f"no campaign has the id {fields['campaign']}")
        schedule = schedule_create(
            campaign=campaign,
            is_enabled=fields["enabled"],
            actor=actor(request),
            **_recurrence(fields),
        )
        return created(request, _detail(schedule), "schedule", schedule_id=schedule.pk)


def _recurrence(fields: Mapping[str, Any]) -> Recurrence:
    window = fields["window"]
    if isinstance(window, Mapping):
        window = StartWindow(window["from"], window["to"])
    return cast("Recurrence", {**{name: fields[name] for name in WHEN}, "window": window})


def _cells(schedule: Schedule) -> dict[str, Any]:
    window = schedule_recurrence(schedule)["window"]
    return {
        "id": schedule.pk,
        "campaign": schedule.campaign_id,
        "campaign_name": schedule.campaign.name,
        "cron": schedule.cron or None,
        "every_s": schedule.every_s,
        "time_zone": schedule.time_zone,
        "window_from": window and f"{window.begin:%H:%M}",
        "window_to": window and f"{window.end:%H:%M}",
        "enabled": schedule.is_enabled,
        "next_at": schedule.next_at,
        "last_at": schedule.last_at,
        "last_outcome": schedule.last_outcome or None,
    }


def _detail(schedule: Schedule) -> Any:
    when = schedule_recurrence(schedule)
    window = when["window"]
    document = {
        **when,
        "id": schedule.pk,
        "campaign": schedule.campaign_id,
        "window": window and {"from": window.begin, "to": window.end},
        "enabled": schedule.is_enabled,
        "next": schedule_times(schedule),
        "last_at": schedule.last_at,
        "last_outcome": schedule.last_outcome or None,
    }
    return ScheduleDetail(document).data


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
        document = SchedulePatch(data=request.data)
        document.is_valid(raise_exception=True)
        given = document.validated_data
        when = {**schedule_recurrence(schedule), **given}
        for name, other in (("cron", "every_s"), ("every_s", "cron")):
            if given.get(name) is not None and other not in given:
                when[other] = None
        changed = schedule_update(
            schedule=schedule,
            is_enabled=given.get("enabled", schedule.is_enabled),
            actor=actor(request),
            **_recurrence(when),
        )
        return Response(_detail(changed))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, schedule_id: UUID) -> Response:
        """Remove it; the campaign stays."""
        schedule_delete(schedule=self._schedule(request, schedule_id), actor=actor(request))
        return Response(status=204)
