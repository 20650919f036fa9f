"""Exchange rates as they were known at a time."""

import datetime as dt

from django.db import connection

from backend.catalog.models import ExchangeRate
from backend.money.money import EURO, RateTable
from backend.money.money import EuroRate as Rate


def rate_table(as_of: dt.date | None = None) -> RateTable:
    """The newest stored rate of each currency, on or before `as_of` when it is given."""
    stored = ExchangeRate.objects.order_by("currency", "-date").distinct("currency")
    if as_of is not None:
        stored = stored.filter(date__lte=as_of)
    return RateTable(
        {row.currency: Rate(row.date, row.currency, row.units_per_eur) for row in stored}
    )


# From each currency of the prices to the next one in the index: few are used by millions of rows.
CURRENCIES = """
WITH RECURSIVE quoted (currency) AS (
    SELECT min(currency) FROM catalog_priceobservation
    UNION ALL
    SELECT (SELECT min(currency) FROM catalog_priceobservation WHERE currency > quoted.currency)
    FROM quoted WHERE quoted.currency IS NOT NULL
)
SELECT currency FROM quoted WHERE currency IS NOT NULL
UNION SELECT currency FROM catalog_exchangerate
"""
ALWAYS_KNOWN = frozenset({EURO, "USD"})


def currencies() -> frozenset[str]:
    """Currencies in which a ranking may be asked for: those with a rate, or quoted as such."""
    with connection.cursor() as cursor:
        cursor.execute(CURRENCIES)
        return frozenset({*ALWAYS_KNOWN, *(code for (code,) in cursor.fetchall())})
