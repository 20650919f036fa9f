"""Answers about many documents that were sent at once."""

from typing import Any

from rest_framework import serializers


class AppliedDocuments(serializers.Serializer[Any]):
    """The outcome of the documents; nothing is stored of a dry run."""

    is_dry = serializers.BooleanField()
    created = serializers.ListField(child=serializers.CharField())
    changed = serializers.ListField(child=serializers.CharField())
    unchanged = serializers.IntegerField()
