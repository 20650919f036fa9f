"""The metric that pages rank by where the reader names none."""

from django.db.models import Count, Max

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import StoredSummary
from backend.catalog.models import CurrentPrice
from backend.catalog.selectors.data_changes import read_of
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.offers import offers_visible
from backend.domain.pricing.purchase import PurchaseModel
from backend.rankings.selectors.cache import StampedCache
from backend.rankings.selectors.parameters import RANKING_METRICS
from backend.rankings.selectors.query import DEFAULTS

RUNNING_COSTS = (PurchaseModel.ON_DEMAND, PurchaseModel.MONTHLY)
_cache = StampedCache(80_000)


def default_metric(stamp: DataStamp, workspace_slug: str = DEFAULT_WORKSPACE) -> str:
    """Key of the metric that most offers with a price on demand or by the month have a figure for.

    Offers that can no longer be bought do not count. Of metrics with as many offers the one with
    the newest figure is taken, then the first in the order of METRICS; the API's default where no
    offer has both.
    """

    def compute() -> str:
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
        best = max(counted, key=lambda row: (row[1:], -first(row[0])), default=None)
        return str(best[0]) if best else DEFAULTS["metric"]

    return _cache.get(stamp, workspace_slug, lambda: read_of(stamp, compute))
