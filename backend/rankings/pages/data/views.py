"""The data page: addresses and formulas of a list, a try of them, and what the columns mean."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.core.rest.parameters import InvalidParameters
from backend.core.rest.views import SCHEMA_VERSION
from backend.rankings.pages.data.feed_trial import trial
from backend.rankings.pages.data.feeds import api_list
from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import query_from
from backend.rankings.selectors.views import OpenedView, keepable, open_view, views_visible
from backend.site import state
from backend.site.access import may, readable
from backend.site.language import _, lazy

SCHEMA_CHANGES = (
    (
        SCHEMA_VERSION,
        lazy("The columns above. Names and order stay; new ones are added at the end."),
    ),
)


@readable
# A trial shows an answer of this moment, and the page may hold the address of a private view.
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def data_page(request: HttpRequest) -> HttpResponse:
    """The page for the ranking that the address asks for; a POST tries an address."""
    asked_view, query, errors = data_request(request)
    kept, unknown = keepable(asked_view.params)
    shown = api_list(request, OpenedView(kept, asked_view.view), query)
    reader = request.user.get_username()
    context = {
        "shown": shown,
        "view": asked_view.view,
        "views": views_visible(workspace_slug(request), reader),
        "chips": state.chips(state.clean(kept), ""),
        "errors": errors,
        "unknown": unknown,
        "here": state.encode(dict(request.GET.lists())),
        "params": state.encode(kept),
        "columns": COLUMNS,
        "changes": SCHEMA_CHANGES,
        "may_write": may(request, Scope.WRITE),
        **_try_address(request, shown.csv_url),
    }
    return render(request, "data/page.html", context)


def data_request(request: HttpRequest) -> tuple[OpenedView, RankingQuery, list[tuple[str, str]]]:
    """Question of the address, as far as it can be answered, and what is wrong with the rest."""
    # Works off the marks of changed data, which selectors never do.
    current_stamp()
    given = dict(request.GET.lists())
    reader = request.user.get_username()
    errors: list[tuple[str, str]] = []
    try:
        asked_view = open_view(given, workspace_slug=workspace_slug(request), reader=reader)
    except InvalidParameters as error:
        errors += error.errors
        asked_view = OpenedView({name: values for name, values in given.items() if name != "view"})
    try:
        return asked_view, query_from(asked_view.params)[0], errors
    except InvalidParameters as error:
        errors += error.errors
        wrong = {name for name, _ in error.errors}
        params = {name: values for name, values in asked_view.params.items() if name not in wrong}
        return OpenedView(params, asked_view.view), query_from(params)[0], errors


def _try_address(request: HttpRequest, csv_url: str) -> dict[str, Any]:
    """Outcome of trying the address that was posted."""
    if request.method != "POST":
        return {"address": csv_url}
    address = request.POST.get("address", "").strip()
    try:
        return {"address": address, "trial": trial(address, request)}
    except ValueError as error:
        return {"address": address, "refusal": _("Not tried: {error}.", error=error)}
