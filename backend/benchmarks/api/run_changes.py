"""Two runs against each other over the API, for a gate on a machine without this program."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.services.acting import workspace_of
from backend.benchmarks.calc.run_changes import RunChange
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.selectors.run_changes import LEAST_LOSS_RATIO, run_comparison
from backend.benchmarks.selectors.runs import runs_visible
from backend.core.rest.parameters import (
    InvalidParameters,
    Reader,
    identifier,
    number,
    one_of,
    read,
)
from backend.core.rest.views import View
from backend.measure.metrics import METRICS

OUTCOMES = tuple(change.name.lower() for change in RunChange)


def loss(value: str) -> float:
    """A share above 0 and below 1."""
    ratio = float(number(value))
    if not 0 < ratio < 1:
        raise ValueError(f"{value!r} is not above 0 and below 1")
    return ratio


READERS: dict[str, Reader] = {
    "before": identifier,
    "least_loss_ratio": loss,
    "metric": one_of(tuple(METRICS)),
}
PARAMETERS = [
    OpenApiParameter(
        "before", OpenApiTypes.UUID, required=True, description="Identifier of the earlier run"
    ),
    OpenApiParameter(
        "least_loss_ratio",
        OpenApiTypes.DOUBLE,
        description=f"The loss that counts, above 0 and below 1 (default: {LEAST_LOSS_RATIO})",
    ),
    OpenApiParameter(
        "metric",
        OpenApiTypes.STR,
        many=True,
        enum=sorted(METRICS),
        description="Compare only this metric; may be given several times",
    ),
]


class MetricChangeSerializer(serializers.Serializer[Any]):
    """A metric of both runs, in its unit."""

    metric = serializers.CharField()
    variant = serializers.CharField()
    unit = serializers.CharField()
    before = serializers.FloatField()
    after = serializers.FloatField()
    change_ratio = serializers.FloatField(allow_null=True, help_text="after / before - 1")
    is_apart = serializers.BooleanField(help_text="whether the two differ at all")
    outcome = serializers.ChoiceField(choices=OUTCOMES)
    change_low = serializers.FloatField(
        allow_null=True, help_text="lower end of the change's 95% interval"
    )
    change_high = serializers.FloatField(allow_null=True, help_text="its upper end")


class RunComparisonSerializer(serializers.Serializer[Any]):
    """Changes of a run against an earlier one."""

    before = serializers.UUIDField()
    after = serializers.UUIDField()
    outcome = serializers.ChoiceField(choices=OUTCOMES)
    exit_code = serializers.IntegerField(help_text="of a gate: 0 fine, 1 worse, 2 unclear")
    why = serializers.CharField(help_text="the metrics or runs that decide; empty where fine")
    differences = serializers.ListField(child=serializers.CharField())
    left_out = serializers.ListField(child=serializers.CharField())
    metrics = MetricChangeSerializer(many=True)


class RunComparisonView(View):
    """A run against an earlier one, metric by metric, by the rule of the ranking."""

    @extend_schema(
        operation_id="runs_compare",
        parameters=PARAMETERS,
        responses={200: RunComparisonSerializer},
    )
    def get(self, request: Request, run_id: UUID, **_: Any) -> Response:
        params = dict(request.query_params.lists())
        values, warnings = read(params, READERS)
        if "before" not in values:
            raise InvalidParameters([("before", "the identifier of the earlier run is needed")])
        metrics = {name.strip() for name in params.get("metric", ()) if name.strip()}
        for name in metrics:
            read({"metric": [name]}, READERS)
        runs = runs_visible(workspace_of(request))
        before = get_object_or_404(runs, pk=values["before"])
        after = get_object_or_404(runs, pk=run_id)
        ratio = values.get("least_loss_ratio", LEAST_LOSS_RATIO)
        compared = run_comparison(before, after, least_loss_ratio=ratio, metrics=metrics)
        document = compared.document()
        for run in (before, after):
            # Parameters that differ may name a peer, and strangers are not to see where hosts are.
            redaction = redaction_for(request.user, run)
            document["differences"] = [
                redaction.message(difference) for difference in document["differences"]
            ]
        headers = {"X-Warning": "; ".join(warnings).encode("ascii", "replace").decode()}
        shown = RunComparisonSerializer(document).data
        return Response(shown, headers=headers if warnings else None)
