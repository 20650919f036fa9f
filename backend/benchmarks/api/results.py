"""Results that somebody imports, their raw text, and samples left out with a reason."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.models import Sample
from backend.benchmarks.selectors.consequences import import_consequences
from backend.benchmarks.selectors.evidence import (
    EvidenceDamaged,
    evidence_text,
    evidence_visible,
)
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.selectors.samples import samples_visible
from backend.benchmarks.services.imports import (
    MAX_REASON,
    AlreadyImported,
    Import,
    import_delete,
    result_import,
    results_import,
    sample_exclude,
    sample_include,
    samples_mark,
)
from backend.catalog.selectors.offers import offer_with_slug
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import BoundedListField, NoDocument, Problem, Strict, TextField
from backend.core.rest.permissions import WRITE
from backend.core.rest.problem import Conflict
from backend.core.rest.renderers import TextRenderer
from backend.core.rest.views import View
from backend.foundation.errors import InvalidValue, ProbeError
from backend.measure.readers.importing import PARAMETERS, TOOLS

MOST_RESULTS = 100
MOST_SAMPLES = 1_000
LARGEST_ID = 2**63 - 1
# A text of 8 MiB with its escapes; the service holds the text itself to its limit.
MAX_BODY_BYTES = 32 * 2**20


class ImportDocument(Strict):
    """The output of a tool, for one offer."""

    offer = TextField(max_length=120)
    tool = serializers.ChoiceField(choices=TOOLS)
    text = TextField(trim_whitespace=False)
    parameters = serializers.DictField(
        required=False,
        allow_null=True,
        default=None,
        help_text=f"{', '.join(PARAMETERS)}: how the text was made",
    )


class ImportedSample(serializers.Serializer[Any]):
    """A result of an imported text."""

    sample_id = serializers.IntegerField()
    metric = serializers.CharField()
    variant = serializers.CharField()
    parameters = serializers.DictField()
    unit = serializers.CharField()
    value = serializers.FloatField()
    repeat = serializers.IntegerField()
    flags = serializers.ListField(child=serializers.CharField())
    source = serializers.CharField()  # type: ignore[assignment]


class ImportedResult(serializers.Serializer[Any]):
    """The content of an imported text."""

    evidence = serializers.IntegerField()
    url = serializers.URLField()
    sha256 = serializers.CharField()
    tool_version = serializers.CharField()
    samples = ImportedSample(many=True)
    warnings = serializers.ListField(child=serializers.CharField())


class ImportBatch(Strict):
    """The output of tools, up to 100 texts."""

    results = BoundedListField(child=ImportDocument(), min_length=1, max_length=MOST_RESULTS)


class ImportedBatch(serializers.Serializer[Any]):
    """The contents of imported texts, in their order."""

    results = ImportedResult(many=True)


class SampleMark(Strict):
    """True if one sample counts."""

    sample_id = serializers.IntegerField(min_value=1, max_value=LARGEST_ID)
    excluded_reason = TextField(
        max_length=MAX_REASON, allow_null=True, help_text="why it is left out; null counts it again"
    )


class SampleMarks(Strict):
    """Which samples count, up to 1,000."""

    samples = BoundedListField(child=SampleMark(), min_length=1, max_length=MOST_SAMPLES)


class ExclusionDocument(Strict):
    """Why a sample is left out."""

    reason = TextField(max_length=MAX_REASON)


class SampleState(serializers.Serializer[Any]):
    """True if a sample counts."""

    sample_id = serializers.IntegerField()
    excluded_reason = serializers.CharField(allow_null=True)


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "result-import": ImportDocument,
    "imported-result": ImportedResult,
    "exclusion": ExclusionDocument,
}


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "sample_id": sample.pk,
        "metric": sample.metric,
        "variant": sample.variant,
        "parameters": sample.parameters,
        "unit": sample.unit,
        "value": sample.value,
        "repeat": sample.repeat,
        "flags": sample.flags,
        "source": sample.source,
    }


class ResultImportView(View):
    """Bring a result along."""

    most_bytes = MAX_BODY_BYTES
    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(
        request=ImportDocument, responses={201: ImportedResult, 409: Problem, 413: Problem}
    )
    def post(self, request: Request) -> Response:
        """Keep a text and its samples; 409 when the offer has the same text already."""
        document = ImportDocument(data=request.data)
        document.is_valid(raise_exception=True)
        fields = document.validated_data
        try:
            made = result_import(
                workspace=workspace_of(request),
                offer=offer_with_slug(fields["offer"], workspace_slug(request)),
                tool=fields["tool"],
                text=fields["text"],
                parameters=fields["parameters"],
                actor=actor(request),
            )
        except ProbeError as error:
            raise InvalidValue("/text", str(error)) from error
        except AlreadyImported as error:
            raise Conflict(str(error)) from error
        answer = _import_answer(request, made)
        return Response(answer, status=201, headers={"Location": answer["url"]})


def _import_answer(request: Request, made: Import) -> dict[str, Any]:
    key = {"evidence_id": made.evidence.pk}
    answer = ImportedResult(
        {
            "evidence": made.evidence.pk,
            "url": reverse("api:result-text", kwargs=key, request=request),
            "sha256": made.evidence.sha256,
            "tool_version": made.evidence.tool_version,
            "samples": [_sample(sample) for sample in made.samples],
            "warnings": made.warnings,
        }
    )
    return dict(answer.data)


class ResultBatchView(View):
    """Bring many results along."""

    most_bytes = MAX_BODY_BYTES
    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(
        operation_id="results_import_batch",
        request=ImportBatch,
        responses={200: ImportedBatch, 413: Problem},
    )
    def post(self, request: Request) -> Response:
        """Keep up to 100 texts and their samples; all or none, errors are named by `/results/<place>`."""
        document = ImportBatch(data=request.data)
        document.is_valid(raise_exception=True)
        made = results_import(
            workspace=workspace_of(request),
            results=document.validated_data["results"],
            actor=actor(request),
        )
        return Response({"results": [_import_answer(request, imported) for imported in made]})


class ImportedResultView(View):
    """An imported text with its figures."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": WRITE}

    @deleting("results_delete")
    def delete(self, request: Request, evidence_id: int) -> Response:
        """Delete it; scores are calculated without its figures, frozen reports keep theirs.
        409 for the evidence of a run."""
        workspace = workspace_of(request)
        evidence = get_object_or_404(evidence_visible(workspace), pk=evidence_id)
        try:
            return delete_response(
                request,
                partial(import_consequences, evidence),
                partial(
                    import_delete, workspace=workspace, evidence=evidence, actor=actor(request)
                ),
            )
        except InvalidValue as error:
            raise Conflict(error.detail) from error


class ResultTextView(View):
    """The text of an imported result, as it was given."""

    renderer_classes = (TextRenderer,)

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, evidence_id: int) -> Response:
        evidence = evidence_visible(workspace_of(request)).filter(run=None)
        item = get_object_or_404(evidence, pk=evidence_id)
        try:
            raw = evidence_text(item, redaction_for(request.user, workspace_of(request)))
        except EvidenceDamaged as error:
            raise APIException(str(error)) from error
        # The checksum is that of the text as imported: strangers see it without addresses.
        return Response(raw, headers={"X-Content-SHA256": item.sha256})


def _visible_sample(request: Request, sample_id: int) -> Sample:
    return get_object_or_404(samples_visible(workspace_of(request)), pk=sample_id)


def _state(sample: Sample) -> Response:
    state = {"sample_id": sample.pk, "excluded_reason": sample.excluded_reason or None}
    return Response(SampleState(state).data)


class SampleExcludeView(View):
    """Leave a sample out of the summaries."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(request=ExclusionDocument, responses={200: SampleState})
    def post(self, request: Request, sample_id: int) -> Response:
        """Leave a sample out for a reason, which stays with it; `include` counts it again."""
        document = ExclusionDocument(data=request.data)
        document.is_valid(raise_exception=True)
        return _state(
            sample_exclude(
                workspace=workspace_of(request),
                sample=_visible_sample(request, sample_id),
                reason=document.validated_data["reason"],
                actor=actor(request),
            )
        )


class SampleIncludeView(View):
    """Count a sample again."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(request=NoDocument, responses={200: SampleState})
    def post(self, request: Request, sample_id: int) -> Response:
        """Count a sample again; one that counts stays as it is."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        sample = _visible_sample(request, sample_id)
        return _state(
            sample_include(workspace=workspace_of(request), sample=sample, actor=actor(request))
        )


class SampleMarksView(View):
    """Leave many samples out, or count them again."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(
        operation_id="samples_mark", request=SampleMarks, responses={204: None, 400: Problem}
    )
    def post(self, request: Request) -> Response:
        """All or none of them; errors are named by `/samples/<place>`."""
        document = SampleMarks(data=request.data)
        document.is_valid(raise_exception=True)
        marks = document.validated_data["samples"]
        samples_mark(
            workspace=workspace_of(request),
            reasons=[(mark["sample_id"], mark["excluded_reason"]) for mark in marks],
            actor=actor(request),
        )
        return Response(status=204)
