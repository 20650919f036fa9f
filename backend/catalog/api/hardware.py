"""Own hardware over the API: keep and delete documents, list what there is, and what is assumed."""

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.catalog.api.documents import HardwareDetail
from backend.catalog.api.lists import DataListView
from backend.catalog.calc.hardware import CostBreakdown, years_document
from backend.catalog.calc.hardware_assumptions import ASSUMPTIONS, HardwareAssumption
from backend.catalog.calc.hardware_document import OfferedHardwareDocument, hardware_from
from backend.catalog.models import HardwareModel
from backend.catalog.selectors.consequences import hardware_consequences
from backend.catalog.selectors.hardware import hardware_visible
from backend.catalog.services.hardware import hardware_create, hardware_delete
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.parameters import boolean, text
from backend.core.rest.parsers import ExactJSONParser
from backend.core.rest.permissions import WRITE
from backend.core.rest.problem import Conflict
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, View, created_response
from backend.foundation.errors import InvalidValue

PARTS = tuple(part.name for part in fields(CostBreakdown))


class HardwareListView(DataListView):
    """Own hardware by name; by default the newest version of each."""

    name = "hardware"
    orders = {"name": "name", "created_at": "created_at"}
    since = "created_at"
    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}
    parser_classes = (ExactJSONParser,)
    readers = {"name": text, "offer": text, "all": boolean}
    columns = (
        Column("id", ColumnType.TEXT, "Identifier of the version"),
        Column("name", ColumnType.TEXT, "Name as given"),
        Column("version", ColumnType.INTEGER, "Counts the documents of that name"),
        Column("offer", ColumnType.TEXT, "Slug of the offer that it prices"),
        Column("currency", ColumnType.TEXT, "Three-letter code, as bought"),
        Column("servers", ColumnType.INTEGER, "Servers of the set"),
        Column("spares", ColumnType.INTEGER, "Spare servers beside them"),
        Column("price_per_month", ColumnType.DECIMAL, "Of one server", "currency/month"),
        Column("price_per_hour", ColumnType.DECIMAL, "Of a month of 730 hours", "currency/h"),
        *(
            Column(f"cost_{part}", ColumnType.DECIMAL, f"Part of {part} in it", "currency/month")
            for part in PARTS
        ),
        Column("set_price_per_month", ColumnType.DECIMAL, "Of the whole set", "currency/month"),
        Column("capital_total", ColumnType.DECIMAL, "Cash for the set and its spares", "currency"),
        Column("created_by", ColumnType.TEXT, "Who stated it"),
        Column("created_at", ColumnType.TIME, "When"),
    )

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        is_newest_only = not own.get("all", False)
        rows = hardware_visible(workspace_of(request), is_newest_only=is_newest_only)
        if "offer" in own:
            rows = rows.filter(offer__slug=own["offer"])
        if "name" in own:
            rows = rows.filter(name=own["name"])
        return ListAnswer(self.columns, rows, rows.count(), cells=_cells, **shown)

    @extend_schema(request=OfferedHardwareDocument, responses={201: HardwareDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Keep a document; a name that is known makes its next version and a new price."""
        model = hardware_create(
            workspace=workspace_of(request), document=request.data, actor=actor(request)
        )
        return created_response(request, _detail(model), "hardware-version", hardware_id=model.pk)


def _cells(model: HardwareModel) -> dict[str, Any]:
    cost = model.cost
    return {
        "id": model.pk,
        "name": model.name,
        "version": model.version,
        "offer": model.offer.slug,
        "currency": cost["currency"],
        "servers": model.document["servers"],
        "spares": cost["spares"],
        "price_per_month": Decimal(cost["price_per_month"]),
        "price_per_hour": Decimal(cost["price_per_hour"]),
        **{f"cost_{part}": Decimal(cost["breakdown"].get(part, 0)) for part in PARTS},
        "set_price_per_month": Decimal(cost["set_price_per_month"]),
        "capital_total": Decimal(cost["capital_total"]),
        "created_by": model.created_by or None,
        "created_at": model.created_at,
    }


def _detail(model: HardwareModel) -> Any:
    # In the order of a stack, which the database does not keep.
    parts = {
        name: {part: model.cost[name].get(part, "0") for part in PARTS}
        for name in ("breakdown", "set_breakdown")
    }
    return HardwareDetail(
        {
            **model.cost,
            **parts,
            "id": model.pk,
            "name": model.name,
            "version": model.version,
            "offer": model.offer.slug,
            "price": model.price_id,
            "document": model.document,
            "one_off_total": model.cost.get("one_off_total", "0"),
            "by_year": years_document(hardware_from(model.document)),
            "created_by": model.created_by or None,
            "created_at": model.created_at,
        }
    ).data


class HardwareView(View):
    """A version."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": WRITE}

    @extend_schema(operation_id="hardware_get", responses={200: HardwareDetail})
    def get(self, request: Request, hardware_id: UUID) -> Response:
        return Response(_detail(_version(request, hardware_id)))

    @deleting("hardware_delete")
    def delete(self, request: Request, hardware_id: UUID) -> Response:
        """Delete one version with its price; its offer and the other versions stay. 409 where costs
        of runs were calculated with that price."""
        model = _version(request, hardware_id)
        try:
            return delete_response(
                request,
                partial(hardware_consequences, model),
                partial(hardware_delete, model=model, actor=actor(request)),
            )
        except InvalidValue as error:
            raise Conflict(error.detail) from error


def _version(request: Request, hardware_id: UUID) -> HardwareModel:
    every = hardware_visible(workspace_of(request), is_newest_only=False)
    return get_object_or_404(every, pk=hardware_id)


class AssumptionsView(DataListView):
    """Default of each field that a document leaves out, with its source."""

    name = "hardware-assumptions"
    columns = (
        Column("name", ColumnType.TEXT, "Field of the document"),
        Column("default", ColumnType.DECIMAL, "Value where the document has none"),
        Column("unit", ColumnType.TEXT, "Its unit"),
        Column("low", ColumnType.DECIMAL, "The least that is accepted"),
        Column("high", ColumnType.DECIMAL, "The most that is accepted"),
        Column("source", ColumnType.TEXT, "Who stands for the default"),
    )

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.asked(request)
        rows: list[HardwareAssumption] = list(ASSUMPTIONS.values())
        return ListAnswer(self.columns, rows, len(rows), **shown)
