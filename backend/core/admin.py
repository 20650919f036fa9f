"""Shared parts of the apps' admin pages."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest

from backend.core.rest.permissions import ADMIN

if TYPE_CHECKING:
    AnyAdmin = admin.ModelAdmin[Any]
else:
    # Generic for the type checker only.
    AnyAdmin = admin.ModelAdmin


class Site(admin.AdminSite):
    """Without a second way to sign in: it would know neither throttle nor second factor."""

    def has_permission(self, request: HttpRequest) -> bool:
        person: Any = request.user
        return super().has_permission(request) and person.scope == ADMIN

    def login(self, request: HttpRequest, extra_context: Any = None) -> Any:
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.GET.get("next", request.get_full_path()))


class ReadOnlyAdmin(AnyAdmin):
    """Rows that are only looked at: they are appended by services and never edited."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    # Django then shows the row without a form: whoever may view it sees every field, and no way to
    # write it past the service that leaves a line in the audit trail.
    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False
