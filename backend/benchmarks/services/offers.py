"""Deletes offers of one's own: of the catalogue alone, since hosts and runs are instances of them."""

from django.db import transaction
from django.db.models import ProtectedError

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import Host, HostState
from backend.benchmarks.selectors.consequences import offer_uses
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import Offer
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.offers import demand_own
from backend.foundation.errors import DomainError


class OfferInUse(DomainError):
    """Hosts or runs are of the offer: it can be retired, and not deleted."""


@transaction.atomic
def offer_delete(*, workspace: Workspace, offer: Offer, actor: str) -> None:
    """Delete an offer of the workspace alone with its prices, imported results and scores.

    Raises InvalidValue for what is sold to everybody, NotOwned for another workspace's, and
    OfferInUse, naming what uses it.
    """
    demand_own(workspace, offer)
    # No host of it is made meanwhile.
    schedule_lock(workspace_id=workspace.pk)
    if why := offer_uses(offer):
        raise OfferInUse(f"{offer.slug} is in use, so it can only be retired: {why}")
    audit_record(
        workspace=workspace,
        actor=actor,
        action="offer_delete",
        target=offer,
        detail={
            "slug": offer.slug,
            "prices": offer.prices.count(),
            "samples": offer.samples.count(),
        },
    )
    # A removed host keeps its row for its runs, of which there are none.
    Host.objects.filter(offer=offer, state=HostState.GONE).delete()
    try:
        with transaction.atomic():
            offer.delete()
    except ProtectedError:
        raise OfferInUse(f"{offer.slug} is in use, so it can only be retired") from None
    summaries_refresh()
    data_version_bump()
