"""Changes since the last reading of what rankings read (catalog.models.stored)."""

from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from typing import TypeVar
from uuid import UUID

from django.db.models import Q

from backend.catalog.models import StoredChange, StoredMark
from backend.catalog.selectors.data_version import DataStamp, Position, StateGone, data_stamp

OFFERS, PRICES, SUMMARIES = "offers", "prices", "summaries"
# Kind and metric that stand for all of them.
ANYTHING = ("", "")
Value = TypeVar("Value")
# Changed offers above which all are read again, which is no slower then.
MOST = 2_000


def offers_with_changes(
    kind: str, since: Position, now: Position, metric: str = ""
) -> AbstractSet[UUID] | None:
    """Offers of which something of the kind ("" is any) has changed, of whatever was read after
    `since`; None where it may be any (one query)."""
    is_known = (
        since.database == now.database
        and now.changes_since is not None
        # A restored database may begin to count anew.
        and now.changes_since <= since.open_since <= now.open_since
    )
    if not is_known:
        return None
    # Whatever was open then: numbers of transactions follow their beginnings and not their ends.
    changes = StoredChange.objects.filter(transaction_number__gte=since.open_since)
    if kind:
        changes = changes.filter(kind=kind, metric__in={"", metric})
    offer_ids = changes.values_list("offer_id", flat=True).distinct()
    offers: set[UUID | None] = set(offer_ids[: MOST + 1])
    known = {offer for offer in offers if offer is not None}
    return known if len(known) == len(offers) <= MOST else None


def read_of(stamp: DataStamp, read: Callable[[], Value], *changes: tuple[str, str]) -> Value:
    """Result of `read` for a state. Raises StateGone where that is held on to and something of
    these kinds and metrics, without any something that data versions count, has changed since."""
    value = read()
    # Afterwards, or it might change in between.
    if stamp.is_kept:
        now = data_stamp()
        if changes:
            changed = (
                offers_with_changes(kind, stamp.position, now.position, of) for kind, of in changes
            )
            has_changed = any(offers is None or offers for offers in changed)
        else:
            has_changed = now.number != stamp.number
        if has_changed:
            raise StateGone
    return value


def require_unchanged(stamp: DataStamp, offers: Collection[UUID]) -> None:
    """Raises StateGone where a state is held on to and something of these offers has changed since,
    which a page may read beside it."""
    if not stamp.is_kept:
        return
    of = Q(offer_id__in=offers) | Q(offer_id=None)
    since = StoredChange.objects.filter(transaction_number__gte=stamp.position.open_since)
    if since.filter(of).exists() or StoredMark.objects.filter(of).exists():
        raise StateGone
