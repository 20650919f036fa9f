"""Which state of the data an answer was made from."""

import datetime as dt
from dataclasses import dataclass

from django.db import connection


@dataclass(frozen=True)
class DataStamp:
    """The state of the data: its number, and when it got it; equal stamps mean equal data.

    `changed_at` is None while nothing has ever been counted, and then says nothing. The others say
    of what is stored (catalog.stored) how often it was made anew, by which formulas, and what is
    the newest change that waits for it; 0 when none does.
    """

    number: int
    changed_at: dt.datetime | None
    refreshes: int = 0
    prices: int = 0
    summaries: int = 0
    mark: int = 0


STAMP = """
SELECT coalesce(counted.number, 0), counted.changed_at, coalesce(made.refreshes, 0),
       coalesce(made.prices, 0), coalesce(made.summaries, 0),
       coalesce((SELECT max(id) FROM catalog_storedmark), 0)
FROM (SELECT 1 AS id) AS present
LEFT JOIN catalog_dataversion AS counted USING (id)
LEFT JOIN catalog_storedstate AS made USING (id)
"""


def data_stamp() -> DataStamp:
    """The present state of the data (one query)."""
    with connection.cursor() as cursor:
        cursor.execute(STAMP)
        return DataStamp(*cursor.fetchone())


def data_version() -> int:
    """The number that grows with every change of an offer, price, rate or sample."""
    return data_stamp().number
