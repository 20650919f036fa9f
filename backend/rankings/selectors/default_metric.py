"""The metric that pages rank by where the reader names none."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Count, Max

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import StoredSummary
from backend.catalog.models import CurrentPrice
from backend.catalog.selectors.data_changes import ANYTHING, read_of
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.offers import offers_visible
from backend.common.shared_files import SharedFiles
from backend.domain.pricing.purchase import PurchaseModel
from backend.rankings.selectors.cache import BYTES_OF_SMALL, StampedCache
from backend.rankings.selectors.known_tables import KnownTables
from backend.rankings.selectors.parameters import RANKING_METRICS
from backend.rankings.selectors.query import DEFAULTS

RUNNING_COSTS = (PurchaseModel.ON_DEMAND, PurchaseModel.MONTHLY)
_cache = StampedCache(80_000)
_tables = KnownTables(80_000, SharedFiles(None))


@dataclass(frozen=True)
class Leader:
    """The metric that most offers have, and how many more than have the next one."""

    metric: str
    lead: int

    @property
    def nbytes(self) -> int:
        return BYTES_OF_SMALL

    def after(self, changed_count: int) -> "Leader | None":
        """The same after offers have changed; None where another one may lead."""
        # Each may have gone from this metric, and have come to the next one.
        lead = self.lead - 2 * changed_count
        return replace(self, lead=lead) if lead > 0 else None


def default_metric(stamp: DataStamp, workspace_slug: str = DEFAULT_WORKSPACE) -> str:
    """Key of the metric that most offers with a price on demand or by the month have a figure for.

    Offers that can no longer be bought do not count. Of metrics with as many offers the one with
    the newest figure is taken, then the first in the order of METRICS; the API's default where no
    offer has both.
    """

    def leader() -> Leader:
        def read() -> Leader:
            return _read(workspace_slug)

        def patched(old: Leader, changed: AbstractSet[UUID]) -> Leader | None:
            return old.after(len(changed))

        return _tables.get(workspace_slug, ANYTHING, stamp.position, read, patched, known={})

    return _cache.get(stamp, workspace_slug, lambda: read_of(stamp, leader)).metric


def _read(workspace_slug: str) -> Leader:
    # Of a hundred thousand offers it takes longer than to rank them anew.
    priced = CurrentPrice.objects.filter(purchase_model__in=RUNNING_COSTS)
    offers = offers_visible(workspace_slug).filter(
        discontinued_on=None, pk__in=priced.values("offer")
    )
    counted = (
        StoredSummary.objects.order_by()
        .filter(metric__in=RANKING_METRICS, is_unfit=False, offer__in=offers.values("pk"))
        .values_list("metric")
        .annotate(count=Count("offer"), newest=Max("measured_at"))
    )
    first = RANKING_METRICS.index
    best = sorted(counted, key=lambda row: (row[1:], -first(row[0])), reverse=True)
    if not best:
        return Leader(DEFAULTS["metric"], 0)
    return Leader(str(best[0][0]), best[0][1] - (best[1][1] if len(best) > 1 else 0))
