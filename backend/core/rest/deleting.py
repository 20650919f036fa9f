"""Answers to DELETE: what depends on the object is said before, and nothing is done on trial."""

from collections.abc import Callable, Iterable
from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.core.rest.documents import Problem
from backend.core.rest.openapi import query_parameters
from backend.core.rest.parameters import Reader, boolean, read

FLAGS = {"dry_run": "Say what would go and what would stay, and delete nothing"}
READERS: dict[str, Reader] = {"dry_run": boolean}


class Consequences(serializers.Serializer[Any]):
    """Consequences of deleting an object: what goes with it, what stays."""

    consequences = serializers.ListField(child=serializers.CharField())


def deleting(operation_id: str | None = None) -> Callable[..., Any]:
    """The description of a method that answers with `delete_response`."""
    return extend_schema(
        operation_id=operation_id,
        parameters=query_parameters(FLAGS, READERS),
        responses={200: Consequences, 204: None, 409: Problem},
    )


def delete_response(
    request: Request, consequences: Callable[[], Iterable[str]], delete: Callable[[], object]
) -> Response:
    """204, or 200 with the consequences for `dry_run`; both raise what `delete` raises."""
    flags, _ = read(dict(request.query_params.lists()), READERS)
    if not flags.get("dry_run", False):
        delete()
        return Response(status=204)
    with transaction.atomic():
        # Before: what is deleted has no dependents any more.
        said = list(consequences())
        delete()
        transaction.set_rollback(True)
    return Response({"consequences": said})
