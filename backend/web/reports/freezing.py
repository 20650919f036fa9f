"""Freezing: a ranking, a comparison, a scenario, a cost model, a bill or price
changes become a report."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.selectors.data_version import data_version
from backend.catalog.selectors.hardware import hardware_visible
from backend.common import clock
from backend.domain.conclusions import name_list
from backend.domain.errors import InvalidDocument, InvalidValue
from backend.rankings.models import Report, ReportKind
from backend.rankings.selectors.compare import comparison
from backend.rankings.selectors.query import CONTRACT
from backend.rankings.selectors.ranking import ranking
from backend.rankings.services.reports import MOST_TITLE, ranking_document, report_create
from backend.scenarios.services.scenarios import ScenarioFrozen, scenario_freeze
from backend.web.bills.views import bill_or_404, elsewhere_request
from backend.web.compare.views import comparison_of
from backend.web.prices.forms import ChangesForm
from backend.web.ranking.views import ranking_request
from backend.web.reports.bill import bill_sheet
from backend.web.reports.forms import RankingReportForm, ReportForm
from backend.web.reports.hardware import hardware_sheet
from backend.web.reports.price_changes import changes_sheet
from backend.web.reports.scenario import scenario_sheet
from backend.web.scenarios.page import scenario_outcome
from backend.web.scenarios.views import scenario_or_404
from backend.web.shared import charts, state
from backend.web.shared.access import demand, readable
from backend.web.shared.language import _, count_words


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new(request: HttpRequest) -> HttpResponse:
    """Freezes the ranking that the address asks for; the form says what that is."""
    demand(request, Scope.WRITE)
    requested = ranking_request(request)
    ranked = ranking(
        requested.query, workspace_slug=requested.workspace_slug, stamp=requested.stamp
    )
    # With the day, as the same ranking may be frozen again next year.
    title = _(
        "Best value by {label}, {day}", label=ranked.metric.label, day=f"{clock.now():%Y-%m-%d}"
    )
    form = RankingReportForm(request.POST or None, initial={"title": title[:MOST_TITLE]})
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            return _leads_to(
                _store(
                    request,
                    form,
                    kind=ReportKind.RANKING,
                    params=_lasting(requested.params),
                    document=ranking_document(ranked.basis, ranked.rows, form.cleaned_data["top"]),
                    data_version=ranked.data_version,
                )
            )
    offers = count_words("{n} offer", "{n} offers", ranked.count)
    context = {
        "what": _("this ranking"),
        "lede": _(
            "{offers} by {label}, data version {data_version}.",
            offers=offers,
            label=ranked.metric.label,
            data_version=ranked.data_version,
        ),
        "chips": state.chips(requested.params, ""),
        "errors": requested.errors,
        "back": reverse("offers") + state.query(requested.params),
    }
    return render(request, "reports/new.html", {"form": form, **context})


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new_comparison(request: HttpRequest) -> HttpResponse:
    """Freezes the offers that the address compares."""
    demand(request, Scope.WRITE)
    requested, slugs, base, params, _notes = comparison_of(request)
    if not slugs:
        raise Http404(_("No offer is compared."))
    compared = comparison(
        slugs,
        requested.query,
        base=base,
        workspace_slug=requested.workspace_slug,
        stamp=requested.stamp,
    )
    names = name_list([charts.row_label(row) for row in compared.rows])
    form = ReportForm(request.POST or None, initial={"title": names[:MOST_TITLE]})
    if request.method == "POST" and form.is_valid():
        unpriced = sum(row.price is None for row in compared.rows)
        # A comparison has only offers that were asked for, so none is left out for want of a score.
        basis = {**compared.basis, "unpriced_count": unpriced, "without_score_count": 0}
        with form.refusals():
            return _leads_to(
                _store(
                    request,
                    form,
                    kind=ReportKind.COMPARISON,
                    params=params,
                    document=ranking_document(basis, compared.rows),
                    data_version=compared.data_version,
                )
            )
    context = {
        "what": _("this comparison"),
        "lede": _(
            "{names} by {label}, data version {data_version}.",
            names=names,
            label=compared.metric.label,
            data_version=compared.data_version,
        ),
        "errors": requested.errors,
        "back": reverse("compare") + state.query(params),
    }
    return render(request, "reports/new.html", {"form": form, **context})


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new_scenario(request: HttpRequest, slug: str) -> HttpResponse:
    """Freezes a scenario, if that was not done before, and makes a report of its result."""
    demand(request, Scope.WRITE)
    scenario = scenario_or_404(request, slug)
    back = reverse("scenario", args=[slug])
    form = ReportForm(request.POST or None, initial={"title": scenario.name, "note": scenario.note})
    if request.method == "POST" and form.is_valid():
        actor, note = request.user.get_username(), form.cleaned_data["note"]
        try:
            # A report that is refused leaves the scenario open to changes.
            with form.refusals(), transaction.atomic():
                # A second report of a frozen scenario is of the same result.
                if scenario.frozen_at is None:
                    scenario = scenario_freeze(scenario=scenario, note=note, actor=actor)
                outcome = scenario_outcome(scenario)
                return _leads_to(
                    _store(
                        request,
                        form,
                        kind=ReportKind.SCENARIO,
                        params={"scenario": [slug]},
                        document=scenario_sheet(scenario, outcome).document(),
                        data_version=outcome.data_version,
                    )
                )
        except (ScenarioFrozen, InvalidDocument) as error:
            messages.error(request, _("It was not frozen: {error}", error=error))
            return HttpResponseRedirect(back)
    context = {
        "what": _("the scenario {name}", name=scenario.name),
        "lede": _(
            "Keeps the result with the prices and scores of today. The scenario cannot be "
            "changed any more; a copy of it can."
        ),
        "back": back,
    }
    return render(request, "reports/new.html", {"form": form, **context})


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new_hardware(request: HttpRequest, model_id: UUID) -> HttpResponse:
    demand(request, Scope.WRITE)
    every = hardware_visible(workspace_of(request), is_newest_only=False)
    model = get_object_or_404(every, pk=model_id)
    form = ReportForm(request.POST or None, initial={"title": model.name})
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            return _leads_to(
                _store(
                    request,
                    form,
                    kind=ReportKind.HARDWARE,
                    params={"model": [str(model.pk)]},
                    document=hardware_sheet(model).document(),
                    data_version=data_version(),
                )
            )
    context = {
        "what": _("what {name} costs", name=model.name),
        "lede": _(
            "Version {version} of {day}, with its assumptions.",
            version=model.version,
            day=f"{model.created_at:%Y-%m-%d}",
        ),
        "back": reverse("hardware-model", args=[model_id]),
    }
    return render(request, "reports/new.html", {"form": form, **context})


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new_bill(request: HttpRequest, slug: str) -> HttpResponse:
    """Freezes what a bill's machines would cost elsewhere, under what the address assumes."""
    bill = bill_or_404(request, slug)
    answer, assumed = elsewhere_request(bill, request)
    if answer is None:
        raise Http404(_("Nothing can be compared under what is assumed."))
    title = _("{bill} elsewhere, {day}", bill=bill.name, day=f"{clock.now():%Y-%m-%d}")
    form = ReportForm(request.POST or None, initial={"title": title[:MOST_TITLE]})
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            return _leads_to(
                _store(
                    request,
                    form,
                    kind=ReportKind.BILL,
                    params={
                        "bill": [slug],
                        **{k: v for k, v in request.GET.lists() if k in assumed.fields},
                    },
                    document=bill_sheet(bill, answer).document(),
                    data_version=data_version(),
                )
            )
    context = {
        "what": _("what {name} costs elsewhere", name=bill.name),
        "lede": _("With the prices, scores and assumptions of today; only who sees bills sees it."),
        "back": reverse("bill", args=[slug]),
    }
    return render(request, "reports/new.html", {"form": form, **context})


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def report_new_prices(request: HttpRequest) -> HttpResponse:
    """Freezes the price changes that the address asks for."""
    demand(request, Scope.WRITE)
    asked = ChangesForm(request.GET)
    back = reverse("price-changes") + state.query(dict(request.GET.lists()))
    if asked.days is None:
        # That page says what is wrong with the days.
        return HttpResponseRedirect(back)
    first, last = asked.days
    title = _("Price changes from {first} to {last}", first=str(first), last=str(last))
    form = ReportForm(request.POST or None, initial={"title": title})
    if request.method == "POST" and form.is_valid():
        stamp, slug = current_stamp(), workspace_slug(request)
        with form.refusals():
            sheet = changes_sheet(
                asked.price_filter(), asked.days, workspace_slug=slug, stamp=stamp
            )
            return _leads_to(
                _store(
                    request,
                    form,
                    kind=ReportKind.PRICES,
                    params=asked.params(),
                    document=sheet.document(),
                    data_version=stamp.number,
                )
            )
    context = {
        "what": title,
        "lede": _("With what the best answers cost on both days."),
        "back": back,
    }
    return render(request, "reports/new.html", {"form": form, **context})


def _store(
    request: HttpRequest,
    form: ReportForm,
    *,
    kind: ReportKind,
    params: state.Params,
    document: Mapping[str, Any],
    data_version: int,
) -> Report:
    """The report under the title and words of the form. Raises InvalidValue for contract prices."""
    if CONTRACT in state.values(params, "basis"):
        raise InvalidValue("/params", _("prices of a contract are not frozen: others read reports"))
    return report_create(
        workspace=workspace_of(request),
        kind=kind,
        title=form.cleaned_data["title"],
        note=form.cleaned_data["note"],
        params=params,
        document=document,
        data_version=data_version,
        actor=request.user.get_username(),
    )


def _leads_to(report: Report) -> HttpResponse:
    return HttpResponseRedirect(reverse("report", args=[report.slug]))


def _lasting(params: state.Params) -> state.Params:
    """All that decides rows and their order; a report has no pages."""
    return {k: v for k, v in params.items() if k not in {"page", "per_page", "view"}}
