"""Providers, regions and exchange rates; and what all lists of data share."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.utils.functional import cached_property
from rest_framework.request import Request

from backend.accounts.services.acting import workspace_slug
from backend.catalog.models import ExchangeRate, Provider, Region
from backend.catalog.selectors.data_version import DataStamp, data_stamp
from backend.catalog.selectors.read_prices import as_quoted
from backend.core import clock
from backend.core.rest.parameters import Reader, day, text
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView
from backend.providers.registry import provider


class DataListView(ListView):
    """A list that changes only with the data version, or with the day."""

    readers: Mapping[str, Reader] = {}

    def parameter_readers(self) -> Mapping[str, Reader]:
        return {**self.readers, **super().parameter_readers()}

    @cached_property
    def stamp(self) -> DataStamp:
        """The state of the data when the request came."""
        return data_stamp()

    def state(self, request: Request) -> str | None:
        if self.stamp.changed_at is None:
            return None
        return f"{self.stamp} {clock.now().date()} {workspace_slug(request)}"

    def changed_at(self, request: Request) -> dt.datetime | None:
        """With the data, and every midnight: then prices grow old."""
        midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        return self.stamp.changed_at and max(self.stamp.changed_at, midnight)

    def asked(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """The view's own parameters; and paging and warnings for its Listing."""
        values, shown = self.parameters(request)
        own = {name: value for name, value in values.items() if name in self.readers}
        return own, {**shown, "members": {"data_version": self.stamp.number}}


class ProvidersView(DataListView):
    """Providers; `own` stands for one's own machines."""

    name = "providers"
    orders = {"provider": "slug", "name": "name"}
    columns = (
        Column("provider", ColumnType.TEXT, "Slug"),
        Column("name", ColumnType.TEXT, "Name"),
        Column("homepage", ColumnType.TEXT, "Address"),
        Column("incidents", ColumnType.TEXT, "What happened there: day, what, source"),
    )

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.asked(request)
        rows = Provider.objects.order_by("slug")
        return ListAnswer(self.columns, rows, rows.count(), cells=_provider, **shown)


def _provider(row: Provider) -> dict[str, Any]:
    incidents = [
        f"{incident.day}: {incident.outcome}. {incident.what} ({incident.source})"
        for incident in provider(row.slug).incidents
    ]
    return {
        "provider": row.slug,
        "name": row.name,
        "homepage": row.homepage or None,
        "incidents": "; ".join(incidents) or None,
    }


class RegionsView(DataListView):
    """The providers' own names for places."""

    name = "regions"
    orders = {"provider": "provider__slug", "region": "code"}
    readers = {"provider": text}
    columns = (
        Column("provider", ColumnType.TEXT, "Slug of the provider"),
        Column("region", ColumnType.TEXT, "The provider's code"),
        Column("name", ColumnType.TEXT, "Place"),
        Column("country", ColumnType.TEXT, "Two-letter code"),
    )

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        rows = Region.objects.select_related("provider").order_by("provider__slug", "code")
        if "provider" in own:
            rows = rows.filter(provider__slug=own["provider"])
        return ListAnswer(self.columns, rows, rows.count(), cells=_region, **shown)


def _region(row: Region) -> dict[str, Any]:
    return {
        "provider": row.provider.slug,
        "region": row.code,
        "name": row.name or None,
        "country": row.country or None,
    }


class RatesView(DataListView):
    """Exchange rates: units of a currency for one euro on a day."""

    name = "fx-rates"
    orders = {"currency": "currency", "date": "date"}
    since = "date"
    readers = {"currency": text, "as_of": day}
    columns = (
        Column("date", ColumnType.DATE, "Day of the rate"),
        Column("currency", ColumnType.TEXT, "Three-letter code"),
        Column("units_per_eur", ColumnType.DECIMAL, "Units for one euro", "currency/EUR"),
        Column("source", ColumnType.TEXT, "Who stated it"),
    )

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        rows = ExchangeRate.objects.order_by("-date", "currency")
        if "currency" in own:
            rows = rows.filter(currency=own["currency"].upper())
        if "as_of" in own:
            rows = rows.filter(date__lte=own["as_of"])
        return ListAnswer(self.columns, rows, rows.count(), cells=_rate, **shown)


def _rate(row: ExchangeRate) -> dict[str, Any]:
    return {
        "date": row.date,
        "currency": row.currency,
        "units_per_eur": as_quoted(row.units_per_eur),
        "source": row.source,
    }
