"""The first page: what to buy for a need. With other parameters of a ranking it is the ranking."""

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope
from backend.catalog.selectors.rates import currencies
from backend.rankings.pages.answer.forms import NeedForm
from backend.rankings.pages.answer.presentation import answer_context
from backend.rankings.pages.ranking.remembered import remember
from backend.rankings.pages.ranking.views import ranking_page, ranking_request
from backend.rankings.selectors.answer import (
    CHEAPEST,
    NEEDS,
    OPTIONS,
    answer,
    as_filters,
    by_need,
    need_options,
)
from backend.rankings.selectors.default_metric import metrics_on_sale
from backend.rankings.selectors.frontier import frontier
from backend.site import state
from backend.site.access import may, readable
from backend.site.fragments import fragment
from backend.site.language import _
from backend.site.page_defaults import currency_remembered


def first_page(request: HttpRequest) -> HttpResponse:
    """The answer where nothing is asked or a need is, else the ranking that the address states."""
    return answer_page(request) if _is_need(set(request.GET)) else ranking_page(request)


def _is_need(names: set[str]) -> bool:
    """A form sends all of its fields, so a need names its size, budget or goal at least without a
    value; what else it has are parameters of the ranking too, and by themselves ask for that."""
    return not names or bool(names & (NEEDS.keys() | OPTIONS) and names <= NeedForm.names)


@readable
@require_safe
def answer_page(request: HttpRequest) -> HttpResponse:
    """The question in one line, its answer, and what the answer is taken from."""
    given = dict(request.GET.lists())
    options, wrong = need_options(given)
    # By the ranking's own reader, so that both pages mean the same by a parameter.
    requested = ranking_request(request, as_filters(given))
    params, may_write = requested.sound, may(request, Scope.WRITE)

    def context() -> dict[str, Any]:
        its = answer(
            requested.query,
            options,
            workspace_slug=requested.workspace_slug,
            stamp=requested.stamp,
            has_rank_bounds=False,
        )
        everything = frontier(
            requested.query, workspace_slug=requested.workspace_slug, stamp=requested.stamp
        )
        drawn = everything.of(its.candidates.rows, its.named_of)
        form = NeedForm(
            {**requested.params, **given},
            currencies=sorted(currencies()),
            # A metric of offers that are no longer sold would lead to an empty answer.
            scored=remember(
                its.ranking, "metrics", partial(metrics_on_sale, requested.workspace_slug)
            ).keys(),
            errors=[*wrong, *by_need(requested.errors)],
        )
        asked = state.encode(params)
        return {
            "form": form,
            "asked": asked,
            "ranking_url": reverse("offers") + asked,
            "by_price_url": request.path + state.encode({**given, "goal": [CHEAPEST]}),
            "goal": options.goal,
            "best_title": _("Lowest price") if options.goal == CHEAPEST else _("Best value"),
            "may_write": may_write,
            **answer_context(its, drawn, params),
        }

    known_as = requested.known_as and (requested.known_as, may_write, repr(options), wrong)
    content = fragment(request, "answer/_content.html", known_as, context)
    response = render(request, "answer/page.html", {"content": content})
    currency_remembered(request, response, params["currency"][0])
    # The currency follows the browser's language until somebody chooses one.
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response
