"""Which state of the data an answer was made from."""

import datetime as dt
from dataclasses import dataclass, field, replace

from django.db import connection

from backend.core import clock


@dataclass(frozen=True)
class Position:
    """A moment of a database: what was committed before it is seen by whoever reads after it."""

    database: tuple[float, int, int]
    """Changes with another server, another database, and with another table of changes."""
    open_since: int
    """The oldest transaction that was not ended; what it and later ones change is not seen yet."""
    changes_since: int | None
    """The first transaction whose changes are known."""
    is_writing: bool
    """True if this transaction has changed anything, which it may yet take back."""

    def precedes(self, other: "Position") -> bool:
        """True if it is an earlier moment of the same database."""
        return self.database == other.database and self.open_since < other.open_since


UNKNOWN = Position((0.0, 0, 0), 0, None, is_writing=True)


class StateGone(Exception):
    """The state of the data that is held on to has changed since."""


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
    is_due: bool = field(default=False, compare=False, repr=False)
    """True if an announced price has begun since what is stored was made."""
    # Not in its text either, which ETags and cursors are made of: transactions of all databases of a
    # server move a position while the data stay as they are.
    position: Position = field(default=UNKNOWN, compare=False, repr=False)
    """When it was asked for; the data are read after it."""
    is_kept: bool = field(default=False, compare=False, repr=False)
    """True if the data may have changed since; what is read now and has then raises StateGone."""

    @property
    def known_as(self) -> object | None:
        """Key shared by equal states of all processes; None where nothing tells two apart, or a
        transaction may take back what it wrote."""
        if self.changed_at is None or self.position.is_writing:
            return None
        return (self.position.database, replace(self, position=UNKNOWN, is_kept=False))

    def precedes(self, other: "DataStamp") -> bool:
        """True if it is an earlier state of the same database, for certain: what a transaction has
        written it may yet take back, so a state that it sees is not known to be a later one."""
        if self.position.database != other.position.database or other.position.is_writing:
            return False
        # What waits is worked off in parts, each of which is counted.
        mine, others = (self.refreshes, self.mark), (other.refreshes, other.mark)
        return self != other and self.number <= other.number and mine <= others


STAMP = """
SELECT coalesce(counted.number, 0), counted.changed_at, coalesce(made.refreshes, 0),
       coalesce(made.prices, 0), coalesce(made.summaries, 0),
       coalesce((SELECT max(id) FROM catalog_storedmark), 0),
       extract(epoch FROM pg_postmaster_start_time())::float8,
       (SELECT oid FROM pg_database WHERE datname = current_database())::bigint,
       pg_relation_filenode('catalog_storedchange')::bigint,
       pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       made.changes_since,
       coalesce(made.prices_begin_on <= %s, FALSE),
       pg_current_xact_id_if_assigned() IS NOT NULL
FROM (SELECT 1 AS id) AS present
LEFT JOIN catalog_dataversion AS counted USING (id)
LEFT JOIN catalog_storedstate AS made USING (id)
"""


def data_stamp() -> DataStamp:
    """The present state of the data (one query)."""
    with connection.cursor() as cursor:
        cursor.execute(STAMP, [clock.now().date()])
        number, changed_at, refreshes, prices, summaries, mark, *moment = cursor.fetchone()
    started, database, table, open_since, changes_since, is_due, is_writing = moment
    position = Position((started, database, table), open_since, changes_since, is_writing)
    return DataStamp(number, changed_at, refreshes, prices, summaries, mark, is_due, position)


def data_version() -> int:
    """The number that grows with every change of an offer, price, rate or sample."""
    return data_stamp().number
