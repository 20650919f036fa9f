"""Runs: start, follow, cancel; their samples and raw evidence."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.api import documents
from backend.benchmarks.calc.campaign_document import RunDocument
from backend.benchmarks.calc.labels import labels_text
from backend.benchmarks.models import Evidence, Run, RunState, Sample, Source
from backend.benchmarks.selectors.consequences import run_consequences
from backend.benchmarks.selectors.evidence import (
    EvidenceDamaged,
    TextDeleted,
    evidence_listed,
    evidence_series,
    evidence_shown,
    evidence_text,
)
from backend.benchmarks.selectors.hosts import hosts_visible
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.selectors.runs import run_results, run_view, runs_visible
from backend.benchmarks.selectors.samples import samples_count, samples_visible
from backend.benchmarks.services.archive_import import archived_run_delete
from backend.benchmarks.services.hosts import HostNotTrusted
from backend.benchmarks.services.rented_runs import rented_run_create
from backend.benchmarks.services.runs import run_cancel, run_create
from backend.catalog.selectors.offers import offer_with_slug
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import NoDocument, Problem
from backend.core.rest.parameters import identifier, one_of, text, whole
from backend.core.rest.permissions import RUN, WRITE
from backend.core.rest.problem import Conflict
from backend.core.rest.renderers import TextRenderer
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import FilteredListView, ListAnswer, View
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import METRICS
from backend.measure.profiles import PROFILES


class RunsView(FilteredListView):
    """Runs of the workspace, newest first."""

    name = "runs"
    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}
    lookups = {
        "campaign": ("campaign_id", identifier),
        "round": ("round", whole(0, 1_000_000)),
        "host": ("host_id", identifier),
        "offer": ("offer__slug", text),
        "state": ("state", one_of(RunState.values)),
        "profile": ("profile", one_of(tuple(PROFILES))),
    }
    since = "created_at"
    orders = {
        "offer": "offer__slug",
        "state": "state",
        "created_at": "created_at",
        "finished_at": "finished_at",
    }
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("host", ColumnType.TEXT, "Identifier of the host"),
        Column("offer", ColumnType.TEXT, "Slug of the offer"),
        Column("profile", ColumnType.TEXT, "quick, standard or full"),
        Column("state", ColumnType.TEXT, "State; done, failed, cancelled and lost are final"),
        Column("progress", ColumnType.NUMBER, "0 to 1"),
        Column("created_at", ColumnType.TIME, "When it was asked for"),
        Column("started_at", ColumnType.TIME, "When a worker took it up"),
        Column("finished_at", ColumnType.TIME, "When it ended"),
        Column("overhead_s", ColumnType.NUMBER, "Wall time that was not the measuring itself", "s"),
        Column("failure_reason", ColumnType.TEXT, "Why it failed"),
        Column("labels", ColumnType.TEXT, "What it is called by: name=text, several with commas"),
    )

    def listing(self, request: Request) -> ListAnswer:
        conditions, shown = self.asked(request)
        runs = runs_visible(workspace_of(request)).filter(**conditions)
        runs = runs.order_by("-created_at", "id")
        return ListAnswer(self.columns, runs, runs.count(), cells=_run_cells, **shown)

    @extend_schema(request=RunDocument, responses={202: documents.RunStateSerializer, 409: Problem})
    def post(self, request: Request, **_: Any) -> Response:
        """Start a run on a host, or on a machine of an offer that is rented for it.

        409 with the fingerprint seen when the host's key is not approved.
        """
        document = RunDocument.read(request.data)
        stated = document.model_dump(include={"profile", "probes", "parameters", "labels"})
        if document.offer is not None and document.budget is not None:
            rented = rented_run_create(
                workspace=workspace_of(request),
                offer=offer_with_slug(document.offer, workspace_slug(request)),
                budget=document.budget,
                actor=actor(request),
                **stated,
            )
            return _accept(request, rented)
        host = hosts_visible(workspace_of(request)).filter(pk=str(document.host)).first()
        if host is None:
            raise InvalidValue("/host", f"no host has the id {document.host}")
        try:
            run = run_create(host=host, actor=actor(request), **stated)
        except HostNotTrusted as error:
            raise Conflict(str(error), fingerprint_sha256=error.fingerprint) from error
        return _accept(request, run)


def _run_cells(run: Run) -> dict[str, Any]:
    return {
        **vars(run),
        "host": run.host_id,
        "offer": run.offer.slug,
        "progress": run.progress_ratio,
        "overhead_s": run.overhead_s,
        "failure_reason": run.failure_reason or None,
        "labels": labels_text(run.labels) or None,
    }


def _url(request: Request, run: Run) -> str:
    return reverse("api:run", kwargs={"run_id": run.pk}, request=request)


def _accept(request: Request, run: Run) -> Response:
    url = _url(request, run)
    state = documents.RunStateSerializer({"id": run.pk, "state": run.state, "url": url})
    # How often to look at it: the engine ticks every five seconds.
    return Response(state.data, status=202, headers={"Location": url, "Retry-After": "5"})


def _run(request: Request, run_id: UUID) -> Run:
    return get_object_or_404(runs_visible(workspace_of(request)), pk=run_id)


class OneRunView(View):
    """A run."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": WRITE}

    @extend_schema(operation_id="runs_get", responses={200: documents.RunDetail})
    def get(self, request: Request, run_id: UUID, **_: Any) -> Response:
        run = _run(request, run_id)
        redaction = redaction_for(request.user, run)
        shown = run_view(run, redaction)
        document = {
            **_run_cells(run),
            "environment": redaction.value(run.environment),
            "stage": shown.stage,
            "probe": shown.probe or None,
            "failure": shown.failure and {"reason": shown.failure[0], "detail": shown.failure[1]},
            "results": redaction.value(run_results(shown.samples)),
            "samples": redaction.value([_run_sample(sample) for sample in shown.samples]),
            "evidence": [_run_evidence(request, item) for item in shown.evidence],
            "url": _url(request, run),
            "eta_s": shown.remaining_s,
            "silence": shown.silence,
            "cost": shown.cost,
        }
        return Response(documents.RunDetail(document).data)

    @deleting("runs_delete")
    def delete(self, request: Request, run_id: UUID, **_: Any) -> Response:
        """Delete a run that came as an archive, with its figures; 409 for one that was made here."""
        workspace, run = workspace_of(request), _run(request, run_id)
        try:
            return delete_response(
                request,
                partial(run_consequences, run),
                partial(archived_run_delete, workspace=workspace, run=run, actor=actor(request)),
            )
        except InvalidValue as error:
            raise Conflict(error.detail) from error


def _run_sample(sample: Sample) -> dict[str, Any]:
    return {
        "metric": sample.metric,
        "variant": sample.variant,
        "parameters": sample.parameters,
        "unit": sample.unit,
        "value": sample.value,
        "repeat": sample.repeat,
        "flags": sample.flags,
        "evidence": sample.evidence.n if sample.evidence else None,
    }


def _run_evidence(request: Request, item: Evidence) -> dict[str, Any]:
    key = {"run_id": item.run_id, "n": item.n}
    return {
        **vars(item),
        "bytes": item.size_bytes,
        "url": reverse("api:run-evidence", kwargs=key, request=request),
        "series_url": reverse("api:run-evidence-series", kwargs=key, request=request)
        if getattr(item, "has_series", False)
        else None,
    }


class RunCancelView(View):
    """End a run early; what was measured is kept."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}

    @extend_schema(request=NoDocument, responses={202: documents.RunStateSerializer})
    def post(self, request: Request, run_id: UUID) -> Response:
        """A run that has ended stays as it is."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        run = run_cancel(run=_run(request, run_id), actor=actor(request))
        return _accept(request, run)


class RunEvidenceView(View):
    """The raw output of one command, as it was."""

    renderer_classes = (TextRenderer,)

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, run_id: UUID, n: int) -> Response:
        run = _run(request, run_id)
        item = get_object_or_404(run.evidence.all(), n=n)
        try:
            raw = evidence_text(item, redaction_for(request.user, run))
        except TextDeleted as error:
            raise Http404(str(error)) from error
        except EvidenceDamaged as error:
            raise APIException(str(error)) from error
        # The checksum is that of the text as measured: strangers see it without addresses.
        return Response(raw, headers={"X-Content-SHA256": item.sha256})


class RunEvidenceSeriesView(View):
    """Observations beside a command, one a second: column → values, null where unknown."""

    @extend_schema(
        operation_id="runs_evidence_series_get",
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, run_id: UUID, n: int, **_: Any) -> Response:
        item = get_object_or_404(_run(request, run_id).evidence.defer("raw_gzip"), n=n)
        series = evidence_series(item)
        if series is None:
            raise Http404(f"nothing was recorded beside evidence {n}")
        return Response(series)


class SamplesView(FilteredListView):
    """Every number with where it came from."""

    name = "samples"
    lookups = {
        "offer": ("offer__slug", text),
        "metric": ("metric", one_of(tuple(METRICS))),
        "variant": ("variant", text),
        "run": ("run_id", identifier),
        "source": ("source", one_of(Source.values)),
    }
    since = "measured_at"
    orders = {
        "offer": "offer__slug",
        "metric": "metric",
        "value": "value",
        "measured_at": "measured_at",
    }
    columns = (
        Column("sample_id", ColumnType.INTEGER, "Number"),
        Column("offer", ColumnType.TEXT, "Slug of the offer"),
        Column("metric", ColumnType.TEXT, "Key of the metric"),
        Column("variant", ColumnType.TEXT, "Variant of the test"),
        Column("repeat", ColumnType.INTEGER, "Repeat within the run"),
        Column("value", ColumnType.NUMBER, "Result"),
        Column("unit", ColumnType.TEXT, "Its unit"),
        Column("flags", ColumnType.LIST, "disturbed, cached, …"),
        Column("source", ColumnType.TEXT, "measured, published or imported"),
        Column("source_note", ColumnType.TEXT, "Where a published figure was read"),
        Column("measured_at", ColumnType.TIME, "When"),
        Column("method_version", ColumnType.TEXT, "Version of the method"),
        Column("run", ColumnType.TEXT, "Identifier of the run"),
        Column("evidence", ColumnType.INTEGER, "Number of its evidence in the run"),
        Column("excluded_reason", ColumnType.TEXT, "Why a person left it out"),
    )

    def listing(self, request: Request) -> ListAnswer:
        conditions, shown = self.asked(request)
        workspace = workspace_of(request)
        samples = (
            samples_visible(workspace)
            .filter(**conditions)
            # No column shows texts or series, and a page of samples would load megabytes of them.
            .defer("evidence__raw_gzip", "evidence__series")
            .order_by("-measured_at", "id")
        )
        count = samples.count() if conditions else samples_count(workspace)
        return ListAnswer(self.columns, samples, count, cells=_sample_cells, **shown)


def _sample_cells(sample: Sample) -> dict[str, Any]:
    return {
        **vars(sample),
        "sample_id": sample.pk,
        "offer": sample.offer.slug,
        "flags": sample.flags or None,
        "source_note": sample.source_note or None,
        "method_version": sample.method_version or None,
        "run": sample.run_id,
        "evidence": sample.evidence.n if sample.evidence else None,
        "excluded_reason": sample.excluded_reason or None,
    }


class ResultsView(SamplesView):
    """Every number with where it came from; another address of samples."""

    name = "results"


class EvidenceView(FilteredListView):
    """Every command that was run, with the checksum of its raw output."""

    name = "evidence"
    orders = {"probe": "probe", "run": "run_id"}
    since = "created_at"
    lookups = {"run": ("run_id", identifier), "probe": ("probe", text)}
    columns = (
        Column("run", ColumnType.TEXT, "Identifier of the run"),
        Column("n", ColumnType.INTEGER, "Number within the run"),
        Column("probe", ColumnType.TEXT, "Probe"),
        Column("variant", ColumnType.TEXT, "Variant of the test"),
        Column("repeat", ColumnType.INTEGER, "Repeat"),
        Column("command", ColumnType.TEXT, "Command as run"),
        Column("tool_version", ColumnType.TEXT, "Version of the tool"),
        Column("exit_code", ColumnType.INTEGER, "Exit status"),
        Column("bytes", ColumnType.INTEGER, "Size of the raw output", "bytes"),
        Column("sha256", ColumnType.TEXT, "Checksum of the raw output"),
        Column("url", ColumnType.TEXT, "Address of the raw output"),
        Column("series_url", ColumnType.TEXT, "Address of what was seen once a second beside it"),
    )

    def listing(self, request: Request) -> ListAnswer:
        conditions, shown = self.asked(request)
        items = (
            evidence_listed(
                Evidence.objects.filter(run__workspace=workspace_of(request), **conditions)
            )
            .select_related("run__host", "run__peer")
            .order_by("run_id", "n")
        )

        def cells(item: Evidence) -> dict[str, Any]:
            # Commands and errors name hosts, which strangers are not to see in the list either.
            if item.run is not None:
                evidence_shown(item, redaction_for(request.user, item.run))
            return {"run": item.run_id, **_run_evidence(request, item)}

        return ListAnswer(self.columns, items, items.count(), cells=cells, **shown)
