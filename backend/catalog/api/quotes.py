"""Quotes for dedicated servers, in the columns of the table that they are imported from."""

from decimal import Decimal
from typing import Any

from rest_framework.request import Request

from backend.accounts.services.acting import workspace_slug
from backend.catalog.api.prices import PriceListView
from backend.catalog.models import PriceObservation
from backend.catalog.selectors.price_list import price_state
from backend.catalog.selectors.quotes import QUOTE, quotes_listed
from backend.catalog.selectors.read_prices import as_quoted
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB, EXACT
from backend.money.pricing.quoted import GROSS

BITS_PER_GBIT = 10**9
BYTES_PER_TB = 1000 * BYTES_PER_GB


class QuotesView(PriceListView):
    """Quotes for dedicated servers; `tables/import` takes them back."""

    name = "quotes"
    orders = {"offer_id": "offer__slug", "amount": "amount", "observed_at": "observed_at"}
    since = "observed_at"
    columns = (
        Column("price_id", ColumnType.TEXT, "Identifier of the observation"),
        Column("provider", ColumnType.TEXT, "Name of the provider"),
        Column("location", ColumnType.TEXT, "The provider's name of the place"),
        Column("model", ColumnType.TEXT, "The provider's own name of the type"),
        Column("cpu", ColumnType.TEXT, "Model of the processor"),
        Column("cores", ColumnType.DECIMAL, "Cores, where threads are not known"),
        Column("threads", ColumnType.INTEGER, "Hardware threads"),
        Column("ram_gib", ColumnType.DECIMAL, "Memory", "GiB"),
        Column("disk_gb", ColumnType.DECIMAL, "Size of all disks", "GB"),
        Column("disk_kind", ColumnType.TEXT, "Kind of the disks"),
        Column("nic_gbit", ColumnType.DECIMAL, "Speed of the port", "Gbit/s"),
        Column("currency", ColumnType.TEXT, "Three-letter code"),
        Column("monthly_net", ColumnType.DECIMAL, "Price without tax", "currency/month"),
        Column("monthly_gross", ColumnType.DECIMAL, "Price with tax", "currency/month"),
        Column("setup_net", ColumnType.DECIMAL, "Paid once, without tax", "currency"),
        Column("setup_gross", ColumnType.DECIMAL, "Paid once, with tax", "currency"),
        Column("tax_rate", ColumnType.DECIMAL, "Rate of tax, a ratio"),
        Column("min_term_months", ColumnType.INTEGER, "Months that have to be paid at least"),
        Column("traffic_tb", ColumnType.TEXT, "Included each month: TB, or unlimited"),
        Column("quoted_on", ColumnType.DATE, "Day of the quote"),
        Column("valid_until", ColumnType.DATE, "Its last day"),
        Column("contact", ColumnType.TEXT, "Where it came from"),
        Column("note", ColumnType.TEXT, "Words beside it"),
        Column("state", ColumnType.TEXT, "current, stale, superseded or quarantined"),
    )

    def listing(self, request: Request) -> ListAnswer:
        _own, shown = self.asked(request)
        rows = quotes_listed(workspace_slug(request))
        return ListAnswer(self.columns, rows, rows.count(), cells=_cells, **shown)


def _cells(row: PriceObservation) -> dict[str, Any]:
    offer, included = row.offer, row.included
    setup = None if row.setup_amount is None else as_quoted(row.setup_amount)
    amount, is_gross = as_quoted(row.amount), row.tax_basis == GROSS
    traffic = included.get("traffic_bytes")
    is_unlimited = included.get("is_traffic_unlimited")
    return {
        "price_id": row.pk,
        "provider": offer.provider.name,
        "location": offer.region.code if offer.region else None,
        "model": offer.name,
        "cpu": offer.cpu_model or None,
        "cores": None if offer.thread_count else _exact(offer.vcpu_count, 1),
        "threads": offer.thread_count,
        "ram_gib": _exact(offer.memory_bytes, BYTES_PER_GIB),
        "disk_gb": _exact(offer.disk_bytes, BYTES_PER_GB),
        "disk_kind": offer.disk_kind or None,
        "nic_gbit": _exact(included.get("network_bits_per_s"), BITS_PER_GBIT),
        "currency": row.currency,
        "monthly_net": None if is_gross else amount,
        "monthly_gross": amount if is_gross else None,
        "setup_net": None if is_gross else setup,
        "setup_gross": setup if is_gross else None,
        "tax_rate": None if row.tax_rate is None else as_quoted(row.tax_rate),
        "min_term_months": row.minimum_months,
        "traffic_tb": "unlimited" if is_unlimited else _exact(traffic, BYTES_PER_TB),
        "quoted_on": row.valid_from or row.observed_at.date(),
        "valid_until": row.valid_until,
        "contact": row.source.removeprefix(QUOTE).removeprefix(": ") or None,
        "note": row.note or None,
        "state": price_state(row),
    }


def _exact(value: Decimal | float | None, unit: int) -> Decimal | None:
    """A quantity in a larger unit with all its digits."""
    return None if value is None else as_quoted(EXACT.divide(Decimal(value), unit))
