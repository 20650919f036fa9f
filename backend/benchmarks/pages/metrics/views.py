"""Metrics: their meaning, and the offers that have them."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.accounts.services.acting import workspace_slug
from backend.benchmarks.selectors.calibration import spreads_of_machines, spreads_of_sources
from backend.benchmarks.selectors.correlations import (
    correlation_row,
    correlation_rows,
    database_correlations,
)
from backend.benchmarks.services.current_data import current_stamp
from backend.foundation.attributions import attributions
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import BURSTABLE_CPU_CV, CPU_METRICS, METRICS, metric
from backend.rankings.selectors.coverage import coverage, licences_of, score_counts
from backend.site import charts
from backend.site.access import readable

# Most offers lack most metrics; the number of all stands beside.
LACKING_SHOWN = 50


@readable
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    """All metrics with their unit, direction and the number of offers that have them."""
    current_stamp()
    counts, offer_count = score_counts(workspace_slug(request))
    lines = [(metric, counts.get(key, 0)) for key, metric in METRICS.items()]
    # Most read are those with figures; among the rest those that could rank.
    lines.sort(key=lambda line: (-line[1], not line[0].ranking_variants))
    context = {
        "with_figures": [line for line in lines if line[1]],
        "without_figures": [line for line in lines if not line[1]],
        "offer_count": offer_count,
    }
    return render(request, "metrics/list.html", context)


@readable
@require_safe
def metric_page(request: HttpRequest, key: str) -> HttpResponse:
    """Definition, method and limits of one metric, and the offers that lack it."""
    try:
        chosen = metric(key)
    except InvalidValue as error:
        raise Http404(error.detail) from error
    current_stamp()
    covered = coverage(key, workspace_slug(request))
    context = {
        "metric": chosen,
        "is_cpu": chosen.key in CPU_METRICS,
        "shared_cv": BURSTABLE_CPU_CV,
        "scored_count": covered.scored_count,
        "lacking_count": len(covered.lacking),
        "lacking": [(row, charts.row_label(row)) for row in covered.lacking[:LACKING_SHOWN]],
        "more_count": len(covered.lacking) - LACKING_SHOWN,
        "correlations": correlation_row(chosen),
        "correlation_rows": correlation_rows(),
        "database": database_correlations().get(key),
        "published_spreads": spreads_of_sources(chosen),
        "measured_spreads": spreads_of_machines(chosen),
        "attributions": attributions(licences_of([key])),
    }
    return render(request, "metrics/page.html", context)
