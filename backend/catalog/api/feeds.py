"""Which price lists are read by themselves, and what came of it; for admins."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.catalog.api.lists import DataListView
from backend.catalog.models import PriceFeed
from backend.catalog.selectors.feeds import feeds, is_stale
from backend.catalog.selectors.waiting_prices import waiting_lists
from backend.catalog.services.feeds import MAX_EVERY_S, MIN_EVERY_S, feed_enable, feed_update
from backend.catalog.services.price_list_review import price_list_review
from backend.catalog.services.prices import MOST_REASON
from backend.core.rest.documents import FlagField, Problem, Strict, TextField
from backend.core.rest.parameters import boolean, text
from backend.core.rest.permissions import ADMIN
from backend.core.rest.problem import Conflict
from backend.core.rest.table import Column, ColumnType, json_cell
from backend.core.rest.views import ListAnswer, View, created_response
from backend.foundation.errors import InvalidValue

# Of the last answer, as PriceFeed.summary tells them.
COUNTS = ("priced", "published", "unchanged", "quarantined", "missing", "unpriced")


class PriceFeedDocument(Strict):
    """A list of prices to be read from now on."""

    provider = TextField(max_length=50)
    kind = TextField(max_length=20)
    region = TextField(max_length=50, required=False, default="", allow_blank=True)
    every_s = serializers.IntegerField(
        min_value=MIN_EVERY_S, max_value=MAX_EVERY_S, required=False, allow_null=True, default=None
    )


class PriceFeedPatch(Strict):
    """True if a list is read, and how often."""

    enabled = FlagField(required=False)
    every_s = serializers.IntegerField(min_value=MIN_EVERY_S, max_value=MAX_EVERY_S, required=False)


class PriceFeedReview(Strict):
    """A decision on all prices of a list that wait for a review."""

    accept = FlagField()
    reason = TextField(max_length=MOST_REASON)
    count = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        help_text="how many prices you saw waiting; 409 where it is another number by now",
    )


class PriceFeedDetail(serializers.Serializer[Any]):
    """A list of prices; `summary` counts what its last answer held, and `waiting_change` says how
    the prices that wait for a review differ from those in force."""

    id = serializers.UUIDField()
    provider = serializers.CharField()
    kind = serializers.CharField()
    region = serializers.CharField(allow_null=True)
    enabled = serializers.BooleanField()
    every_s = serializers.IntegerField()
    next_due_at = serializers.DateTimeField(allow_null=True)
    checked_at = serializers.DateTimeField(allow_null=True)
    changed_at = serializers.DateTimeField(allow_null=True)
    stale = serializers.BooleanField()
    failures = serializers.IntegerField()
    last_error = serializers.CharField(allow_null=True)
    summary = serializers.DictField()
    waiting = serializers.IntegerField()
    waiting_change = serializers.CharField(allow_null=True)


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "price-feed": PriceFeedDocument,
    "price-feed-patch": PriceFeedPatch,
    "price-feed-review": PriceFeedReview,
    "price-feed-detail": PriceFeedDetail,
}


class PriceFeedsView(DataListView):
    """Price lists: those that are read by themselves, and those that came from files."""

    name = "price-feeds"
    orders = {"provider": "provider__slug"}
    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN, "POST": ADMIN}
    readers = {"provider": text, "kind": text, "region": text, "enabled": boolean}
    lookups = {
        "provider": "provider__slug",
        "kind": "kind",
        "region": "region",
        "enabled": "is_enabled",
    }
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("provider", ColumnType.TEXT, "Slug of the provider; ecb for exchange rates"),
        Column("kind", ColumnType.TEXT, "on_demand, spot, savings, products, fx"),
        Column("region", ColumnType.TEXT, "The provider's code; empty for a list of all regions"),
        Column("enabled", ColumnType.BOOLEAN, "Whether it is read by itself"),
        Column("every_s", ColumnType.INTEGER, "How often", "s"),
        Column("next_due_at", ColumnType.TIME, "When it is read next"),
        Column("checked_at", ColumnType.TIME, "When the provider last answered"),
        Column("changed_at", ColumnType.TIME, "When its answer last changed anything"),
        Column(
            "stale", ColumnType.BOOLEAN, "Whether it was last read longer ago than it should be"
        ),
        Column("failures", ColumnType.INTEGER, "Readings that failed in a row"),
        Column("last_error", ColumnType.TEXT, "Why the last one failed"),
        *(
            Column(name, ColumnType.INTEGER, f"Prices {name} in the last answer")
            for name in COUNTS[:-1]
        ),
        Column(COUNTS[-1], ColumnType.INTEGER, "Types without a price in the last answer"),
    )

    def state(self, request: Request) -> str | None:
        """A list may be read at any time, without a change of the data."""
        return None

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        rows = feeds().filter(**{self.lookups[name]: value for name, value in own.items()})
        return ListAnswer(self.columns, rows, rows.count(), cells=_row, **shown)

    @extend_schema(request=PriceFeedDocument, responses={201: PriceFeedDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Read a list from now on; its first reading is due at once."""
        document = PriceFeedDocument(data=request.data)
        document.is_valid(raise_exception=True)
        feed = feed_enable(
            workspace=workspace_of(request), actor=actor(request), **document.validated_data
        )
        return created_response(request, _detail(feed), "price-feed", feed_id=feed.pk)


def _cells(feed: PriceFeed) -> dict[str, Any]:
    return {
        "id": feed.pk,
        "provider": feed.provider.slug,
        "kind": feed.kind,
        "region": feed.region or None,
        "enabled": feed.is_enabled,
        "every_s": feed.every_s,
        "next_due_at": feed.next_due_at,
        "checked_at": feed.checked_at,
        "changed_at": feed.changed_at,
        "stale": is_stale(feed),
        "failures": feed.failures,
        "last_error": feed.last_error or None,
    }


def _row(feed: PriceFeed) -> dict[str, Any]:
    return {**_cells(feed), **{name: feed.summary.get(name) for name in COUNTS}}


def _detail(feed: PriceFeed) -> Any:
    waiting = next(iter(waiting_lists([feed])), None)
    cells = {
        **_cells(feed),
        "summary": feed.summary,
        "waiting": waiting.count if waiting else 0,
        # In English, as all of the API.
        "waiting_change": json_cell(waiting.movement.sentence or None) if waiting else None,
    }
    return PriceFeedDetail(cells).data


class PriceFeedView(View):
    """A list of prices."""

    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN, "PATCH": ADMIN}

    @extend_schema(operation_id="price_feeds_get", responses={200: PriceFeedDetail})
    def get(self, request: Request, feed_id: UUID) -> Response:
        return Response(_detail(get_object_or_404(feeds(), pk=feed_id)))

    @extend_schema(request=PriceFeedPatch, responses={200: PriceFeedDetail})
    def patch(self, request: Request, feed_id: UUID) -> Response:
        """Change it; enabling one makes it due at once; disabling one leaves its prices, to become stale."""
        document = PriceFeedPatch(data=request.data)
        document.is_valid(raise_exception=True)
        changes = document.validated_data
        feed = feed_update(
            feed=get_object_or_404(feeds(), pk=feed_id),
            workspace=workspace_of(request),
            is_enabled=changes.get("enabled"),
            every_s=changes.get("every_s"),
            actor=actor(request),
        )
        return Response(_detail(feed))


class PriceFeedReviewView(View):
    """The prices of a list that wait for a review."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": ADMIN}

    @extend_schema(
        operation_id="price_feeds_review_create",
        request=PriceFeedReview,
        responses={200: PriceFeedDetail, 409: Problem},
    )
    def post(self, request: Request, feed_id: UUID) -> Response:
        """Publish all of them, or leave them out for good; 409 when none waits, or another number."""
        document = PriceFeedReview(data=request.data)
        document.is_valid(raise_exception=True)
        feed, decision = get_object_or_404(feeds(), pk=feed_id), document.validated_data
        try:
            price_list_review(
                workspace=workspace_of(request),
                feed=feed,
                is_accepted=decision["accept"],
                reason=decision["reason"],
                count=decision["count"],
                actor=actor(request),
            )
        except InvalidValue as error:
            if error.field == "/count":
                raise Conflict(error.detail) from error
            raise
        return Response(_detail(feed))
