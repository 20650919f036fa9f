"""Prices over the API: as quoted, by hand, and under review."""

import datetime as dt
import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.catalog.api.documents import PriceDetail, PriceEntry, PriceReview
from backend.catalog.api.lists import DataListView
from backend.catalog.models import PriceObservation
from backend.catalog.selectors.consequences import price_consequences
from backend.catalog.selectors.offers import offer_with_slug
from backend.catalog.selectors.price_list import (
    QUARANTINED,
    STATES,
    PriceFilter,
    price_count,
    price_list,
    price_state,
    price_visible,
    stale_feeds,
)
from backend.catalog.selectors.read_prices import as_quoted
from backend.catalog.services.price_import import price_review
from backend.catalog.services.prices import PriceInput, price_enter, price_remove
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import Problem
from backend.core.rest.parameters import (
    Reader,
    day,
    one_of,
    read,
    schema_of,
    text,
    whole,
)
from backend.core.rest.permissions import ADMIN, WRITE
from backend.core.rest.problem import Conflict
from backend.core.rest.table import Column, ColumnType, json_cell
from backend.core.rest.views import ListAnswer, View, created_response
from backend.foundation.errors import InvalidValue
from backend.money.pricing.purchase import PurchaseModel
from backend.money.pricing.quoted import (
    MOST_SETUP_MONTHS,
    SETUP_MONTHS,
    gross,
    net,
    setup_per_month,
)

FILTERS: Mapping[str, Reader] = {
    "provider": text,
    "offer": text,
    "region": text,
    "purchase_model": one_of(tuple(PurchaseModel)),
}
SETUP = whole(1, MOST_SETUP_MONTHS)
REGION_AND_ZONE = (
    Column("region", ColumnType.TEXT, "The provider's name of the place"),
    Column("zone", ColumnType.TEXT, "Zone within it, for prices that differ by zone"),
    Column("os", ColumnType.TEXT, "Operating system that the price holds"),
    Column("tenancy", ColumnType.TEXT, "shared or dedicated"),
    Column("purchase_model", ColumnType.TEXT, "on_demand, spot, reserved, savings, committed, …"),
    Column("term", ColumnType.TEXT, "Length of a commitment"),
    Column("upfront", ColumnType.TEXT, "Part paid at the start"),
)
PLAN = (
    Column("plan", ColumnType.TEXT, "Distinguishes commitments of one term"),
    Column("basis", ColumnType.TEXT, "What the price holds: machine, or sustained_use"),
)
PRICE = (
    Column("amount", ColumnType.DECIMAL, "Amount as quoted", "currency/unit"),
    Column("currency", ColumnType.TEXT, "Three-letter code"),
    Column("unit", ColumnType.TEXT, "hour, month, year or once"),
    Column("setup", ColumnType.DECIMAL, "Paid once at the start", "currency"),
)


class PriceListView(DataListView):
    """A list of prices, which may also change by growing old."""

    def state(self, request: Request) -> str | None:
        state = super().state(request)
        if state is None:
            return None
        stale = ",".join(sorted(map(str, stale_feeds())))
        return f"{state} {hashlib.sha256(stale.encode()).hexdigest()}"

    def changed_at(self, request: Request) -> dt.datetime | None:
        """Not known: a list grows old at its own hour."""
        return None


class PricesView(PriceListView):
    """Prices as quoted; by default the one price in force of each offer."""

    name = "prices"
    orders = {"offer_id": "offer__slug", "amount": "amount", "observed_at": "observed_at"}
    since = "observed_at"
    scopes: ClassVar[Mapping[str, str]] = {"POST": WRITE}
    readers: Mapping[str, Reader] = {**FILTERS, "as_of": day, "state": one_of(STATES)}
    columns = (
        Column("price_id", ColumnType.TEXT, "Identifier of the observation"),
        Column("provider", ColumnType.TEXT, "Slug of the provider"),
        Column("offer", ColumnType.TEXT, "The provider's own name of the type"),
        *REGION_AND_ZONE,
        *PRICE,
        Column("tax_basis", ColumnType.TEXT, "net, gross or unknown"),
        Column("effective_from", ColumnType.DATE, "Day from which the provider states it"),
        Column("observed_at", ColumnType.TIME, "When it was read"),
        Column("source", ColumnType.TEXT, "Where it was read"),
        Column(
            "state",
            ColumnType.TEXT,
            "current, stale, superseded, announced, quarantined, refused, withdrawn",
        ),
        *PLAN,
        Column("offer_id", ColumnType.TEXT, "Slug of the offer"),
        Column("tax_rate", ColumnType.DECIMAL, "Rate of tax as stated, a ratio"),
        Column("minimum_months", ColumnType.INTEGER, "Months that have to be paid at least"),
        Column("valid_until", ColumnType.DATE, "Last day on which it counts"),
        Column("note", ColumnType.TEXT, "Words beside it"),
        Column("valid_from", ColumnType.DATE, "First day on which it counts; effective_from again"),
        Column("applies_to", ColumnType.TEXT, "all machines, or new ones ordered while it holds"),
    )

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        price_filter, slug = PriceFilter(**own), workspace_slug(request)
        rows = price_list(price_filter, slug)
        count = price_count(price_filter, rows, slug)
        return ListAnswer(self.columns, rows, count, cells=quote_cells, **shown)

    @extend_schema(request=PriceEntry, responses={201: PriceDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Enter a price by hand, with the reason; one that is not plausible waits (state quarantined)."""
        document = PriceEntry(data=request.data)
        document.is_valid(raise_exception=True)
        fields = dict(document.validated_data)
        reason = fields.pop("reason")
        offer = offer_with_slug(fields.pop("offer"), workspace_slug(request))
        stated = {name: value for name, value in fields.items() if value is not None}
        price = price_enter(
            workspace=workspace_of(request),
            offer=offer,
            price=PriceInput(**stated),
            reason=reason,
            actor=actor(request),
        )
        return created_response(request, _detail(price, SETUP_MONTHS), "price", price_id=price.pk)


def kind_cells(row: PriceObservation) -> dict[str, Any]:
    region = row.offer.region
    return {
        "provider": row.offer.provider.slug,
        "offer": row.offer.name,
        "region": region.code if region else None,
        "zone": row.zone or None,
        "os": row.operating_system,
        "tenancy": row.tenancy,
        "purchase_model": row.purchase_model,
        "term": row.term or None,
        "upfront": row.upfront or None,
        "plan": row.plan or None,
        "basis": row.basis,
        "currency": row.currency,
    }


def quote_cells(row: PriceObservation) -> dict[str, Any]:
    return {
        **kind_cells(row),
        "price_id": row.pk,
        "amount": as_quoted(row.amount),
        "unit": row.unit,
        "setup": None if row.setup_amount is None else as_quoted(row.setup_amount),
        "tax_basis": row.tax_basis or None,
        "effective_from": row.valid_from,
        "observed_at": row.observed_at,
        "source": row.source,
        "state": price_state(row),
        "offer_id": row.offer.slug,
        "tax_rate": None if row.tax_rate is None else as_quoted(row.tax_rate),
        "minimum_months": row.minimum_months,
        "valid_from": row.valid_from,
        "valid_until": row.valid_until,
        "applies_to": row.applies_to,
        "note": row.note or None,
    }


# --- one price ------------------------------------------------------------------------------------


def _price_row(request: Request, price_id: UUID) -> PriceObservation:
    row = price_visible(price_id, workspace_slug(request))
    if row is None:
        raise Http404
    return row


def _detail(row: PriceObservation, setup_months: int) -> Any:
    priced, amount = quote_cells(row), as_quoted(row.amount)
    tax_rate = priced["tax_rate"]
    cells = {
        **priced,
        "monthly_cap": None if row.monthly_cap is None else as_quoted(row.monthly_cap),
        "sustained_use": row.sustained_use or None,
        "amount_net": net(amount, row.tax_basis, tax_rate),
        "amount_gross": gross(amount, row.tax_basis, tax_rate),
        "setup_months": setup_months,
        "setup_per_month": setup_per_month(priced["setup"], setup_months),
        "included": row.included,
        "missing_since": row.missing_since,
        "raw_id": row.raw_id or None,
        "payload_sha256": row.payload_sha256 or None,
        "doubt": row.anomaly or None,
        "reviewed_by": row.reviewed_by or None,
        "reviewed_at": row.reviewed_at,
    }
    return {name: json_cell(cells[name]) for name in PriceDetail().get_fields()}


class PriceView(View):
    """A price with everything stated beside it."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": WRITE}

    @extend_schema(
        operation_id="prices_get",
        parameters=[
            OpenApiParameter(
                "setup_months",
                schema_of(SETUP),
                description=f"Months over which the setup fee is spread (default {SETUP_MONTHS})",
            )
        ],
        responses={200: PriceDetail},
    )
    def get(self, request: Request, price_id: UUID) -> Response:
        own, _ = read(dict(request.query_params.lists()), {"setup_months": SETUP})
        months = own.get("setup_months", SETUP_MONTHS)
        return Response(_detail(_price_row(request, price_id), months))

    @deleting("prices_delete")
    def delete(self, request: Request, price_id: UUID) -> Response:
        """Take back a price that a person stated; the one before it is in force again.
        409 for one of a list or a cost model, and one that costs of runs were calculated with."""
        row = _price_row(request, price_id)
        workspace, by = workspace_of(request), actor(request)
        try:
            return delete_response(
                request,
                partial(price_consequences, row),
                partial(price_remove, workspace=workspace, observation=row, actor=by),
            )
        except InvalidValue as error:
            raise Conflict(error.detail) from error


class PriceReviewView(View):
    """A price in quarantine."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": ADMIN}

    @extend_schema(request=PriceReview, responses={200: PriceDetail, 409: Problem})
    def post(self, request: Request, price_id: UUID) -> Response:
        """Publish it or leave it out for good; 409 when it does not wait (any more)."""
        document = PriceReview(data=request.data)
        document.is_valid(raise_exception=True)
        row = _price_row(request, price_id)
        if price_state(row) != QUARANTINED:
            raise Conflict(f"the price is {price_state(row)} and does not wait for anybody")
        price_review(
            workspace=workspace_of(request),
            observation=row,
            is_accepted=document.validated_data["accept"],
            reason=document.validated_data["reason"],
            actor=actor(request),
        )
        return Response(_detail(_price_row(request, price_id), SETUP_MONTHS))
