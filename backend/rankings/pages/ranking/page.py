"""The ranking page around and below its controls, made from one address."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, QueryDict
from django.utils.html import json_script

from backend.accounts.services.acting import workspace_slug
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.price_refresh import failed_provider_count
from backend.catalog.selectors.rates import currencies
from backend.core.rest.parameters import MAX_PER_PAGE, PER_PAGE
from backend.foundation.attributions import attributions
from backend.rankings.models import SavedView
from backend.rankings.pages.ranking import forms
from backend.rankings.pages.ranking.exports import exports
from backend.rankings.pages.ranking.notices import counts_without_price, list_notice
from backend.rankings.pages.ranking.remembered import remember
from backend.rankings.pages.ranking.tables import RankingTable
from backend.rankings.selectors.columns import COLUMN, COLUMNS
from backend.rankings.selectors.coverage import metrics_scored
from backend.rankings.selectors.listing import floats, value_counts
from backend.rankings.selectors.provenance import price_sources
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.views import changes_from_view, views_visible
from backend.site import charts, columns, figures, state, words
from backend.site.basis import basis_words, picture
from backend.site.conclusions import of_ranking
from backend.site.language import _, lazy, translate_document

SIZES = (25, 50, 100, 250)
VIEWS_SHOWN = 30
# Ready-made filters: like compared with like.
ALIKE = (
    (lazy("Hide shared and burstable vCPUs"), {"vcpu_kind!": "shared,burstable"}),
    (lazy("Hide disturbed, cached and imported results"), {"flags!": "disturbed,cached,imported"}),
    (lazy("Only measured here"), {"measured": "1"}),
)


# Without blanks, as the data of the chart are sent with every answer.
class _CompactJson(DjangoJSONEncoder):
    item_separator, key_separator = ",", ":"


def results(
    request: HttpRequest,
    address: state.Address,
    ranked: Ranking,
    query: RankingQuery,
    view: SavedView | None,
) -> dict[str, Any]:
    """Everything that changes with filters and order."""
    params = address.params
    scale = remember(ranked, "scale", lambda: _scale(ranked))
    cost = state.cost(params)
    # Who asks for an offer by name wants to see it, measured or not; so does who gets nothing else.
    is_unscored_listed = bool(ranked.unscored) and ("q" in params or not ranked.rows)
    listed = ranked.everyone if is_unscored_listed else ranked.rows
    page = _page(params, listed)
    said = ("basis", *(state.value(params, name) for name in ("term", "hours_per_month")))
    basis = remember(ranked, said, lambda: basis_words(params, ranked.rows))
    captions = picture(ranked.metric.key, params, basis, ranked.data_version)
    sources = price_sources(page)
    table = RankingTable(list(page), ranking=ranked, address=address, scale=scale, sources=sources)
    bars = remember(
        ranked, ("chart", cost), lambda: charts.ranking_chart(ranked, scale, cost, captions)
    )
    chart = {**bars, "picture": captions}
    return {
        "address": address,
        "ranking": ranked,
        "metric": ranked.metric,
        "conclusion": remember(ranked, "conclusion", lambda: of_ranking(ranked, query)),
        "is_mix": "weights" in params,
        "unpriced": remember(ranked, "unpriced", lambda: counts_without_price(ranked)),
        "page": page,
        "table": table,
        "legend": _legend(page, table),
        "attributions": remember(
            ranked, "attributions", lambda: attributions(value_counts(ranked.rows, "licence"))
        ),
        "chart": chart,
        "chart_json": json_script(translate_document(chart), "chart-json", encoder=_CompactJson),
        "chips": (chips := address.chips()),
        "is_available_only": state.value(params, "available") == "TRUE",
        "is_narrowed": len(chips) > ("available" in params),
        "clear_url": address.without_filters(),
        "alike": [(label, *address.toggle(filters)) for label, filters in ALIKE],
        "basis": basis,
        "cost": cost,
        "order": _order_words(params),
        "sorting": address.sorting(),
        "sortable": _sortable(params, table.names),
        "hidden": _hidden_fields(address),
        "page_links": _page_links(address, page),
        "sizes": [(size, address.url(per_page=str(size), page=None)) for size in SIZES],
        "size": page.paginator.per_page,
        "exports": exports(request, params),
        "age": table.cells.age.banner(failed_provider_count()),
        "notice": list_notice(ranked, address, query, workspace_slug(request)),
        "is_unscored_listed": is_unscored_listed,
        "columns_url": address.url(open="columns"),
        **_compare(address, page),
        **_views(request, address, view),
    }


def _legend(page: Page[RankingRow], table: RankingTable) -> list[tuple[str, str, str]]:
    """The flags of the page's rows with their words."""
    return [
        words.flag(code) for code in sorted({f for r in page for f in table.cells.age.flags(r)})
    ]


def _scale(ranked: Ranking) -> figures.UnitScale:
    scores = floats(ranked.rows, "score")
    return figures.scale(ranked.metric.unit, scores[scores > 0])


# Fields of the panels below the form; a panel is open when something in it is set or wrong.
PRICE_FIELDS = (
    "basis",
    "basis_disk_gb",
    "basis_ipv4",
    "basis_egress_gb",
    *forms.PRICE_FIELDS,
    "tax_unknown",
    "as_of",
)
MIX_FIELDS = ("weights", "base")
BOUND_FIELDS = tuple(
    f"{name}{end}" for _, names in columns.BOUNDS for name in names for end in ("__gte", "__lte")
)


def _menu_fields(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}{mark}" for name in names for mark in ("", "!"))


PANELS: Mapping[str, Sequence[str]] = {
    "more": ("where", "measured", *BOUND_FIELDS, *_menu_fields(forms.MORE_MENUS)),
    "price": PRICE_FIELDS,
    "mix": MIX_FIELDS,
}


def filter_menus(
    workspace_slug: str,
    params: state.Params,
    wrong: Mapping[str, str],
    query: RankingQuery,
    *,
    ranked: Ranking,
    stamp: DataStamp,
) -> dict[str, Any]:
    """Parts of the form that follow from the rest of it: the options of the menus, the marks of
    panels."""
    # A menu counts under the filters in force, and one in error is none.
    sound = {name: values for name, values in params.items() if name not in wrong}
    # A menu that counted under its own filter would show zero beside every other value.
    everything = _ranking_of_any_category(workspace_slug, sound, query, ranked, stamp)
    set_count = {panel: len(params.keys() & {*names}) for panel, names in PANELS.items()}
    return {
        "menus": forms.menus(forms.MAIN_MENUS, sound, everything),
        "more_menus": forms.menus(forms.MORE_MENUS, sound, everything),
        "set_count": {
            "more": set_count["more"] or "",
            "price": set_count["price"] or "",
            "mix": "on" if set_count["mix"] else "",
        },
    }


def controls(
    address: state.Address,
    params: state.Params,
    errors: Sequence[tuple[str, str]],
    given: Mapping[str, Sequence[str]],
    query: RankingQuery,
    *,
    ranked: Ranking,
    workspace_slug: str,
    stamp: DataStamp,
    may_write: bool,
) -> dict[str, Any]:
    """The form above the results, with what is wrong beside its fields."""
    wrong = dict(errors)
    offered = remember(ranked, "currencies", lambda: sorted(currencies()))
    scored = remember(ranked, "metrics", metrics_scored)
    form = forms.RankingForm(params, currencies=offered, scored=scored, errors=wrong)
    # The second group is drawn when its panel is opened, which keeps the page small.
    rarer = columns.BOUNDS[1][1]
    lazy = {
        "figures": any(name.partition("__")[0] in rarer for name in (*params, *wrong)),
        "mix": any(name in MIX_FIELDS for name in (*params, *wrong)),
    }
    opened = given.get("open", [])
    shown = {*form.fields, *(name for names in PANELS.values() for name in names)}
    if ranked.rows:
        shown.add("sort")  # beside the menu above the table
    return {
        "form": form,
        **filter_menus(workspace_slug, params, wrong, query, ranked=ranked, stamp=stamp),
        "where": " ".join(given.get("where", [])).strip() if "where" in wrong else "",
        "errors": wrong,
        "ranges": forms.ranges(params, wrong),
        "basis_parts": forms.basis_parts(params, wrong, may_write=may_write),
        "price_fields": forms.price_fields(params, wrong),
        "is_tax_ranked": "tax_unknown" in params,
        "as_of": state.value(params, "as_of"),
        "weights": forms.weights(params, scored),
        "base": state.value(params, "base"),
        "is_drawn": {name: name in opened or is_set for name, is_set in lazy.items()},
        "lazy_urls": {name: address.url(open=name, page=None) for name in lazy},
        "is_open": {
            "more": "figures" in opened or not wrong.keys().isdisjoint(PANELS["more"]),
            "price": not wrong.keys().isdisjoint(PANELS["price"]),
            "mix": "mix" in opened or not wrong.keys().isdisjoint(PANELS["mix"]),
        },
        "other_errors": [
            (words.parameter(name)[1], detail) for name, detail in errors if name not in shown
        ],
    }


def _ranking_of_any_category(
    workspace_slug: str,
    params: state.Params,
    query: RankingQuery,
    ranked: Ranking,
    stamp: DataStamp,
) -> Ranking:
    """The rows that a menu counts: under all filters but those of the menus."""
    gone = {*_menu_fields(forms.MAIN_MENUS), *_menu_fields(forms.MORE_MENUS), "measured"}
    others = {name: values for name, values in params.items() if name not in gone}
    # The usual case, no category chosen: nothing is ranked a second time.
    if len(others) == len(params):
        return ranked
    # Who may see the query may see its contract under other filters.
    wider, _warnings = query_from(
        others, also_known=frozenset({"o"}), discounts=lambda: query.discounts
    )
    return ranking(
        wider,
        workspace_slug=workspace_slug,
        stamp=stamp,
        has_rank_bounds=False,
    )


# --- order, columns and pages -----------------------------------------------------------------


def _order_words(params: state.Params) -> str:
    said = [
        (_("{label}, highest first") if is_descending else _("{label}, lowest first")).format(
            label=COLUMN[name].label
        )
        for name, is_descending in state.sort_keys(params)
    ]
    return _(" then ").join(said)


def _sortable(params: state.Params, shown: Sequence[str]) -> list[tuple[str, str]]:
    """Keys that the order can be given more of, of the columns shown: what to send, and words."""
    used = {name for name, _ in state.sort_keys(params)}
    return [
        (f"{'-' if COLUMN[name].is_descending_first else ''}{name}", COLUMN[name].label)
        for name in shown
        if name not in used and COLUMN[name].is_sortable
    ]


def column_choice(address: state.Address) -> dict[str, Any]:
    """Every column, those shown first and in their order, and what else the choice must carry."""
    shown = columns.shown(state.values(address.params, "cols"))
    others = [column.name for column in COLUMNS if column.name not in shown]
    carried = _query_pairs(address.url(cols=None, page=None))
    return {
        "columns_shown": [(name, COLUMN[name].label) for name in shown],
        "columns_hidden": [(name, COLUMN[name].label) for name in others],
        "columns_carried": carried,
        "standard_url": address.url(cols=None, remember="1"),
    }


def _query_pairs(url: str) -> list[tuple[str, str]]:
    """Parameters of an address, for the hidden fields of a form that leads to it."""
    return [
        (name, value)
        for name, values in QueryDict(url.partition("?")[2]).lists()
        for value in values
    ]


def _hidden_fields(address: state.Address) -> list[tuple[str, str]]:
    """Parameters that travel with the form above because it has no field for them."""
    params = address.params
    drawn = {*forms.RankingForm.base_fields, "q", *BOUND_FIELDS, *PRICE_FIELDS, *MIX_FIELDS}
    for name in (*forms.MAIN_MENUS, *forms.MORE_MENUS):
        drawn.add(name if name in params else f"{name}!")
    carried = [
        (name, value)
        for name, values in params.items()
        if name not in drawn | {"sort", "page"}
        for value in values
    ]
    view = [("view", address.view)] if address.view else []
    # Of a view the order is sent also where it is the usual one, or the view's own would return.
    is_sorted = "sort" in params or address.view
    return [*([("sort", state.value(params, "sort"))] if is_sorted else []), *view, *carried]


def _page(params: state.Params, rows: Sequence[RankingRow]) -> Page[RankingRow]:
    per_page = state.value(params, "per_page")
    # An address in error still has a page; the error stands beside the field.
    size = min(int(per_page), MAX_PER_PAGE) if per_page.isdecimal() and int(per_page) else PER_PAGE
    return Paginator(rows, size).get_page(state.value(params, "page"))


def _page_links(
    address: state.Address, page: Page[RankingRow]
) -> list[tuple[str, str | None, bool]]:
    """Label, URL (None for a gap) and whether it is the present page."""
    if page.paginator.num_pages < 2:
        return []
    return [
        (str(n), address.url(page=str(n)), n == page.number)
        if isinstance(n, int)
        else ("…", None, False)
        for n in page.paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1)
    ]


# --- comparison and saved views ---------------------------------------------------------------


def _compare(address: state.Address, page: Page[RankingRow]) -> dict[str, Any]:
    """The tray: what is picked beside the boxes on this page, and what the comparison keeps."""
    params = address.params
    picked = state.values(params, "o")
    here = {row.offer_id for row in page}
    kept = (*state.SELECTORS, *PRICE_FIELDS)
    return {
        "picked": picked,
        "picked_elsewhere": [slug for slug in picked if slug not in here],
        "compare_hidden": [(name, value) for name in kept for value in params.get(name, [])],
        "unpick_url": address.url(o=None),
        "at": address.url(o=None).partition("?")[2],
    }


def _views(request: HttpRequest, address: state.Address, view: SavedView | None) -> dict[str, Any]:
    """Views that may be opened, the one that is, and the address that would save another."""
    visible = views_visible(workspace_slug(request), request.user.get_username())
    asked = address.url(page=None, per_page=None, o=None).partition("?")[2]
    return {
        "view": view,
        "views": list(visible[:VIEWS_SHOWN]),
        "is_modified": bool(
            view
            and changes_from_view(_view_parameters(address.params), _view_parameters(address.kept))
        ),
        "asked": f"?{asked}" if asked else "",
    }


def _view_parameters(params: state.Params) -> state.Params:
    """Parameters that a view is compared by: the picks are none of them."""
    return {name: values for name, values in params.items() if name != "o"}
