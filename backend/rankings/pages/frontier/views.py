"""The frontier page: offers by price and score, and the line that nothing beats."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.catalog.selectors.price_refresh import failed_provider_count
from backend.catalog.selectors.rates import currencies
from backend.foundation.attributions import attributions
from backend.measure.metrics import METRICS
from backend.rankings.pages.frontier.page import frontier_chart
from backend.rankings.pages.ranking.views import RankingRequest, ranking_request
from backend.rankings.selectors.frontier import Frontier, frontier
from backend.rankings.selectors.listing import floats, mark_rows, select_rows, value_counts
from backend.rankings.selectors.rows import RankingRow
from backend.site import figures, state
from backend.site.access import readable
from backend.site.basis import basis_words, picture
from backend.site.basis_form import BasisForm
from backend.site.fragments import fragment
from backend.site.language import _
from backend.site.offer_lines import OfferLine, offer_lines
from backend.site.price_age import price_age

# The table repeats the picture for those who do not see it; all rows are on the ranking.
ROWS_SHOWN = 50


@readable
@require_safe
def frontier_page(request: HttpRequest) -> HttpResponse:
    """Chart, and the table of the offers on the line with the best of the others."""
    requested = ranking_request(request)

    def context() -> dict[str, Any]:
        front = frontier(
            requested.query, workspace_slug=requested.workspace_slug, stamp=requested.stamp
        )
        return _context(request.path, requested, front)

    content = fragment(request, "frontier/_content.html", requested.known_as, context)
    return render(
        request,
        "frontier/page.html",
        {"content": content, "metric": requested.query.ranking_metric},
    )


def _context(path: str, requested: RankingRequest, front: Frontier) -> dict[str, Any]:
    address = requested.address(path)
    params = address.params
    scale = figures.scale(front.metric.unit, floats(front.within, "score"))
    cost = state.cost(params)
    basis = basis_words(params, front.within)
    captions = picture(f"frontier-{front.metric.key}", params, basis, front.data_version)
    form = _form(requested, front, cost)
    age = price_age(front.within)

    def marked_lines(rows: Sequence[RankingRow]) -> list[tuple[OfferLine, list[str]]]:
        return [
            (shown, age.flags(shown.row)) for shown in offer_lines(rows, front.metric, scale, cost)
        ]

    line = front.line
    others = _others(front, line)
    listed = {row.offer_id for row in (*line, *others)}
    picked = state.values(params, "o")
    chart = frontier_chart(front, scale, cost, captions)
    return {
        "frontier": front,
        "metric": front.metric,
        "is_measured": front.metric.key in METRICS,
        "basis": basis,
        "age": age.banner(failed_provider_count()),
        "cost": cost,
        "units": (scale.unit, figures.value_scale(scale, front.metric.better, cost).unit),
        "chart": chart,
        "has_small_dots": not all(is_beyond for *_, is_beyond in chart["dots"]),
        "form": form,
        "hidden": state.pairs(params.keys() - form.fields.keys(), params),
        "carried": state.pairs(state.SELECTORS | state.QUESTION, params),
        "picked": picked,
        # Picks that no row of this page shows travel in hidden fields, or a submit would lose them.
        "picked_beside": [slug for slug in picked if slug not in listed],
        "chips": address.chips(),
        "clear_url": address.without_filters(),
        "ranking_url": reverse("offers") + state.query(params, page=None),
        "tables": [
            (_("Best score at their price"), marked_lines(line)),
            (_("Others, best value first"), marked_lines(others)),
        ],
        "attributions": attributions(value_counts(front.within, "licence")),
        "more_count": len(front.within) - len(line) - ROWS_SHOWN,
        "warnings": requested.warnings,
    }


def _form(requested: RankingRequest, front: Frontier, cost: str) -> BasisForm:
    is_higher_better, unit = front.metric.is_higher_better, front.metric.unit
    # Of a metric where less is better, a limit worth asking for is an upper one.
    limit = "score__gte" if is_higher_better else "score__lte"
    bound = _("at least") if is_higher_better else _("at most")
    number = {"inputmode": "decimal"}
    return BasisForm(
        requested.params,
        currencies=sorted(currencies()),
        more={
            "price__lte": (_("Budget ({cost})", cost=cost), number),
            limit: (_("Score {bound} ({unit})", bound=bound, unit=unit), number),
            "q": (_("Search"), {"type": "search"}),
        },
        errors=requested.errors,
    )


def _others(front: Frontier, line: Sequence[RankingRow]) -> list[RankingRow]:
    on_line = {row.offer_id for row in line}
    others = mark_rows(front.within, "offer_id", lambda slug: slug not in on_line)
    return list(select_rows(front.within, others)[:ROWS_SHOWN])
