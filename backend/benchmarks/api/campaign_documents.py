"""Documents of campaigns and schedules as they go over the wire (schema 1)."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from backend.benchmarks.calc.campaign_document import CampaignDocument
from backend.benchmarks.calc.schedules import Recurrence, ScheduleDocument
from backend.benchmarks.selectors.campaigns import CELL_STATES
from backend.core.rest.documents import ZonedTimeField, answer_fields

Fields = dict[str, "serializers.Field[Any, Any, Any, Any]"]

# --- campaigns --------------------------------------------------------------------------------------


class CampaignChange(CampaignDocument):
    """Changed fields of a campaign; what is left out stays. After the first round only the name,
    the budget and how many runs are active at once."""

    is_change = True


class AmountShown(serializers.Serializer[Any]):
    """An amount of money."""

    amount = serializers.CharField(help_text="A decimal string, never rounded to cents")
    currency = serializers.CharField()


class CampaignRun(serializers.Serializer[Any]):
    """A run of a campaign's newest round; with a peer it measured the network between both."""

    id = serializers.UUIDField()
    host = serializers.UUIDField()
    offer = serializers.CharField()
    peer = serializers.UUIDField(allow_null=True)
    state = serializers.CharField()
    progress = serializers.FloatField()
    failure_reason = serializers.CharField(allow_null=True)
    url = serializers.URLField()


class CampaignStateSerializer(serializers.Serializer[Any]):
    """A campaign just made, started or asked to end; amounts are null while a price is unknown."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    round = serializers.IntegerField()
    url = serializers.URLField()
    cost_estimate = AmountShown(allow_null=True)
    cost_note = serializers.CharField(allow_null=True)
    run_count = serializers.IntegerField(help_text="Runs of the newest round that count")
    runs = CampaignRun(many=True, help_text="Of one page of targets")


class MatrixCell(serializers.Serializer[Any]):
    """The result of a probe on a target."""

    target = serializers.CharField()
    probe = serializers.CharField()
    state = serializers.ChoiceField(choices=CELL_STATES)
    run = serializers.UUIDField()


class CampaignDetail(CampaignStateSerializer):
    """A campaign with its newest round."""

    progress = serializers.FloatField()
    remaining_s = serializers.FloatField(allow_null=True)
    cost_so_far = AmountShown(allow_null=True)
    cost_so_far_note = serializers.CharField(allow_null=True)
    matrix = MatrixCell(many=True, help_text="Of one page of targets")
    count = serializers.IntegerField(help_text="Targets of the newest round")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    warnings = serializers.ListField(child=serializers.CharField())

    def get_fields(self) -> Fields:
        return {**answer_fields(CampaignDocument), **super().get_fields()}


# --- schedules --------------------------------------------------------------------------------------


class SchedulePatch(Recurrence):
    """Other times of a schedule; what is left out stays."""

    is_change = True


class ScheduleDetail(serializers.Serializer[Any]):
    """A schedule with its next five starts; none while it is not enabled."""

    id = serializers.UUIDField()
    next = serializers.ListField(child=ZonedTimeField())
    last_at = serializers.DateTimeField(allow_null=True)
    last_outcome = serializers.CharField(allow_null=True)

    def get_fields(self) -> Fields:
        return {**answer_fields(ScheduleDocument), **super().get_fields()}


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "campaign-detail": CampaignDetail,
    "schedule-detail": ScheduleDetail,
}
