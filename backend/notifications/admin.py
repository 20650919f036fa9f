"""Subscriptions and their notices in the admin: to look at."""

from django.contrib import admin

from backend.core.admin import ReadOnlyAdmin
from backend.notifications.models import Notice, Subscription


@admin.register(Subscription)
class SubscriptionAdmin(ReadOnlyAdmin):
    """Recipients, without the secrets."""

    list_display = ("address", "channel", "kinds", "is_enabled")
    exclude = ("sealed_secret",)


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    """Notices, sent or waiting."""

    list_display = ("key", "subscription", "attempt", "next_due_at", "sent_at", "last_error")
    list_select_related = ("subscription",)
