"""Documents of subscriptions as they go over the wire (schema 1)."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from backend.core.rest.documents import FlagField, Strict, TextField
from backend.notifications.channels import CHANNELS
from backend.notifications.models import NoticeKind
from backend.notifications.services.subscriptions import (
    MAX_SECRET_CHARACTERS,
    MIN_SECRET_CHARACTERS,
)


def _secret() -> TextField:
    return TextField(
        min_length=MIN_SECRET_CHARACTERS,
        max_length=MAX_SECRET_CHARACTERS,
        # The receiver signs with the secret as it was typed, spaces at its ends included.
        trim_whitespace=False,
        allow_null=True,
        required=False,
        write_only=True,
    )


class SubscriptionDocument(Strict):
    """Who is notified of what; the secret that signs a webhook is kept encrypted and never shown."""

    channel = serializers.ChoiceField(choices=list(CHANNELS))
    address = TextField(max_length=500)
    secret = _secret()
    kinds = serializers.ListField(child=serializers.ChoiceField(choices=NoticeKind.values))
    enabled = FlagField(required=False, default=True)


class SubscriptionPatch(Strict):
    """Changed fields of a subscription."""

    address = TextField(max_length=500, required=False)
    secret = _secret()
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=NoticeKind.values), required=False
    )
    enabled = FlagField(required=False)


class SubscriptionDetail(serializers.Serializer[Any]):
    """A subscription without its secret; counts are of its notices."""

    id = serializers.UUIDField()
    channel = serializers.CharField()
    address = serializers.CharField()
    kinds = serializers.ListField(child=serializers.CharField())
    campaign = serializers.UUIDField(
        allow_null=True, help_text="the only one it is notified of; null: of everything"
    )
    enabled = serializers.BooleanField()
    has_secret = serializers.BooleanField()
    sent = serializers.IntegerField()
    waiting = serializers.IntegerField()
    given_up = serializers.IntegerField()
    last_sent_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {"subscription": SubscriptionDocument}
