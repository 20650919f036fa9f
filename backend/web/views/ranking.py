"""The ranking page: offers of one metric under one basis, in one order."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django_htmx.middleware import HtmxDetails

from backend.catalog.selectors import currencies
from backend.common import clock
from backend.rankings.selectors import (
    InvalidParameters,
    Ranking,
    RankingQuery,
    RankingRow,
    query_from,
    ranking,
)
from backend.web import charts, figures, state, words
from backend.web.access import readable
from backend.web.forms.ranking import RankingForm
from backend.web.tables import RankingTable

PER_PAGE = 50
MOST_PER_PAGE = 250


@dataclass(frozen=True)
class Asked:
    """What the URL asks for: the part that can be answered, and what is wrong with the rest."""

    params: state.Params
    query: RankingQuery
    warnings: list[str]
    errors: list[tuple[str, str]]


def asked(given: state.Params) -> Asked:
    """Reads the parameters; those in error are reported and then left out."""
    params = state.cleaned(given)
    try:
        query, warnings = query_from(params)
    except InvalidParameters as error:
        wrong = {field for field, _ in error.errors}
        kept = {name: values for name, values in params.items() if name not in wrong}
        query, warnings = query_from(kept)
        return Asked(state.known(params), query, warnings, list(error.errors))
    return Asked(state.known(params), query, warnings, [])


@readable
@require_safe
def ranking_page(request: HttpRequest) -> HttpResponse:
    """The whole page, or for a partial request its results."""
    wanted = asked({name: request.GET.getlist(name) for name in request.GET})
    htmx = HtmxDetails(request)
    is_partial = bool(htmx) and not htmx.history_restore_request
    if is_partial and wanted.errors:
        # Errors belong beside the fields, which a partial answer does not hold.
        return HttpResponse(headers={"HX-Redirect": request.get_full_path()})
    found = ranking(wanted.query)
    context = _results(request.path, wanted, found)
    if is_partial:
        response = render(request, "ranking/_results.html", {**context, "is_partial": True})
        response.headers["HX-Push-Url"] = request.path + state.query(wanted.params)
        return response
    context |= _controls(wanted, found)
    return render(request, "ranking/page.html", context)


def _results(path: str, wanted: Asked, found: Ranking) -> dict[str, Any]:
    params = {k: v for k, v in wanted.params.items() if k not in dict(wanted.errors)}
    scale = figures.scale(found.metric.unit, (row.score for row in found.rows if row.score))
    cost = state.cost(params)
    page = _page(params, found.rows)
    basis = _basis_words(params, found.rows)
    return {
        "found": found,
        "metric": found.metric,
        "page": page,
        "table": RankingTable(list(page), ranking=found, params=params, path=path, scale=scale),
        "chart": charts.ranking_chart(found, scale, cost, _picture(found, basis, params)),
        "chips": state.chips(params, path),
        "clear_url": state.without_filters(params, path),
        "basis": basis,
        "cost": cost,
        "hidden": [(k, v) for k in ("sort", "per_page") for v in params.get(k, [])]
        + [(c, v) for c, vs in params.items() if _is_carried(c) for v in vs],
        "page_links": _page_links(params, path, page),
        "exports": {
            kind: f"/api/v1/rankings.{kind}{state.query(params, page=None, per_page=None)}"
            for kind in ("csv", "json")
        },
        "purchase_url": path + state.query(params, term="purchase", page=None),
        "is_unpriced": bool(found.rows) and found.unpriced_count >= found.count,
        "is_purchase": state.value(params, "term") == "purchase",
        "warnings": wanted.warnings,
    }


def _is_carried(name: str) -> bool:
    """Filters without a field of their own travel with the form as hidden inputs."""
    return name not in state.SELECTORS | state.ARRANGEMENT | {"q", "provider", "kind", "page"}


def _controls(wanted: Asked, found: Ranking) -> dict[str, Any]:
    everything = found
    if any(name in wanted.params for name in state.LISTS):
        params = {k: v for k, v in wanted.params.items() if k not in dict(wanted.errors)}
        for name in state.LISTS:
            params.pop(name, None)
        everything = ranking(query_from(params)[0])
    return {
        "form": RankingForm(wanted.params, currencies=sorted(currencies()), errors=wanted.errors),
        "providers": _options(wanted.params, "provider", everything.rows),
        "kinds": _options(wanted.params, "kind", everything.rows),
    }


def _options(
    params: state.Params, name: str, rows: Sequence[RankingRow]
) -> list[tuple[str, str, int, bool]]:
    """Choices of a multiple filter: code, words, offers under it, whether it is on."""
    counts: dict[str, int] = {}
    for row in rows:
        code = getattr(row, name)
        counts[code] = counts.get(code, 0) + 1
    chosen = [one for value in params.get(name, []) for one in value.split(",")]
    counts.update({one: 0 for one in chosen if one not in counts})
    label = words.provider if name == "provider" else words.kind
    return [(code, label(code), counts[code], code in chosen) for code in sorted(counts)]


def _page(params: state.Params, rows: Sequence[RankingRow]) -> Page[RankingRow]:
    per_page = state.value(params, "per_page")
    size = min(int(per_page), MOST_PER_PAGE) if per_page.isdecimal() and int(per_page) else PER_PAGE
    return Paginator(rows, size).get_page(state.value(params, "page"))


def _page_links(
    params: state.Params, path: str, page: Page[RankingRow]
) -> list[tuple[str, str | None, bool]]:
    """Label, URL (None for a gap) and whether it is the present page."""
    if page.paginator.num_pages < 2:
        return []
    return [
        (str(n), path + state.query(params, page=str(n)), n == page.number)
        if isinstance(n, int)
        else ("…", None, False)
        for n in page.paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1)
    ]


def _basis_words(params: state.Params, rows: Sequence[RankingRow]) -> list[str]:
    """What the prices rest on: term, days of observation and of the rates, hours of a month."""
    said = [words.term(state.value(params, "term"))]
    if observed := _span(row.price_observed_on for row in rows):
        said.append(f"prices as of {observed}")
    if rated := _span(row.fx_date for row in rows):
        said.append(f"rates as of {rated}")
    if state.value(params, "term") != "purchase":
        said.append(f"{state.value(params, 'hours_per_month')} h/month")
    return said


def _span(days: Iterable[dt.date | None]) -> str:
    known = sorted(day for day in set(days) if day is not None)
    if not known:
        return ""
    return f"{known[-1]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"


def _picture(found: Ranking, basis: list[str], params: state.Params) -> dict[str, str]:
    filters = [f"{chip.label}: {chip.value}" for chip in state.chips(params, "")]
    today: dt.date = clock.now().date()
    return {
        "name": f"rackrate-{found.metric.key}-{today}",
        "subtitle": " · ".join(["; ".join(filters) or "all offers", *basis]),
        "footer": f"Rackrate, {today}, data version {found.data_version}. "
        "Whiskers are 95 % intervals.",
    }
