"""Hosts, campaigns, schedules and subscriptions as one document: what export_config and apply do."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.calc.setup_document import SetupDocument, SetupFile
from backend.benchmarks.selectors.setup_files import setup_current
from backend.benchmarks.services.setup_files import setup_apply
from backend.core.rest.openapi import query_parameters
from backend.core.rest.parameters import InvalidParameters, Reader, boolean, read
from backend.core.rest.permissions import ADMIN
from backend.core.rest.views import View


class SetupDifference(serializers.Serializer[Any]):
    """A difference between document and workspace."""

    action = serializers.ChoiceField(choices=["create", "update", "delete"])
    kind = serializers.CharField()
    name = serializers.CharField()
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(), help_text="what was and what is, by field"
    )


class SetupDone(serializers.Serializer[Any]):
    """The differences; nothing is changed by a dry run."""

    is_dry = serializers.BooleanField()
    changes = SetupDifference(many=True)


READERS: Mapping[str, Reader] = {"dry_run": boolean, "prune": boolean}
FLAGS = {"dry_run": "true: change nothing", "prune": "true: delete what it does not name"}


class SetupView(View):
    """Hosts, campaigns, schedules and subscriptions by their names."""

    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN, "PUT": ADMIN}

    @extend_schema(operation_id="documents_setup_get", responses={200: SetupDocument})
    def get(self, request: Request) -> Response:
        """All of them, in the form in which they are taken back; without secrets."""
        return Response(setup_current(workspace_of(request)))

    @extend_schema(
        operation_id="documents_setup_put",
        parameters=query_parameters(FLAGS, READERS),
        request=SetupDocument,
        responses={200: SetupDone},
    )
    def put(self, request: Request) -> Response:
        """Make them what the document says, and answer what differed. All or nothing."""
        flags, unknown = read(dict(request.query_params.lists()), READERS)
        if unknown:
            # A misspelt dry_run would change everything.
            raise InvalidParameters([("", name) for name in unknown])
        is_dry = flags.get("dry_run", False)
        changes = setup_apply(
            workspace=workspace_of(request),
            file=SetupFile(SetupDocument.read(request.data), {}),
            actor=actor(request),
            is_pruning=flags.get("prune", False),
            is_dry=is_dry,
        )
        return Response(
            SetupDone({"is_dry": is_dry, "changes": [vars(change) for change in changes]}).data
        )
