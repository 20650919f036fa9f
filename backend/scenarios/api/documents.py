"""Documents of scenarios as the API describes them.

Requests are described only: the domain reads them, and is stricter than any description.
"""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from backend.catalog.api.documents import AnyNumberField
from backend.core.rest.documents import Strict, TextField

Fields = serializers.DictField


class ScenarioChange(Strict):
    """Members that replace those of the document; null takes one away."""

    name = TextField(required=False, max_length=100)
    horizon = Fields(required=False)
    demand = Fields(required=False)
    capacity = Fields(required=False, allow_null=True)
    policy = Fields(required=False, allow_null=True)
    options = serializers.ListField(child=Fields(), min_length=1, required=False)
    extras = Fields(required=False, allow_null=True)
    hazard_per_month = AnyNumberField(required=False, allow_null=True)
    contract = Fields(required=False, allow_null=True)
    tolerated_unserved_share = AnyNumberField(required=False, allow_null=True)
    price_per_unserved_unit_hour = AnyNumberField(required=False, allow_null=True)
    uncertainty = Fields(required=False, allow_null=True)


class ScenarioNote(Strict):
    """Words for what is frozen."""

    note = TextField(required=False, default="", allow_blank=True, max_length=20_000)


class ScenarioDetail(serializers.Serializer[Any]):
    """A scenario that is kept."""

    slug = serializers.CharField()
    name = serializers.CharField()
    template = serializers.CharField(allow_null=True, help_text="that it was opened from")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    frozen_at = serializers.DateTimeField(allow_null=True, help_text="it never changes since")
    note = serializers.CharField(allow_null=True)
    data_version = serializers.IntegerField(allow_null=True, help_text="of a frozen one")
    document = Fields()


class Interval(serializers.Serializer[Any]):
    """Percentiles over the draws; amounts are decimal strings."""

    p5 = serializers.CharField()
    p50 = serializers.CharField()
    p95 = serializers.CharField()


class OptionResult(serializers.Serializer[Any]):
    """Cost of an option, and the demand that it leaves unserved; amounts are decimal strings."""

    name = serializers.CharField()
    cost_total = serializers.CharField(help_text="over the horizon")
    cost_per_month = serializers.CharField(help_text="without what is paid once")
    cost_one_off = serializers.CharField(help_text="set-up")
    cost_per_demand_unit_hour = serializers.CharField(allow_null=True)
    server_hours = serializers.FloatField()
    launches = serializers.FloatField(help_text="those after interruptions included")
    interruptions = serializers.FloatField(help_text="expected number")
    peak_servers = serializers.IntegerField()
    may_be_cheapest = serializers.BooleanField(help_text="serves as much as is tolerated")
    unserved_share = serializers.FloatField(help_text="of all demand")
    unserved_minutes = serializers.FloatField()
    worst_minute_unserved = serializers.FloatField(help_text="in units of the demand")
    utilisation = serializers.FloatField(allow_null=True)
    billing_overhead_ratio = serializers.FloatField(
        allow_null=True, help_text="paid over the same running time without minimum and rounding"
    )
    base_servers = serializers.IntegerField(allow_null=True)
    committed_after_horizon = serializers.CharField(help_text="what is still owed then")
    breakdown = Fields(child=serializers.CharField())
    interval = Interval(allow_null=True)
    p_cheapest = serializers.FloatField(allow_null=True)
    p_serves = serializers.FloatField(allow_null=True)
    regret = serializers.CharField(allow_null=True)
    distinguishable = serializers.BooleanField(
        allow_null=True, help_text="from the option that is cheapest at the median"
    )


class ScenarioResult(serializers.Serializer[Any]):
    """The result of a scenario."""

    schema = serializers.IntegerField()
    input_sha256 = serializers.CharField(help_text="of the document with prices for offers")
    engine_version = serializers.CharField()
    demand = Fields(child=serializers.FloatField(), help_text="peak, mean, unit_hours")
    options = OptionResult(many=True)
    break_even = serializers.ListField(child=Fields())
    tornado = serializers.ListField(child=Fields())
    assumptions = serializers.ListField(child=Fields())
    data_version = serializers.IntegerField(help_text="state of prices and scores")


class OfferMixServers(serializers.Serializer[Any]):
    """Servers of one offer in a mix."""

    offer = serializers.CharField(help_text="slug")
    count = serializers.IntegerField()
    price_id = serializers.CharField(help_text="identifier of the price observation")


class OfferMix(serializers.Serializer[Any]):
    """The cheapest fleet that carries the peak and always runs; amounts are decimal strings.

    `servers` is empty, and the costs null, where none is known: at the term spot, of nothing, and
    beyond 1,000 servers or the limits of the policy.
    """

    servers = OfferMixServers(many=True)
    cost = serializers.CharField(allow_null=True, help_text="over the whole horizon")
    cost_per_month = serializers.CharField(allow_null=True, help_text="without what is paid once")
    cost_floor = serializers.CharField(
        allow_null=True, help_text="no such fleet costs less; null: none is cheaper than this one"
    )
    peak = serializers.FloatField(help_text="of the demand, in its unit")
    carried = serializers.FloatField(
        allow_null=True, help_text="of the demand, at the target utilisation"
    )
    unit = serializers.CharField()
    currency = serializers.CharField()
    offers = serializers.IntegerField(help_text="that may be mixed")
    left_out = serializers.DictField(
        child=serializers.IntegerField(), help_text="offers with a score, by what they lack"
    )
    warnings = serializers.ListField(child=serializers.CharField())
    data_version = serializers.IntegerField()


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "scenario-change": ScenarioChange,
    "scenario-detail": ScenarioDetail,
    "scenario-result": ScenarioResult,
    "offer-mix": OfferMix,
}
