"""The ranking page: offers of one metric under one basis, in one order."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe
from django_htmx.middleware import HtmxDetails

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_slug
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.discounts import discounts_of
from backend.core.rest.parameters import InvalidParameters
from backend.rankings.models import SavedView
from backend.rankings.pages.ranking import page as ranking_parts
from backend.rankings.pages.ranking.folding import fold, is_form_only
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from backend.rankings.selectors.views import OpenedView, open_view
from backend.site import columns, state
from backend.site.access import may, readable
from backend.site.language import _
from backend.site.page_defaults import COOKIE_AGE_S, currency_remembered, page_defaults
from backend.site.shown_state import stamp_shown
from backend.site.typed_parameters import read_numbers

# A parameter of the page beside those of the ranking.
OFFERS = frozenset({"o"})
COLUMNS_COOKIE = "columns"


@dataclass(frozen=True)
class RankingRequest:
    """Question of the URL: the part that can be answered, and what is wrong with the rest."""

    # Of a saved view and of the URL together, those in error too; never `view` itself.
    params: state.Params
    query: RankingQuery
    # State of the data that everything of the answer is of.
    stamp: DataStamp
    warnings: list[str]
    errors: list[tuple[str, str]]
    # Of what addresses always state.
    defaults: state.Params
    view: SavedView | None = None
    kept: state.Params = field(default_factory=dict)
    workspace_slug: str = DEFAULT_WORKSPACE
    """Slug of the workspace whose offers are ranked beside the shared ones."""
    may_write: bool = False

    @property
    def sound(self) -> state.Params:
        wrong = {name for name, _ in self.errors}
        sound = {name: values for name, values in self.params.items() if name not in wrong}
        return {**self.defaults, **sound}

    @property
    def known_as(self) -> tuple[object, ...] | None:
        """Everything that decides the answer, so that equal values mean equal pages. None where the
        state of the data is uncertain, and with a saved view, which its owner may change."""
        data = self.stamp.known_as
        if data is None or self.view:
            return None
        asked = (sorted(self.params.items()), sorted(self.sound.items()))
        return (data, self.workspace_slug, asked, self.warnings, self.errors)

    def address(self, path: str) -> state.Address:
        """Where these parameters are answered."""
        return state.Address(path, self.sound, self.view.slug if self.view else "", self.kept)


def ranking_request(request: HttpRequest, given: state.Params | None = None) -> RankingRequest:
    """Reads the parameters; those in error are reported and then left out.

    `given` are those of the address where the page reads some of them itself. A view means the API's
    defaults; else those of pages fill in. Private views open for their owner alone.
    """
    # First, and once: rows, menus and chart of one answer are all of the same state of the data.
    stamp, slug = stamp_shown(request), workspace_slug(request)
    params, errors = fold(dict(request.GET.lists()) if given is None else given)
    params, unread = read_numbers(params)
    errors += unread
    try:
        both = open_view(params, workspace_slug=slug, reader=request.user.get_username())
    except InvalidParameters as error:
        errors += error.errors
        both = OpenedView({name: values for name, values in params.items() if name != "view"})
    # A view means the same for everybody, so the reader's own currency is not filled in.
    defaults = state.API_DEFAULTS if both.view else page_defaults(request, stamp)
    params = {**defaults, **state.clean(both.params)}
    ranked_by = partial(
        query_from, also_known=OFFERS, workspace_slug=slug, discounts=discounts_of(request)
    )
    # A number that can mean two is not left to the reader of addresses, which knows points alone.
    asked = {name: values for name, values in params.items() if name not in dict(unread)}
    try:
        query, warnings = ranked_by({**defaults, **asked})
    except InvalidParameters as error:
        errors += error.errors
        wrong = {name for name, _ in errors}
        sound = {name: values for name, values in params.items() if name not in wrong}
        query, warnings = ranked_by({**defaults, **sound})
    kept = {**state.API_DEFAULTS, **state.clean(both.kept)} if both.view else {}
    return RankingRequest(
        state.known(params),
        query,
        stamp,
        warnings,
        errors,
        defaults,
        both.view,
        kept,
        slug,
        may(request, Scope.WRITE),
    )


@readable
@require_safe
def ranking_page(request: HttpRequest) -> HttpResponse:
    """The whole page, or for a partial request its results."""
    given = dict(request.GET.lists())
    requested = ranking_request(request)
    address = requested.address(request.path)
    # Before anything is ranked: this address only leads on.
    if not requested.errors and "remember" in given:
        return _columns_remembered(address)
    htmx = HtmxDetails(request)
    # On the way back htmx wants a whole page, since its own copy was gone.
    if htmx and not htmx.history_restore_request:
        return _partial(request, given, requested)
    if not requested.errors and _has_better_address(given, requested, address):
        return HttpResponseRedirect(address.url())
    requested, origin = _with_columns(request, given, requested)
    context = _context(request, requested, origin)
    context |= _controls(context["address"], requested, given, context["ranking"])
    context["is_default"] = not (requested.view or state.values(given, "metric"))
    if "columns" in given.get("open", []):
        context |= ranking_parts.column_choice(context["address"]) | {"is_choosing": True}
    return _answer(request, requested, render(request, "ranking/page.html", context))


def _controls(
    address: state.Address, requested: RankingRequest, given: state.Params, ranked: Ranking
) -> dict[str, Any]:
    return ranking_parts.controls(
        address,
        requested.params,
        requested.errors,
        given,
        requested.query,
        ranked=ranked,
        workspace_slug=requested.workspace_slug,
        stamp=requested.stamp,
        may_write=requested.may_write,
    )


def _partial(request: HttpRequest, given: state.Params, requested: RankingRequest) -> HttpResponse:
    if requested.errors:
        # Errors belong beside the fields, which a partial answer does not hold.
        return HttpResponse(headers={"HX-Redirect": request.get_full_path()})
    if any(text.strip() for text in given.get("where", [])):
        # What the box states is to be seen in the fields, which are not in the answer either.
        return HttpResponse(headers={"HX-Redirect": requested.address(request.path).url()})
    requested, origin = _with_columns(request, given, requested)
    if "open" in given:
        return _vary(_piece(request, given, requested, origin))
    context = _context(request, requested, origin) | {"is_partial": True}
    if HtmxDetails(request).trigger == "ranking-form":
        context |= ranking_parts.filter_menus(
            requested.workspace_slug,
            requested.params,
            {},
            requested.query,
            ranked=context["ranking"],
            stamp=requested.stamp,
        )
    response = render(request, "ranking/_results.html", context)
    # The address of the page follows the form, so that it can be copied, reloaded and gone back from.
    response.headers["HX-Push-Url"] = context["address"].url()
    return _answer(request, requested, response)


def _piece(
    request: HttpRequest, given: state.Params, requested: RankingRequest, origin: str
) -> HttpResponse:
    """A part of the page that a person opens: the choice of columns, or the panels."""
    address = requested.address(request.path)
    if "columns" in given["open"]:
        context = ranking_parts.column_choice(address)
        context |= {"address": address, "columns_from": origin}
        return render(request, "ranking/_columns.html", context)
    ranked = ranking(
        requested.query, workspace_slug=requested.workspace_slug, stamp=requested.stamp
    )
    return render(request, "ranking/_panels.html", _controls(address, requested, given, ranked))


def _context(request: HttpRequest, requested: RankingRequest, origin: str) -> dict[str, Any]:
    ranked = ranking(
        requested.query, workspace_slug=requested.workspace_slug, stamp=requested.stamp
    )
    address = requested.address(request.path)
    context = ranking_parts.results(request, address, ranked, requested.query, requested.view)
    return context | {"warnings": requested.warnings, "columns_from": origin}


def _answer(
    request: HttpRequest, requested: RankingRequest, response: HttpResponse
) -> HttpResponse:
    currency_remembered(request, response, requested.sound["currency"][0])
    return _vary(response)


def _vary(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["Accept-Language", "Cookie", "HX-Request", "HX-Trigger"])
    return response


# --- one address for one state ----------------------------------------------------------------


def _has_better_address(
    given: state.Params, requested: RankingRequest, address: state.Address
) -> bool:
    """True if a form without scripts sent fields that say nothing, or that only forms know."""
    is_clean = all(
        not is_form_only(name) and all(text.strip() for text in texts)
        for name, texts in given.items()
    )
    if is_clean:
        return False
    better = QueryDict(address.url().partition("?")[2])
    asked_for = {name: texts for name, texts in given.items() if name != "open"}
    lists = {name: better.getlist(name) for name in better}
    return lists not in (asked_for, {**requested.defaults, **asked_for})


# --- the columns that a person chose last -----------------------------------------------------


def _columns_remembered(address: state.Address) -> HttpResponse:
    """Leads to the same address without `remember`, and keeps its columns for the next visit."""
    response = HttpResponseRedirect(address.url())
    names = state.values(address.params, "cols")
    if names:
        # Joined by dots: a comma would have to be quoted in a cookie.
        response.set_cookie(
            COLUMNS_COOKIE, ".".join(names), max_age=COOKIE_AGE_S, httponly=True, samesite="Lax"
        )
    else:
        response.delete_cookie(COLUMNS_COOKIE, samesite="Lax")
    return response


def _with_columns(
    request: HttpRequest, given: state.Params, requested: RankingRequest
) -> tuple[RankingRequest, str]:
    """The columns of the URL, of the view, as chosen last, or the standard ones; and whose."""
    if any(text.strip() for text in given.get("cols", [])):
        return requested, _("of this address")
    if "cols" in requested.params:
        return requested, _("of the view")
    last = request.COOKIES.get(COLUMNS_COOKIE, "").split(".")
    if not any(last) or columns.shown(last) == columns.STANDARD:
        return requested, _("the standard ones")
    chosen = ",".join(columns.shown(last))
    return replace(requested, params={**requested.params, "cols": [chosen]}), _(
        "as you chose them last"
    )
