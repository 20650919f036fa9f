"""The metric by which the machines of a bill are compared where nobody names one."""

from collections import defaultdict
from decimal import Decimal

from django.db.models.functions import Lower

from backend.benchmarks.models import StoredSummary
from backend.bills.models import Bill
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.offers import offers_visible
from backend.measure.metrics import CPU_METRICS, METRICS
from backend.rankings.selectors.default_metric import default_metric
from backend.rankings.selectors.parameters import RANKING_METRICS

COMPARABLE = tuple(
    key for key in RANKING_METRICS if key in CPU_METRICS and METRICS[key].better == "higher"
)


def bill_metric(bill: Bill, stamp: DataStamp) -> str:
    """The metric of the pages, unless another one knows machines that more of the bill is for."""
    workspace_slug = bill.workspace.slug
    preferred = default_metric(stamp, workspace_slug)
    costs: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for machine in bill.estate["machines"]:
        costs[machine["provider"], machine["type"].lower()] += Decimal(machine["cost"])
    known = {metric: Decimal(0) for metric in (preferred, *COMPARABLE)}
    for metric, provider, name in _figures(costs, workspace_slug):
        known[metric] += costs.get((provider, name), Decimal(0))
    # Of equals the first counts, which is the preferred one.
    return max(known, key=lambda metric: known[metric])


def _figures(
    types: dict[tuple[str, str], Decimal], workspace_slug: str
) -> list[tuple[str, str, str]]:
    """(metric, provider, name in small letters) for which a figure can be compared."""
    offers = (
        offers_visible(workspace_slug)
        .annotate(lower_name=Lower("name"))
        .filter(
            provider__slug__in={provider for provider, _ in types},
            lower_name__in={name for _, name in types},
        )
    )
    return list(
        StoredSummary.objects.order_by()
        .filter(metric__in=COMPARABLE, is_unfit=False, offer__in=offers.values("pk"))
        .values_list("metric", "offer__provider__slug", Lower("offer__name"))
        .distinct()
    )
