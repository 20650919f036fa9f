"""Prices over time, and between two days."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404
from rest_framework.request import Request

from backend.accounts.services.acting import workspace_slug
from backend.catalog.api.prices import (
    FILTERS,
    PLAN,
    PRICE,
    REGION_AND_ZONE,
    PriceListView,
    kind_cells,
    quote_cells,
)
from backend.catalog.models import PriceObservation
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.selectors.price_history import (
    CHANGES,
    VANISHED,
    PricePoint,
    PriceSeries,
    change_ratio,
    difference,
    history,
    terms_before,
)
from backend.catalog.selectors.price_list import PriceFilter
from backend.core.rest.parameters import InvalidParameters, Reader, day, one_of, text
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer


class PriceHistoryView(PriceListView):
    """The published prices of one offer by their kinds, the oldest first."""

    name = "price-history"
    required_parameters = frozenset({"offer"})
    readers: Mapping[str, Reader] = {
        "offer": text,
        "purchase_model": FILTERS["purchase_model"],
        "since": day,
        "as_of": day,
    }
    columns = (
        Column("series", ColumnType.TEXT, "What the price is of, in words"),
        Column("price_id", ColumnType.TEXT, "Identifier of the observation"),
        *REGION_AND_ZONE[1:],
        *PLAN,
        *PRICE,
        Column("since", ColumnType.TIME, "When it was observed"),
        Column(
            "until", ColumnType.TIME, "When the next one was, or its list dropped it; empty: holds"
        ),
        Column("source", ColumnType.TEXT, "Where it was read"),
    )

    def parameter_descriptions(self) -> Mapping[str, str]:
        return {
            **super().parameter_descriptions(),
            "offer": "Slug of the offer; needed",
            "since": "Day from which on",
            "as_of": "Prices known on that day",
        }

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        slug = own.pop("offer", None)
        if slug is None:
            raise InvalidParameters([("offer", "the slug of an offer is needed")])
        offer = offers_visible(workspace_slug(request)).filter(slug=slug).first()
        if offer is None:
            raise Http404
        series = history(offer, **own)
        rows = [(line, point) for line in series for point in line.points]
        return ListAnswer(self.columns, rows, len(rows), cells=_point, **shown)


def _point(row: tuple[PriceSeries, PricePoint]) -> dict[str, Any]:
    series, point = row
    return {
        **quote_cells(point.observation),
        "series": series.kind.label,
        "since": point.since,
        "until": point.until,
    }


class PriceDifferenceView(PriceListView):
    """Prices that appeared, vanished and changed between the ends of two days."""

    name = "price-difference"
    required_parameters = frozenset({"from", "to"})
    readers: Mapping[str, Reader] = {**FILTERS, "from": day, "to": day, "change": one_of(CHANGES)}
    columns = (
        Column("change", ColumnType.TEXT, ", ".join(CHANGES)),
        Column("offer_id", ColumnType.TEXT, "Slug of the offer"),
        Column("provider", ColumnType.TEXT, "Slug of the provider"),
        Column("offer", ColumnType.TEXT, "The provider's own name of the type"),
        *REGION_AND_ZONE,
        *PLAN,
        Column("currency", ColumnType.TEXT, "Three-letter code"),
        Column("amount_before", ColumnType.DECIMAL, "Amount on the first day", "currency/unit"),
        Column("unit_before", ColumnType.TEXT, "Its unit"),
        Column("setup_before", ColumnType.DECIMAL, "Paid once at the start, then", "currency"),
        Column("amount", ColumnType.DECIMAL, "Amount on the second day", "currency/unit"),
        Column("unit", ColumnType.TEXT, "Its unit"),
        Column("setup", ColumnType.DECIMAL, "Paid once at the start, now", "currency"),
        Column("ratio", ColumnType.DECIMAL, "Price of an hour, now by then"),
        Column("at", ColumnType.TIME, "When the change was read"),
        Column("price_id_before", ColumnType.TEXT, "Identifier of the first observation"),
        Column("price_id", ColumnType.TEXT, "Identifier of the newest observation"),
        Column("source", ColumnType.TEXT, "Where it was read"),
    )

    def parameter_descriptions(self) -> Mapping[str, str]:
        return {
            **super().parameter_descriptions(),
            "from": "First day, at its end; needed",
            "to": "Second day, at its end; needed",
            "change": f"Only these: {', '.join(CHANGES)}",
        }

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        missing = [(name, "a day is needed") for name in ("from", "to") if name not in own]
        if missing:
            raise InvalidParameters(missing)
        day_a, day_b, change = own.pop("from"), own.pop("to"), own.pop("change", None)
        if day_a >= day_b:
            raise InvalidParameters([("from", f"{day_a} is not before {day_b}")])
        rows = difference(
            day_a, day_b, PriceFilter(**own), change=change, workspace_slug=workspace_slug(request)
        )
        return ListAnswer(self.columns, rows, rows.count(), cells=_change, **shown)


def _change(row: PriceObservation) -> dict[str, Any]:
    before, change = terms_before(row), getattr(row, "change", "")
    is_gone = change == VANISHED
    now = {} if is_gone else quote_cells(row)
    return {
        **kind_cells(row),
        "change": change,
        "offer_id": row.offer.slug,
        "amount_before": before and before.amount,
        "unit_before": before and before.unit,
        "setup_before": before and before.setup_amount,
        "amount": now.get("amount"),
        "unit": now.get("unit"),
        "setup": now.get("setup"),
        "ratio": change_ratio(row),
        "at": row.missing_since if is_gone else row.observed_at,
        "price_id_before": before and before.observation_id,
        "price_id": row.pk,
        "source": row.source,
    }
