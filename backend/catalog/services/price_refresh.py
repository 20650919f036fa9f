"""A refresh: every list that can be read is due now; workers read them as they read any list that is due.

Its state is that of the lists, so a restart of a worker loses nothing and the next one goes on.
"""

import datetime as dt
import logging

from django.conf import settings
from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import default_workspace, demand_owner
from backend.catalog.models import PriceFeed
from backend.catalog.selectors.price_refresh import (
    is_refreshing,
    is_resting,
    last_requested_at,
    refresh_lists,
)
from backend.catalog.services.feeds import feed_of
from backend.core import clock
from backend.core.queue import Task, enqueue
from backend.foundation.errors import DomainError

log = logging.getLogger(__name__)
SCHEDULE = "schedule"


class RefreshBusy(DomainError):
    """A refresh is under way; there is one at a time."""


@transaction.atomic
def price_refresh(*, workspace: Workspace, actor: str) -> int:
    """Read every list now; returns how many. Raises RefreshBusy, and NotOwned for a workspace that
    only sees the lists."""
    demand_owner(workspace, None)
    # Two at once would both find nothing under way.
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    if is_refreshing():
        raise RefreshBusy("prices are being refreshed already; wait until that is done")
    now = clock.now()
    ids = [feed_of(entry.provider, entry.feed, entry.region).pk for entry in refresh_lists()]
    # A list that is locked is recorded at this moment, so it is fresh without us.
    free = PriceFeed.objects.select_for_update(skip_locked=True, of=("self",)).in_bulk(ids)
    feeds = [free[pk] for pk in ids if pk in free]
    for position, feed in enumerate(feeds):
        feed.requested_at = now
        # Due in this order, and all of them by now.
        feed.next_due_at = now + dt.timedelta(microseconds=position - len(feeds))
    PriceFeed.objects.bulk_update(feeds, ("requested_at", "next_due_at"))
    audit_record(
        actor=actor, action="price_refresh", target=workspace, detail={"lists": len(feeds)}
    )
    enqueue(Task.FETCH_PRICES)
    return len(feeds)


def price_refresh_due() -> None:
    """Refresh where the last one is as long ago as the setting says; the first is counted from the
    day of the installation."""
    days, workspace = settings.PRICE_REFRESH_DAYS, default_workspace()
    last = last_requested_at() or workspace.created_at
    is_due = days and clock.now() - last >= dt.timedelta(days=days)
    if is_due and not is_refreshing() and not is_resting():
        price_refresh(workspace=workspace, actor=SCHEDULE)
