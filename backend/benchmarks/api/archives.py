"""A run as one file: exported here, imported elsewhere."""

from collections.abc import Mapping
from typing import IO, Any, ClassVar
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotAuthenticated
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.selectors.archive import (
    AddressesInOutputs,
    RunNotFinished,
    archive_name,
    run_archive,
)
from backend.benchmarks.selectors.evidence import EvidenceDamaged, TextDeleted
from backend.benchmarks.selectors.runs import runs_visible
from backend.benchmarks.services.archive_import import run_import
from backend.benchmarks.services.archive_reading import MAX_PACKED_BYTES
from backend.benchmarks.services.imports import AlreadyImported
from backend.catalog.selectors.offers import offer_with_slug
from backend.core.rest.documents import Problem
from backend.core.rest.permissions import WRITE
from backend.core.rest.problem import Conflict
from backend.core.rest.views import View
from backend.foundation.errors import InvalidValue

JSON = "application/json"


class FileParser(BaseParser):
    """The body as it is, whatever it calls itself."""

    # Callers name such a file in many ways; its first bytes say what it is.
    media_type = "*/*"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return stream.read()


class ImportedRun(serializers.Serializer[Any]):
    """A run that came with an archive."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    host = serializers.UUIDField()
    samples = serializers.IntegerField()
    evidence = serializers.IntegerField()
    url = serializers.URLField()


class RunArchiveView(View):
    """Everything of a finished run as one document, with checksums."""

    @extend_schema(responses={(200, JSON): OpenApiTypes.OBJECT, 409: Problem})
    def get(self, request: Request, run_id: UUID) -> HttpResponseBase:
        """All of a run as a file of JSON; the same run gives the same bytes; 409 while it is not
        finished or once texts of it were too old to be kept."""
        runs = runs_visible(workspace_of(request)).select_related("peer", "offer__region")
        run = get_object_or_404(runs, pk=run_id)
        try:
            is_known = request.user.is_authenticated
            content = run_archive(run, is_for_strangers=not is_known)
        except AddressesInOutputs as error:
            raise NotAuthenticated(str(error)) from error
        except (RunNotFinished, TextDeleted) as error:
            raise Conflict(str(error)) from error
        except EvidenceDamaged as error:
            # A fault of ours: nothing that the caller sent can mend it.
            raise APIException(str(error)) from error
        disposition = f'attachment; filename="{archive_name(run)}"'
        headers = {"Content-Disposition": disposition}
        return HttpResponse(content, content_type=JSON, headers=headers)


class RunImportView(View):
    """Bring in the archive of a run that was measured by another Rackrate."""

    parser_classes = (FileParser,)
    most_bytes = MAX_PACKED_BYTES
    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}

    @extend_schema(
        parameters=[OpenApiParameter("offer", str, required=True, description="Slug of the offer")],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={201: ImportedRun, 409: Problem, 413: Problem},
    )
    def post(self, request: Request) -> Response:
        """Take in a run of another installation; 409 when it is here already.

        The file is the body, the offer a parameter."""
        offer = request.query_params.get("offer", "")
        if not offer:
            raise InvalidValue("offer", "the parameter offer names the offer that it belongs to")
        target = offer_with_slug(offer, workspace_slug(request))
        content: object = request.data
        try:
            run = run_import(
                workspace=workspace_of(request),
                offer=target,
                content=content if isinstance(content, bytes) else b"",
                actor=actor(request),
            )
        except AlreadyImported as error:
            raise Conflict(str(error)) from error
        url = reverse("api:run", kwargs={"run_id": run.pk}, request=request)
        answer = ImportedRun(
            {
                "id": run.pk,
                "state": run.state,
                "host": run.host_id,
                "samples": run.samples.count(),
                "evidence": run.evidence.count(),
                "url": url,
            }
        )
        return Response(answer.data, status=201, headers={"Location": url})
