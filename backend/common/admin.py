"""What the admin pages of the apps share."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

if TYPE_CHECKING:
    AnyAdmin = admin.ModelAdmin[Any]
else:
    # Generic for the type checker only.
    AnyAdmin = admin.ModelAdmin


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
