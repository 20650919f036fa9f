"""Saved views, feed keys and reports in the admin: looked at, changed on their pages or by API."""

from django.contrib import admin

from backend.core.admin import ReadOnlyAdmin
from backend.rankings.models import FeedKey, Report, SavedView


@admin.register(SavedView)
class SavedViewAdmin(ReadOnlyAdmin):
    list_display = ("slug", "name", "visibility", "owner", "updated_at")
    list_filter = ("visibility",)


@admin.register(FeedKey)
class FeedKeyAdmin(ReadOnlyAdmin):
    """Keys of feeds, without what they are known by."""

    list_display = ("name", "view", "lookup", "expires_at", "revoked_at", "last_used_at")
    list_select_related = ("view",)
    exclude = ("digest",)


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin):
    list_display = ("slug", "title", "created_by", "created_at", "data_version")
    exclude = ("document",)
