"""The metric that pages rank by where the reader names none, and those that lead to a ranking."""

import datetime as dt
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
from backend.core.shared_files import SharedFiles
from backend.money.pricing.purchase import PurchaseModel
from backend.rankings.selectors.cache import BYTES_OF_SMALL, StampedCache
from backend.rankings.selectors.known_tables import KnownTables
from backend.rankings.selectors.parameters import RANKING_METRICS
from backend.rankings.selectors.query import DEFAULTS

RUNNING_COSTS = (PurchaseModel.ON_DEMAND, PurchaseModel.MONTHLY)
# Real work on all threads, and known of most types.
PREFERRED = "general_performance"
_cache = StampedCache(80_000)
_tables = KnownTables(80_000, SharedFiles(None))


@dataclass(frozen=True)
class Leader:
    """The metric that leads, and how many changed offers cannot take its lead."""

    metric: str
    lead: int

    @property
    def nbytes(self) -> int:
        return BYTES_OF_SMALL

    def after(self, changed_count: int) -> "Leader | None":
        """The same after offers have changed; None where another one may lead."""
        lead = self.lead - changed_count
        return replace(self, lead=lead) if lead > 0 else None


def default_metric(stamp: DataStamp, workspace_slug: str = DEFAULT_WORKSPACE) -> str:
    """General performance where an offer on sale has a price and a figure for it.

    Else that of the metric that most offers with a price on demand or by the month have a figure
    for; of metrics with as many offers the one with the newest figure, then the first in the order
    of METRICS; the API's default where no offer has both.
    """

    def leader() -> Leader:
        def read() -> Leader:
            return _read(workspace_slug)

        def patched(old: Leader, changed: AbstractSet[UUID]) -> Leader | None:
            return old.after(len(changed))

        return _tables.get(workspace_slug, ANYTHING, stamp.position, read, patched, known={})

    return _cache.get(stamp, workspace_slug, lambda: read_of(stamp, leader)).metric


def _read(workspace_slug: str) -> Leader:
    counted = metrics_on_sale(workspace_slug)
    if PREFERRED in counted:
        return Leader(PREFERRED, counted[PREFERRED][0])
    first = RANKING_METRICS.index
    best = sorted(counted, key=lambda metric: (counted[metric], -first(metric)), reverse=True)
    # Without a lead it is counted again after each change: the next may bring the preferred one.
    return Leader(best[0] if best else DEFAULTS["metric"], 0)


def metrics_on_sale(workspace_slug: str) -> dict[str, tuple[int, dt.datetime]]:
    """Metric → how many offers on sale have a price and a figure for it, and its newest figure."""
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
    return {metric: (count, newest) for metric, count, newest in counted}
