"""The page of a search."""

from itertools import groupby
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.accounts.services.acting import workspace_of
from backend.search.selectors.search import MOST_OF_A_KIND, search
from backend.site.access import readable
from backend.site.language import lazy

HEADINGS = {
    "offer": lazy("Offers"),
    "host": lazy("Hosts"),
    "scenario": lazy("Scenarios"),
    "report": lazy("Reports"),
    "view": lazy("Views"),
    "metric": lazy("Metrics"),
    "run": lazy("Runs"),
}


@readable
@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """Matches of the words of `q`, by kind; without any only the field."""
    text = request.GET.get("q", "").strip()
    matches = search(text, workspace=workspace_of(request), reader=request.user.get_username())
    context = {
        "q": text,
        "count": len(matches),
        # groupby needs no sorting: the search gives each kind in one piece.
        "kinds": [
            (kind, HEADINGS[kind], list(rows))
            for kind, rows in groupby(matches, attrgetter("kind"))
        ],
        "most": MOST_OF_A_KIND,
    }
    return render(request, "search/page.html", context)
