"""A decision on all prices of a list that wait for a review."""

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.models import PriceFeed, PriceObservation
from backend.catalog.selectors.price_list import WAITS
from backend.catalog.selectors.waiting_prices import waiting_lists
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.foundation.errors import InvalidValue


@transaction.atomic
def price_list_review(
    *,
    workspace: Workspace,
    feed: PriceFeed,
    is_accepted: bool,
    actor: str,
    reason: str,
    count: int | None = None,
) -> int:
    """Publish the waiting prices of a list, or leave them out for good; returns how many.

    `count` is how many the reviewer saw. Raises InvalidValue where another number waits now, none
    does, or the reason is missing; NotOwned for another workspace.
    """
    demand_owner(workspace, feed)
    PriceFeed.objects.select_for_update(no_key=True).get(pk=feed.pk)
    if not reason.strip():
        raise InvalidValue("/reason", "a reason is needed")
    waiting = next(iter(waiting_lists([feed])), None)
    if waiting is None:
        raise InvalidValue("/count", "no price of this list waits for a review")
    if count is not None and count != waiting.count:
        detail = f"{waiting.count} prices wait by now: look at them again"
        raise InvalidValue("/count", detail)
    rows = PriceObservation.objects.filter(WAITS, missing_since=None, feed=feed)
    rows.update(is_published=is_accepted, reviewed_by=actor, reviewed_at=clock.now())
    audit_record(
        workspace=workspace,
        actor=actor,
        action="price_list_accept" if is_accepted else "price_list_refuse",
        target=feed,
        detail={
            "name": str(feed),
            "prices": waiting.count,
            "change": waiting.movement.sentence,
            "reason": reason.strip(),
        },
    )
    data_version_bump()
    return waiting.count
