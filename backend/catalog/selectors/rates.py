"""Exchange rates as they were known at a time."""

import datetime as dt

from backend.catalog.models import (
    ExchangeRate,
    PriceObservation,
)
from backend.domain.money import EURO, RateTable
from backend.domain.money import EuroRate as Rate


def rate_table(as_of: dt.date | None = None) -> RateTable:
    """The newest stored rate of each currency, on or before `as_of` when it is given."""
    stored = ExchangeRate.objects.order_by("currency", "-date").distinct("currency")
    if as_of is not None:
        stored = stored.filter(date__lte=as_of)
    return RateTable(
        {row.currency: Rate(row.date, row.currency, row.units_per_eur) for row in stored}
    )


ALWAYS_KNOWN = frozenset({EURO, "USD"})


def currencies() -> frozenset[str]:
    """Currencies in which a ranking may be asked for: those with a rate, or quoted as such."""
    rated = ExchangeRate.objects.order_by().values_list("currency", flat=True).distinct()
    quoted = PriceObservation.objects.order_by().values_list("currency", flat=True).distinct()
    return frozenset({*ALWAYS_KNOWN, *rated.union(quoted)})
