"""Documents of subscriptions as they go over the wire (schema 1)."""

from typing import Any

from rest_framework import serializers

from backend.core.rest.documents import answer_fields
from backend.notifications.selectors.subscriptions import SubscriptionFields, SubscriptionSettings


class SubscriptionPatch(SubscriptionSettings):
    """Changed fields of a subscription."""

    is_change = True


class SubscriptionDetail(serializers.Serializer[Any]):
    """A subscription without its secret; counts are of its notices."""

    id = serializers.UUIDField()
    channel = serializers.CharField()
    campaign = serializers.UUIDField(
        allow_null=True, help_text="the only one it is notified of; null: of everything"
    )
    has_secret = serializers.BooleanField()
    sent = serializers.IntegerField()
    waiting = serializers.IntegerField()
    given_up = serializers.IntegerField()
    last_sent_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)

    def get_fields(self) -> dict[str, "serializers.Field[Any, Any, Any, Any]"]:
        return {**answer_fields(SubscriptionFields), **super().get_fields()}
