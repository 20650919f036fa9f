"""What has changed of what rankings read since somebody read it (catalog.models.stored)."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from backend.catalog.models import StoredChange

OFFERS, PRICES, SUMMARIES = "offers", "prices", "summaries"
MOST = 2_000
"""Changed offers above which all are read again, which is no slower then."""


@dataclass(frozen=True)
class Position:
    """A moment of a database: what was committed before it is seen by whoever reads after it."""

    database: tuple[float, int]
    """Changes with another server, and with another table of changes."""
    open_since: int
    """The oldest transaction that was not ended; what it and later ones change is not seen yet."""
    changes_since: int | None
    """The first transaction whose changes are known."""
    is_writing: bool
    """Whether this transaction has changed anything, which it may yet take back."""


POSITION = """
SELECT extract(epoch FROM pg_postmaster_start_time())::float8,
       pg_relation_filenode('catalog_storedchange')::bigint,
       pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       (SELECT changes_since FROM catalog_storedstate WHERE id = 1),
       pg_current_xact_id_if_assigned() IS NOT NULL
"""


def position() -> Position:
    """The present moment, to be asked before reading (one query)."""
    with connection.cursor() as cursor:
        cursor.execute(POSITION)
        started, table, *others = cursor.fetchone()
    return Position((started, table), *others)


def changed_offers(
    kind: str, since: Position, now: Position, metric: str = ""
) -> AbstractSet[UUID] | None:
    """Offers of which something of the kind has changed, of whatever was read after `since`; None
    where it may be any (one query)."""
    is_known = (
        since.database == now.database
        and now.changes_since is not None
        # A restored database may begin to count anew.
        and now.changes_since <= since.open_since <= now.open_since
    )
    if not is_known:
        return None
    # Whatever was open then: numbers of transactions follow their beginnings and not their ends.
    changes = StoredChange.objects.filter(kind=kind, transaction_number__gte=since.open_since)
    offer_ids = (
        changes.filter(metric__in={"", metric}).values_list("offer_id", flat=True).distinct()
    )
    offers: set[UUID | None] = set(offer_ids[: MOST + 1])
    known = {offer for offer in offers if offer is not None}
    return known if len(known) == len(offers) <= MOST else None
