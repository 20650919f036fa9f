"""Hosts, runs and results in the admin: to look at, and to leave a sample out for a reason."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest

from backend.accounts.services.workspaces import default_workspace, may_write
from backend.benchmarks.models import (
    Campaign,
    Evidence,
    Host,
    Run,
    Sample,
    Schedule,
    Step,
)
from backend.benchmarks.services.imports import sample_exclude, sample_include
from backend.core.admin import AnyAdmin, ReadOnlyAdmin
from backend.foundation.errors import InvalidValue


@admin.register(Host)
class HostAdmin(ReadOnlyAdmin):
    """Hosts, without their keys."""

    list_display = ("name", "offer", "driver", "state", "address")
    exclude = ("sealed_private_key",)


@admin.register(Campaign)
class CampaignAdmin(ReadOnlyAdmin):
    """Campaigns."""

    list_display = ("name", "profile", "state", "round", "repeats", "concurrency", "created_at")
    list_filter = ("state", "profile")


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    """When campaigns start by themselves."""

    list_display = ("campaign", "__str__", "time_zone", "is_enabled", "next_at", "last_outcome")
    list_filter = ("is_enabled",)
    list_select_related = ("campaign",)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Runs."""

    list_display = ("id", "host", "profile", "state", "failure_reason", "created_at")
    list_filter = ("state", "profile", "failure_reason")


@admin.register(Step)
class StepAdmin(ReadOnlyAdmin):
    """Steps of the runs with their leases."""

    list_display = ("run", "state", "attempt", "lease_until", "next_due_at", "finished_at")


@admin.register(Evidence)
class EvidenceAdmin(ReadOnlyAdmin):
    """Commands; the raw output is on the page of the run."""

    list_display = ("run", "n", "probe", "variant", "repeat", "exit_code", "size_bytes")
    exclude = ("raw_gzip",)


@admin.register(Sample)
class SampleAdmin(AnyAdmin):
    """Results; only the reason for leaving one out can be written."""

    list_display = ("offer", "metric", "variant", "repeat", "value", "source", "excluded_reason")
    list_filter = ("metric", "source")
    search_fields = ("offer__slug",)
    list_select_related = ("offer",)

    def get_readonly_fields(self, request: HttpRequest, obj: Sample | None = None) -> list[str]:
        return [f.name for f in Sample._meta.fields if f.name != "excluded_reason"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Sample | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Sample | None = None) -> bool:
        is_owned = obj is None or may_write(default_workspace(), obj)
        return is_owned and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Sample, form: Any, change: bool) -> None:
        workspace, actor = default_workspace(), request.user.get_username()
        try:
            if reason := obj.excluded_reason:
                sample_exclude(workspace=workspace, sample=obj, reason=reason, actor=actor)
            else:
                sample_include(workspace=workspace, sample=obj, actor=actor)
        except InvalidValue as error:
            self.message_user(request, str(error), messages.ERROR)
