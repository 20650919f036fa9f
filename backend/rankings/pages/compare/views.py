"""Offers side by side: two to six of them against one, each state of the page a URL."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_slug
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.selectors.rates import currencies
from backend.foundation.attributions import attributions
from backend.measure.metrics import METRICS
from backend.rankings.pages.compare import page as shown
from backend.rankings.pages.ranking.views import RankingRequest, ranking_request
from backend.rankings.selectors.compare import MOST_OFFERS, Comparison, comparison, slugs_to_compare
from backend.rankings.selectors.listing import mark_rows, select_rows, with_words
from backend.rankings.selectors.query import DEFAULT_SORT, RankingQuery
from backend.rankings.selectors.ranking import ranking
from backend.rankings.selectors.rows import RankingRow
from backend.site import charts, state
from backend.site.access import may, readable
from backend.site.basis import basis_words, picture
from backend.site.basis_form import BasisForm
from backend.site.language import _
from backend.site.price_age import price_banner

# What only this page knows; everything else is the basis of the prices.
OWN = frozenset({"o", "add", "differences"})
MATCHES_SHOWN = 12
MOST_READ = 50


class ComparedRequest(NamedTuple):
    """The comparison of an address; `notes` are sentences about what cannot be compared."""

    requested: RankingRequest
    slugs: list[str]
    base: str
    params: state.Params
    notes: list[str]


def comparison_of(request: HttpRequest) -> ComparedRequest:
    """The offers in `o`, the baseline among them, and the basis of their prices."""
    given = dict(request.GET.lists())
    basis = {name: values for name, values in given.items() if name not in OWN}
    requested = ranking_request(request, basis)
    # Each slug that is not known becomes a sentence of the page, so not more than a few are read.
    slugs, notes = _visible(
        workspace_slug(request), slugs_to_compare(given.get("o", []))[:MOST_READ]
    )
    base = request.GET.get("base", "").strip()
    if base and base not in slugs:
        notes.append(_("The baseline {base!r} is not among the offers compared.", base=base[:80]))
        # Said once and dropped: kept, every link of the page would repeat the fault.
        base = ""
    return ComparedRequest(requested, slugs, base, _link_params(requested, slugs, base), notes)


@readable
@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """The offers in `o` against `base`; `add` looks for one more."""
    requested, slugs, base, params, notes = comparison_of(request)
    # Before `differences` is put in: a report has all lines, whatever is hidden at the moment.
    freeze_url = reverse("report-new-comparison") + state.query(params)
    if request.GET.get("differences") == "1":
        params["differences"] = ["1"]
    words = request.GET.get("add", "").strip()
    matches = _matches(words, slugs, requested) if words and len(slugs) < MOST_OFFERS else []
    if len(matches) == 1 or (words and words in [row.offer_id for row in matches]):
        # One match, or the exact name of one: there is nothing to choose.
        added = words if len(matches) > 1 else matches[0].offer_id
        # Adding leads to an address of its own, so that reloading does not add again.
        return HttpResponseRedirect(request.path + state.query(params, o=_add_slug(slugs, added)))
    context = {
        "notes": notes,
        "add": words,
        "matches": [
            (
                charts.row_label(row),
                row.provider,
                request.path + state.query(params, o=_add_slug(slugs, row.offer_id)),
            )
            for row in matches[:MATCHES_SHOWN]
        ],
        "more_matches": len(matches) - MATCHES_SHOWN,
        "is_full": len(slugs) >= MOST_OFFERS,
        "own": state.pairs(params, params),
        "warnings": requested.warnings,
        "freeze_url": freeze_url if slugs and may(request, Scope.WRITE) else "",
    }
    if slugs:
        compared = comparison(
            slugs,
            requested.query,
            base=base,
            workspace_slug=requested.workspace_slug,
            stamp=requested.stamp,
        )
        context |= _comparison(request.path, params, requested, compared)
    return render(request, "compare/page.html", context)


def _visible(workspace_slug: str, slugs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The first six slugs that are offers, and a sentence about each of the others."""
    # PostgreSQL stores no NUL, and refuses to compare with one.
    sound = [slug for slug in slugs if "\0" not in slug]
    known = set(
        offers_visible(workspace_slug).filter(slug__in=sound).values_list("slug", flat=True)
    )
    notes = [
        _("There is no offer {slug!r}.", slug=slug[:80]) for slug in slugs if slug not in known
    ]
    visible = [slug for slug in slugs if slug in known]
    if len(visible) > MOST_OFFERS:
        beyond = ", ".join(visible[MOST_OFFERS:])
        notes.append(
            _(
                "At most {most} offers can be compared; ignored: {left_out}.",
                most=MOST_OFFERS,
                left_out=beyond,
            )
        )
    return visible[:MOST_OFFERS], notes


def _link_params(requested: RankingRequest, slugs: Sequence[str], base: str) -> state.Params:
    """The parameters of the page's links: metric, basis and question, the offers, and the base."""
    kept = state.SELECTORS | state.QUESTION
    params = {name: values for name, values in requested.sound.items() if name in kept}
    params |= {"o": [",".join(slugs)]} if slugs else {}
    return params | ({"base": [base]} if base else {})


def _add_slug(slugs: Sequence[str], added: str) -> str:
    return ",".join([*slugs, added])


def _matches(words: str, slugs: Sequence[str], requested: RankingRequest) -> Sequence[RankingRow]:
    """Offers whose slug, name, provider, region or processor hold all the words, those with a rank first."""
    # Without the filters of the address: what they hide may be compared all the same.
    everyone = ranking(
        RankingQuery(metric=requested.query.metric, sort=DEFAULT_SORT),
        workspace_slug=requested.workspace_slug,
        stamp=requested.stamp,
        has_rank_bounds=False,
    )
    matching = with_words(everyone.everyone, words)
    return select_rows(matching, mark_rows(matching, "offer_id", lambda slug: slug not in slugs))


def _comparison(
    path: str, params: state.Params, requested: RankingRequest, compared: Comparison
) -> dict[str, Any]:
    differences = [item for item in compared.items if item.is_difference]
    is_short = "differences" in params
    items = differences if is_short else compared.items
    basis = basis_words(params, compared.rows)
    heads = shown.columns(compared, params, path)
    base = next(column.label for column in heads if column.is_base)
    captions = picture("compare", {}, basis, compared.data_version)
    captions["subtitle"] = " · ".join([_("against {base}", base=base), *basis])
    form = BasisForm(params, currencies=sorted(currencies()), errors=requested.errors)
    alike = len(compared.items) - len(differences)
    return {
        "comparison": compared,
        "conclusion": shown.conclusion(compared),
        "columns": heads,
        "groups": shown.groups(items, [column.label for column in heads]),
        "small_charts": {"charts": shown.small_charts(compared, items), "picture": captions},
        "basis": basis,
        "age": price_banner(compared.rows),
        "metric": compared.metric,
        "is_measured": compared.metric.key in METRICS,
        "attributions": attributions(compared.licences),
        "form": form,
        "hidden": state.pairs(params.keys() - form.fields.keys(), params),
        "is_short": is_short,
        "alike_count": alike,
        "differences_url": path + state.query(params, differences=None if is_short else "1"),
        "exports": {
            kind: f"/api/v1/compare.{kind}{state.query(params)}" for kind in ("csv", "xlsx", "json")
        },
    }
