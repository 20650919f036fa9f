"""JSON Schemas of the documents that go over the wire, made from their serializers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.tokens import TokenDocument
from backend.benchmarks.api import campaign_documents, documents, results
from backend.benchmarks.calc.campaign_document import CampaignDocument, RunDocument
from backend.benchmarks.calc.host_document import HostDocument
from backend.benchmarks.calc.schedules import ScheduleDocument
from backend.benchmarks.calc.setup_document import SetupDocument
from backend.calculators.calc.arrays import ArrayDocument, ArrayResult
from backend.calculators.calc.links import ContentionDocument, ContentionResult
from backend.catalog.api import discounts, feeds, price_refresh
from backend.catalog.api import documents as catalog_documents
from backend.catalog.api.documents import AnyNumberField
from backend.catalog.calc.hardware_document import OfferedHardwareDocument
from backend.core.rest.documents import AmountField, AnswerField, Strict
from backend.core.rest.views import View
from backend.foundation.documents.model import json_schema as schema_of
from backend.notifications.selectors.subscriptions import SubscriptionDocument
from backend.rankings.api import requirements, views
from backend.rankings.calc.requirement_document import RequirementDocument
from backend.rentals.api import cloud_accounts
from backend.scenarios.api import documents as scenario_documents
from backend.scenarios.calc.document import ScenarioDocument

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NUMBER_PATTERN = r"^[+-]?[0-9]+(\.[0-9]+)?$"
# The first that fits: a field of pattern is also a field of text.
TYPES: Mapping[type[serializers.Field[Any, Any, Any, Any]], Mapping[str, Any]] = {
    serializers.DictField: {"type": "object"},
    serializers.BooleanField: {"type": "boolean"},
    serializers.IntegerField: {"type": "integer"},
    serializers.FloatField: {"type": "number"},
    serializers.UUIDField: {"type": "string", "format": "uuid"},
    serializers.DateTimeField: {"type": "string", "format": "date-time"},
    serializers.TimeField: {"type": "string", "pattern": "^([01]?[0-9]|2[0-3]):[0-5]?[0-9]$"},
    AnyNumberField: {"type": ["string", "number"], "pattern": NUMBER_PATTERN},
    serializers.RegexField: {"type": "string", "pattern": "^[A-Z]{3}$"},
    serializers.CharField: {"type": "string"},
}
DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "approval": documents.ApprovalDocument,
    "run-detail": documents.RunDetail,
    **campaign_documents.DOCUMENTS,
    **results.DOCUMENTS,
    "token": TokenDocument,
    **cloud_accounts.DOCUMENTS,
    **discounts.DOCUMENTS,
    **feeds.DOCUMENTS,
    **price_refresh.DOCUMENTS,
    **catalog_documents.DOCUMENTS,
    **views.DOCUMENTS,
    **requirements.DOCUMENTS,
    **scenario_documents.DOCUMENTS,
}
# Documents that no serializer reads.
READ_BY_THE_DOMAIN: Mapping[str, Callable[[], dict[str, Any]]] = {
    "campaign": partial(schema_of, CampaignDocument),
    "host": partial(schema_of, HostDocument),
    "hardware": partial(schema_of, OfferedHardwareDocument),
    "requirement": partial(schema_of, RequirementDocument),
    "run": partial(schema_of, RunDocument),
    "scenario": partial(schema_of, ScenarioDocument),
    "schedule": partial(schema_of, ScheduleDocument),
    "setup": partial(schema_of, SetupDocument),
    "subscription": partial(schema_of, SubscriptionDocument),
    "contention": partial(schema_of, ContentionDocument),
    "contention-result": partial(schema_of, ContentionResult),
    "array": partial(schema_of, ArrayDocument),
    "array-result": partial(schema_of, ArrayResult),
}


def json_schema(field: serializers.Field[Any, Any, Any, Any]) -> dict[str, Any]:
    """The JSON Schema of a serializer or of one of its fields."""
    schema = _type_schema(field)
    if field.help_text:
        schema["description"] = str(field.help_text)
    if field.allow_null:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return schema


def _type_schema(field: serializers.Field[Any, Any, Any, Any]) -> dict[str, Any]:
    if isinstance(field, serializers.Serializer):
        return _object(field)
    # Before the table, which has no lists: what they hold is described by their child.
    if isinstance(field, (serializers.ListSerializer, serializers.ListField)):
        return {"type": "array", "items": json_schema(field.child)}  # type: ignore[arg-type]
    # None of DRF's kinds, so it has no line in the table, and its pattern depends on its decimals.
    if isinstance(field, AmountField):
        return {"type": "string", "pattern": rf"^[0-9]{{1,10}}(\.[0-9]{{1,{field.decimals}}})?$"}
    if isinstance(field, AnswerField):
        return field.schema
    if isinstance(field, serializers.ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    schema = next(dict(schema) for kind, schema in TYPES.items() if isinstance(field, kind))
    bounds = {
        "minimum": getattr(field, "min_value", None),
        "maximum": getattr(field, "max_value", None),
        "maxLength": getattr(field, "max_length", None),
        "minLength": getattr(field, "min_length", None),
    }
    return schema | {name: bound for name, bound in bounds.items() if bound is not None}


def _object(document: serializers.Serializer[Any]) -> dict[str, Any]:
    fields = document.fields
    is_strict = isinstance(document, Strict)
    return {
        "type": "object",
        "description": (type(document).__doc__ or "").strip(),
        "properties": {name: json_schema(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        # Only a Strict serializer refuses a field that it does not know.
        "additionalProperties": not is_strict,
    }


class SchemaView(View):
    """The JSON Schema of one document."""

    @extend_schema(responses={200: dict})
    def get(self, request: Request, name: str) -> Response:
        schema = {"$schema": DRAFT, "$id": request.build_absolute_uri(), "title": name}
        if name in READ_BY_THE_DOMAIN:
            return Response(schema | READ_BY_THE_DOMAIN[name]())
        if name not in DOCUMENTS:
            raise Http404
        return Response(schema | json_schema(DOCUMENTS[name]()))
