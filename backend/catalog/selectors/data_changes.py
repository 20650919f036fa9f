"""What has changed of what rankings read since somebody read it (catalog.models.stored)."""

from collections.abc import Set as AbstractSet
from uuid import UUID

from backend.catalog.models import StoredChange
from backend.catalog.selectors.data_version import Position

OFFERS, PRICES, SUMMARIES = "offers", "prices", "summaries"
MOST = 2_000
"""Changed offers above which all are read again, which is no slower then."""


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
