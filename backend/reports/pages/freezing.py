"""Freezing: a ranking, a comparison, a scenario, a cost model, a bill or price
changes become a report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.bills.pages.views import bill_or_404, elsewhere_request
from backend.catalog.pages.prices.forms import ChangesForm
from backend.catalog.selectors.data_version import data_version
from backend.catalog.selectors.hardware import hardware_visible
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.rankings.calc.conclusions import name_list
from backend.rankings.models import Report, ReportKind
from backend.rankings.pages.compare.views import comparison_of
from backend.rankings.pages.ranking.views import ranking_request
from backend.rankings.selectors.compare import comparison
from backend.rankings.selectors.query import CONTRACT
from backend.rankings.selectors.ranking import ranking
from backend.rankings.services.reports import (
    MOST_NOTE,
    MOST_TITLE,
    TOP,
    ranking_document,
    report_create,
)
from backend.reports.pages.bill import bill_sheet
from backend.reports.pages.hardware import hardware_sheet
from backend.reports.pages.price_changes import changes_sheet
from backend.reports.pages.scenario import scenario_sheet
from backend.scenarios.pages.page import scenario_outcome
from backend.scenarios.pages.views import scenario_or_404
from backend.scenarios.services.scenarios import ScenarioFrozen, scenario_freeze
from backend.site import charts, state
from backend.site.access import demand, readable
from backend.site.forms import WriteForm, text
from backend.site.language import _, count_words, lazy


class ReportForm(WriteForm):
    """Title and the words of the decision."""

    title = text(lazy("Title"), maxlength=MOST_TITLE, placeholder=lazy("Web servers for 2027"))
    note = forms.CharField(
        label=lazy("What was decided, and why"),
        required=False,
        max_length=MOST_NOTE,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


class RankingReportForm(ReportForm):
    """As a ranking is long, how many rows of it come first."""

    top = forms.TypedChoiceField(
        label=lazy("Offers on the first page"),
        required=False,
        coerce=int,
        initial=TOP,
        # At most fifteen: with sentence, picture and sources that is one sheet of paper.
        choices=[(count, str(count)) for count in (3, 5, TOP, 15)],
        help_text=lazy("The others stay one click away; the PDF has these alone."),
    )


@dataclass(frozen=True)
class Subject:
    """A thing to freeze, in the words of its form."""

    kind: ReportKind
    params: state.Params
    title: str
    what: str
    lede: str
    back: str
    freeze: Callable[[Mapping[str, Any]], tuple[Mapping[str, Any], int]]
    """Fields of the form → the document, and the data version that it is of."""
    note: str = ""
    form_class: type[ReportForm] = ReportForm
    chips: Sequence[state.Chip] = ()
    errors: Sequence[tuple[str, str]] = ()


def freezing_form(
    subject_of: Callable[..., Subject | HttpResponse],
) -> Callable[..., HttpResponse]:
    """The page that freezes the subject of an address as a report."""

    @readable
    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(subject_of)
    def page(request: HttpRequest, /, **address: Any) -> HttpResponse:
        demand(request, Scope.WRITE)
        subject = subject_of(request, **address)
        if isinstance(subject, HttpResponse):
            return subject
        initial = {"title": subject.title[:MOST_TITLE], "note": subject.note}
        form = subject.form_class(request.POST or None, initial=initial)
        if request.method == "POST" and form.is_valid():
            try:
                # A report that is refused leaves its scenario open to changes.
                with form.refusals(), transaction.atomic():
                    report = _store(request, subject, form.cleaned_data)
                    return HttpResponseRedirect(reverse("report", args=[report.slug]))
            except ScenarioFrozen as error:
                messages.error(request, _("It was not frozen: {error}", error=error))
                return HttpResponseRedirect(subject.back)
        return render(request, "reports/new.html", {"form": form, **vars(subject)})

    return page


def _store(request: HttpRequest, subject: Subject, fields: Mapping[str, Any]) -> Report:
    """The report under the title and words of the form. Raises InvalidValue for contract prices."""
    if CONTRACT in state.values(subject.params, "basis"):
        raise InvalidValue("/params", _("prices of a contract are not frozen: others read reports"))
    document, version = subject.freeze(fields)
    return report_create(
        workspace=workspace_of(request),
        kind=subject.kind,
        title=fields["title"],
        note=fields["note"],
        params=subject.params,
        document=document,
        data_version=version,
        actor=request.user.get_username(),
    )


@freezing_form
def report_new(request: HttpRequest) -> Subject:
    """The ranking that the address asks for."""
    requested = ranking_request(request)
    ranked = ranking(
        requested.query, workspace_slug=requested.workspace_slug, stamp=requested.stamp
    )
    label = ranked.metric.label
    return Subject(
        kind=ReportKind.RANKING,
        # All that decides rows and their order; a report has no pages.
        params={
            name: values
            for name, values in requested.params.items()
            if name not in {"page", "per_page", "view"}
        },
        # With the day, as the same ranking may be frozen again next year.
        title=_("Best value by {label}, {day}", label=label, day=f"{clock.now():%Y-%m-%d}"),
        what=_("this ranking"),
        lede=_(
            "{offers} by {label}, data version {data_version}.",
            offers=count_words("{n} offer", "{n} offers", ranked.count),
            label=label,
            data_version=ranked.data_version,
        ),
        back=reverse("offers") + state.query(requested.params),
        freeze=lambda fields: (
            # A form without the field means the usual number.
            ranking_document(ranked.basis, ranked.rows, fields["top"] or TOP),
            ranked.data_version,
        ),
        form_class=RankingReportForm,
        chips=state.chips(requested.params, ""),
        errors=requested.errors,
    )


@freezing_form
def report_new_comparison(request: HttpRequest) -> Subject:
    """The offers that the address compares."""
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
    unpriced = sum(row.price is None for row in compared.rows)
    # A comparison has only offers that were asked for, so none is left out for want of a score.
    basis = {**compared.basis, "unpriced_count": unpriced, "without_score_count": 0}
    return Subject(
        kind=ReportKind.COMPARISON,
        params=params,
        title=names,
        what=_("this comparison"),
        lede=_(
            "{names} by {label}, data version {data_version}.",
            names=names,
            label=compared.metric.label,
            data_version=compared.data_version,
        ),
        back=reverse("compare") + state.query(params),
        freeze=lambda _fields: (ranking_document(basis, compared.rows), compared.data_version),
        errors=requested.errors,
    )


@freezing_form
def report_new_scenario(request: HttpRequest, slug: str) -> Subject:
    """A scenario, frozen with its report if that was not done before."""
    scenario = scenario_or_404(request, slug)

    def freeze(fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
        frozen = scenario
        # A second report of a frozen scenario is of the same result.
        if scenario.frozen_at is None:
            actor = request.user.get_username()
            frozen = scenario_freeze(scenario=scenario, note=fields["note"], actor=actor)
        outcome = scenario_outcome(frozen)
        return scenario_sheet(frozen, outcome).document(), outcome.data_version

    return Subject(
        kind=ReportKind.SCENARIO,
        params={"scenario": [slug]},
        title=scenario.name,
        what=_("the scenario {name}", name=scenario.name),
        lede=_(
            "Keeps the result with the prices and scores of today. The scenario cannot be "
            "changed any more; a copy of it can."
        ),
        back=reverse("scenario", args=[slug]),
        freeze=freeze,
        note=scenario.note,
    )


@freezing_form
def report_new_hardware(request: HttpRequest, model_id: UUID) -> Subject:
    """The cost of a machine of one's own."""
    every = hardware_visible(workspace_of(request), is_newest_only=False)
    model = get_object_or_404(every, pk=model_id)
    return Subject(
        kind=ReportKind.HARDWARE,
        params={"model": [str(model.pk)]},
        title=model.name,
        what=_("what {name} costs", name=model.name),
        lede=_(
            "Version {version} of {day}, with its assumptions.",
            version=model.version,
            day=f"{model.created_at:%Y-%m-%d}",
        ),
        back=reverse("hardware-model", args=[model_id]),
        freeze=lambda _fields: (hardware_sheet(model).document(), data_version()),
    )


@freezing_form
def report_new_bill(request: HttpRequest, slug: str) -> Subject:
    """A bill's machines elsewhere, under what the address assumes."""
    bill = bill_or_404(request, slug)
    answer, assumed = elsewhere_request(bill, request)
    if answer is None:
        raise Http404(_("Nothing can be compared under what is assumed."))
    return Subject(
        kind=ReportKind.BILL,
        params={
            "bill": [slug],
            **{name: v for name, v in request.GET.lists() if name in assumed.fields},
        },
        title=_("{bill} elsewhere, {day}", bill=bill.name, day=f"{clock.now():%Y-%m-%d}"),
        what=_("what {name} costs elsewhere", name=bill.name),
        lede=_("With the prices, scores and assumptions of today; only who sees bills sees it."),
        back=reverse("bill", args=[slug]),
        freeze=lambda _fields: (bill_sheet(bill, answer).document(), data_version()),
    )


@freezing_form
def report_new_prices(request: HttpRequest) -> Subject | HttpResponse:
    """The price changes that the address asks for."""
    asked = ChangesForm(request.GET)
    days = asked.days
    back = reverse("price-changes") + state.query(dict(request.GET.lists()))
    if days is None:
        # That page says what is wrong with the days.
        return HttpResponseRedirect(back)

    def freeze(_fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
        stamp, slug = current_stamp(), workspace_slug(request)
        sheet = changes_sheet(asked.price_filter(), days, workspace_slug=slug, stamp=stamp)
        return sheet.document(), stamp.number

    title = _("Price changes from {first} to {last}", first=str(days[0]), last=str(days[1]))
    return Subject(
        kind=ReportKind.PRICES,
        params=asked.params(),
        title=title,
        what=title,
        lede=_("With what the best answers cost on both days."),
        back=back,
        freeze=freeze,
    )
