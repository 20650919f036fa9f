"""Prices of providers beside the machine, one row a tier."""

from collections.abc import Iterator
from typing import Any

from rest_framework.request import Request

from backend.catalog.api.lists import DataListView
from backend.catalog.models import ExtraKind, ExtraPrice
from backend.catalog.selectors.extras import newest_extras
from backend.core.rest.parameters import day, one_of, text
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer
from backend.money.pricing.extras import tiers_of

UNITS = {ExtraKind.DISK: "GB-month", ExtraKind.IPV4: "address-hour", ExtraKind.EGRESS: "GB"}


class ExtrasView(DataListView):
    """Prices of disk, public IPv4 addresses and traffic to the internet in force, tier by tier."""

    name = "extras"
    orders = {"provider": "provider", "region": "region", "kind": "kind"}
    readers = {
        "provider": text,
        "region": text,
        "kind": one_of(tuple(ExtraKind.values)),
        "as_of": day,
    }
    columns = (
        Column("provider", ColumnType.TEXT, "Slug of the provider"),
        Column(
            "region", ColumnType.TEXT, "The provider's code; empty: every region without its own"
        ),
        Column("kind", ColumnType.TEXT, "disk, ipv4 or egress"),
        Column("tier", ColumnType.INTEGER, "Number of the tier, from 1"),
        Column(
            "up_to", ColumnType.DECIMAL, "Where the tier ends in a month; empty: nowhere", "unit"
        ),
        Column("amount", ColumnType.DECIMAL, "Price of a unit in the tier, net", "currency/unit"),
        Column("currency", ColumnType.TEXT, "As quoted"),
        Column("unit", ColumnType.TEXT, "GB-month, address-hour (of each address) or GB"),
        Column("observed_on", ColumnType.DATE, "Day on which it was first read"),
        Column("source", ColumnType.TEXT, "Where"),
    )

    def listing(self, request: Request) -> ListAnswer:
        own, shown = self.asked(request)
        extras = newest_extras(own.get("as_of")).select_related("provider", "region")
        rows = sorted(extras, key=lambda row: (row.provider.slug, _code(row), row.kind))
        tiers = [tier for row in rows if _is_asked(row, own) for tier in _tiers(row)]
        return ListAnswer(self.columns, tiers, len(tiers), cells=dict, **shown)


def _code(row: ExtraPrice) -> str:
    return row.region.code if row.region else ""


def _is_asked(row: ExtraPrice, own: dict[str, Any]) -> bool:
    cells = {"provider": row.provider.slug, "region": _code(row), "kind": row.kind}
    return all(cells[name] == value for name, value in own.items() if name in cells)


def _tiers(row: ExtraPrice) -> Iterator[dict[str, Any]]:
    for number, (bound, amount) in enumerate(tiers_of(row.tiers), start=1):
        yield {
            "provider": row.provider.slug,
            "region": _code(row) or None,
            "kind": row.kind,
            "tier": number,
            "up_to": bound,
            "amount": amount,
            "currency": row.currency,
            "unit": UNITS[ExtraKind(row.kind)],
            "observed_on": row.observed_on,
            "source": row.source,
        }
