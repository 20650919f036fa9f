"""A refresh of all price lists: begun by an analyst, seen by every reader."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.catalog.selectors.price_refresh import (
    is_resting,
    last_requested_at,
    refresh_progress,
)
from backend.catalog.services.price_refresh import RefreshBusy, price_refresh
from backend.core.rest.documents import NoDocument, Problem
from backend.core.rest.permissions import READ, WRITE
from backend.core.rest.problem import Conflict
from backend.core.rest.public_address import public_address
from backend.core.rest.views import View
from backend.providers.price_refresh import ListState, ProviderProgress


class RefreshedProviderDetail(serializers.Serializer[Any]):
    """The lists of one provider; `cause` and `remedy` where one could not be read."""

    provider = serializers.CharField()
    name = serializers.CharField()
    lists = serializers.IntegerField()
    waiting = serializers.IntegerField()
    reading = serializers.IntegerField()
    read = serializers.IntegerField()
    failed = serializers.IntegerField()
    trouble = serializers.CharField(allow_null=True)
    cause = serializers.CharField(allow_null=True)
    remedy = serializers.CharField(allow_null=True)
    detail = serializers.CharField(allow_null=True)


class PriceRefreshDetail(serializers.Serializer[Any]):
    """The last refresh; `resting` says that none begins by itself until somebody answers again."""

    running = serializers.BooleanField()
    requested_at = serializers.DateTimeField(allow_null=True)
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    sentence = serializers.CharField(allow_null=True)
    every_days = serializers.IntegerField()
    resting = serializers.BooleanField()
    providers = RefreshedProviderDetail(many=True)


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "price-refresh-detail": PriceRefreshDetail
}


def _provider_cells(progress: ProviderProgress) -> dict[str, Any]:
    return {
        "provider": progress.slug,
        "name": progress.name,
        "lists": len(progress.lists),
        **{state.value: progress.count(state) for state in ListState},
        "trouble": progress.trouble,
        "cause": progress.cause or None,
        "remedy": progress.remedy or None,
        "detail": progress.detail or None,
    }


def _detail() -> Any:
    progress = refresh_progress()
    return PriceRefreshDetail(
        {
            "running": progress.is_running,
            "requested_at": last_requested_at(),
            "total": progress.total,
            "done": progress.done,
            "sentence": progress.sentence or None,
            "every_days": settings.PRICE_REFRESH_DAYS,
            "resting": is_resting(),
            "providers": [_provider_cells(provider) for provider in progress.providers],
        }
    ).data


class PriceRefreshView(View):
    """The refresh of all price lists."""

    scopes: ClassVar[Mapping[str, str]] = {"GET": READ, "POST": WRITE}

    @extend_schema(operation_id="price_refresh_get", responses={200: PriceRefreshDetail})
    def get(self, request: Request) -> Response:
        return Response(_detail())

    @extend_schema(
        operation_id="price_refresh_create",
        request=NoDocument,
        responses={202: PriceRefreshDetail, 409: Problem},
    )
    def post(self, request: Request) -> Response:
        """Read every list that can be read with the accounts there are; 409 while a refresh is under way."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        try:
            price_refresh(workspace=workspace_of(request), actor=actor(request))
        except RefreshBusy as error:
            raise Conflict(str(error)) from error
        headers = {"Location": public_address(request, reverse("api:price-refresh"))}
        return Response(_detail(), status=HTTPStatus.ACCEPTED, headers=headers)
