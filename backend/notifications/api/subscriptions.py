"""Subscriptions: who is notified of what, and how; for admins."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.core.rest.documents import document_columns, request_fields
from backend.core.rest.parameters import boolean, one_of
from backend.core.rest.permissions import ADMIN
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import FilteredListView, ListAnswer, View, created_response
from backend.notifications.api.documents import SubscriptionDetail, SubscriptionPatch
from backend.notifications.channels import CHANNELS
from backend.notifications.models import Subscription
from backend.notifications.selectors.subscriptions import (
    SubscriptionDocument,
    SubscriptionFields,
    subscriptions_visible,
)
from backend.notifications.services.subscriptions import (
    subscription_create,
    subscription_delete,
    subscription_update,
)

ADDRESS, KINDS, ENABLED = document_columns(SubscriptionFields)


class SubscriptionsView(FilteredListView):
    """Subscriptions of the workspace, without their secrets."""

    name = "subscriptions"
    orders = {"address": "address", "created_at": "created_at"}
    since = "created_at"
    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN, "POST": ADMIN}
    lookups = {
        "channel": ("channel", one_of(list(CHANNELS))),
        "enabled": ("is_enabled", boolean),
    }
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("channel", ColumnType.TEXT, " or ".join(CHANNELS)),
        ADDRESS,
        KINDS,
        Column("campaign", ColumnType.TEXT, "The only campaign it is notified of; empty: of all"),
        ENABLED,
        Column("has_secret", ColumnType.BOOLEAN, "Whether messages are signed"),
        Column("sent", ColumnType.INTEGER, "Notices that went out"),
        Column("waiting", ColumnType.INTEGER, "Notices that will be tried again"),
        Column("given_up", ColumnType.INTEGER, "Notices that could not be delivered"),
        Column("last_sent_at", ColumnType.TIME, "When one went out last"),
        Column("last_error", ColumnType.TEXT, "Why the newest troubled one was not delivered"),
    )

    def listing(self, request: Request) -> ListAnswer:
        conditions, paging = self.asked(request)
        rows = subscriptions_visible(workspace_of(request)).filter(**conditions)
        rows = rows.order_by("created_at", "id")
        return ListAnswer(self.columns, rows, rows.count(), cells=_cells, **paging)

    @extend_schema(request=SubscriptionDocument, responses={201: SubscriptionDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Notify an address from now on; a webhook needs a secret, which signs its messages."""
        subscription = subscription_create(
            workspace=workspace_of(request),
            document=SubscriptionDocument.read(request.data),
            actor=actor(request),
        )
        return created_response(
            request,
            _detail(request, subscription.pk),
            "subscription",
            subscription_id=subscription.pk,
        )


def _cells(subscription: Any) -> dict[str, Any]:
    """A row of subscriptions_visible."""
    return {
        **vars(subscription),
        "enabled": subscription.is_enabled,
        "has_secret": subscription.sealed_secret is not None,
        "sent": subscription.sent_count,
        "waiting": subscription.waiting_count,
        "given_up": subscription.given_up_count,
        "last_error": subscription.last_error or None,
    }


def _subscription(request: Request, subscription_id: UUID) -> Subscription:
    return get_object_or_404(subscriptions_visible(workspace_of(request)), pk=subscription_id)


def _detail(request: Request, subscription_id: UUID) -> Any:
    return SubscriptionDetail(_cells(_subscription(request, subscription_id))).data


class SubscriptionView(View):
    """A subscription."""

    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN, "PATCH": ADMIN, "DELETE": ADMIN}

    @extend_schema(operation_id="subscriptions_get", responses={200: SubscriptionDetail})
    def get(self, request: Request, subscription_id: UUID) -> Response:
        return Response(_detail(request, subscription_id))

    @extend_schema(request=SubscriptionPatch, responses={200: SubscriptionDetail})
    def patch(self, request: Request, subscription_id: UUID) -> Response:
        """Change it; another address of a webhook needs its secret anew."""
        subscription_update(
            subscription=_subscription(request, subscription_id),
            changes=request_fields(request.data),
            actor=actor(request),
        )
        return Response(_detail(request, subscription_id))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, subscription_id: UUID) -> Response:
        """End it; notices that wait are not sent any more."""
        subscription = _subscription(request, subscription_id)
        subscription_delete(subscription=subscription, actor=actor(request))
        return Response(status=204)
