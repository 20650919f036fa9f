"""Contract discounts over the API, for those who may write prices; nobody else reads them."""

from collections.abc import Mapping
from functools import partial
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
from backend.catalog.models import ContractDiscount
from backend.catalog.selectors.consequences import discount_consequences
from backend.catalog.selectors.discounts import discounts_visible
from backend.catalog.selectors.read_prices import as_quoted
from backend.catalog.services.discounts import discount_change, discount_create, discount_delete
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import AmountField, Strict, TextField
from backend.core.rest.permissions import WRITE
from backend.core.rest.table import Column, ColumnType, json_cell
from backend.core.rest.views import ListAnswer, View, created_response
from backend.money.pricing.discounts import DiscountService

# Names over the wire; `from` is a word of Python.
COLUMN_OF = {"from": "valid_from", "until": "valid_until"}
Fields = dict[str, "serializers.Field[Any, Any, Any, Any]"]


class DiscountPatch(Strict):
    """Fields of a discount that change."""

    service = serializers.ChoiceField(choices=tuple(DiscountService), required=False)
    percent = AmountField(decimals=3, required=False)
    until = serializers.DateField(required=False, allow_null=True, help_text="last day")

    def get_fields(self) -> Fields:
        first = serializers.DateField(required=False, allow_null=True, help_text="first day")
        return {**super().get_fields(), "from": first}


class DiscountDocument(DiscountPatch):
    """So many percent off a service of a provider, after its automatic discounts."""

    provider = TextField(max_length=50)
    service = serializers.ChoiceField(choices=tuple(DiscountService))
    percent = AmountField(decimals=3)


class DiscountDetail(serializers.Serializer[Any]):
    """A discount as stored."""

    id = serializers.UUIDField()
    provider = serializers.CharField()
    service = serializers.CharField()
    percent = serializers.CharField()
    until = serializers.DateField(allow_null=True)

    def get_fields(self) -> Fields:
        return {**super().get_fields(), "from": serializers.DateField(allow_null=True)}


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "discount": DiscountDocument,
    "discount-patch": DiscountPatch,
    "discount-detail": DiscountDetail,
}


class DiscountsView(DataListView):
    """Discounts that the workspace has agreed with providers."""

    name = "discounts"
    orders = {"provider": "provider__slug"}
    scopes: ClassVar[Mapping[str, str]] = {"GET": WRITE, "POST": WRITE}
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("provider", ColumnType.TEXT, "Slug of the provider"),
        Column("service", ColumnType.TEXT, "compute, storage, egress or all"),
        Column("percent", ColumnType.DECIMAL, "Off the price after automatic discounts", "%"),
        Column("from", ColumnType.DATE, "First day"),
        Column("until", ColumnType.DATE, "Last day"),
    )

    def state(self, request: Request) -> str | None:
        """A discount changes without a change of the data."""
        return None

    def listing(self, request: Request) -> ListAnswer:
        _own, shown = self.asked(request)
        rows = discounts_visible(workspace_of(request))
        return ListAnswer(self.columns, rows, rows.count(), cells=_cells, **shown)

    @extend_schema(request=DiscountDocument, responses={201: DiscountDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Store a discount; 400 where one of the same service holds on one of its days."""
        document = DiscountDocument(data=request.data)
        document.is_valid(raise_exception=True)
        row = discount_create(
            workspace=workspace_of(request),
            actor=actor(request),
            **_columns(document.validated_data),
        )
        return created_response(request, _detail(row), "discount", discount_id=row.pk)


def _columns(document: Mapping[str, Any]) -> dict[str, Any]:
    return {COLUMN_OF.get(name, name): value for name, value in document.items()}


def _cells(row: ContractDiscount) -> dict[str, Any]:
    return {
        "id": row.pk,
        "provider": row.provider.slug,
        "service": row.service,
        "percent": as_quoted(row.percent),
        "from": row.valid_from,
        "until": row.valid_until,
    }


def _detail(row: ContractDiscount) -> Any:
    return {name: json_cell(value) for name, value in _cells(row).items()}


class DiscountView(View):
    """A discount."""

    scopes: ClassVar[Mapping[str, str]] = {"GET": WRITE, "PATCH": WRITE, "DELETE": WRITE}

    @extend_schema(operation_id="discounts_get", responses={200: DiscountDetail})
    def get(self, request: Request, discount_id: UUID) -> Response:
        return Response(_detail(_row(request, discount_id)))

    @extend_schema(request=DiscountPatch, responses={200: DiscountDetail})
    def patch(self, request: Request, discount_id: UUID) -> Response:
        """Change its service, percentage or days."""
        document = DiscountPatch(data=request.data)
        document.is_valid(raise_exception=True)
        row = discount_change(
            workspace=workspace_of(request),
            discount=_row(request, discount_id),
            changes=_columns(document.validated_data),
            actor=actor(request),
        )
        return Response(_detail(row))

    @deleting("discounts_delete")
    def delete(self, request: Request, discount_id: UUID) -> Response:
        """Forget it; list prices count again."""
        row, workspace = _row(request, discount_id), workspace_of(request)
        return delete_response(
            request,
            partial(discount_consequences, row),
            partial(discount_delete, workspace=workspace, discount=row, actor=actor(request)),
        )


def _row(request: Request, discount_id: UUID) -> ContractDiscount:
    return get_object_or_404(discounts_visible(workspace_of(request)), pk=discount_id)
