"""An offer: what it is, what it costs, what was measured on it, and a machine of it to rent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.calc.rented_parts import kinds_without_price
from backend.benchmarks.models import Run, Source
from backend.benchmarks.pages.runs.parameter_forms import PROFILE_WORDS
from backend.benchmarks.pages.runs.rental_form import RentalForm
from backend.benchmarks.selectors.rental_accounts import credit_modes, is_rentable
from backend.benchmarks.selectors.rental_prices import rental_life_s
from backend.benchmarks.selectors.rentals import Rental, rentals
from backend.benchmarks.services.rented_runs import rented_run_create
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.pages.prices.plots import price_plot
from backend.catalog.selectors.current_prices import current_price
from backend.catalog.selectors.discounts import contract, machine_discount
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.selectors.price_history import history
from backend.catalog.selectors.waiting_prices import prices_to_come
from backend.foundation.attributions import attributions
from backend.foundation.errors import InvalidValue
from backend.money.money import Money
from backend.money.pricing.discounts import Discount, apply_discount
from backend.providers.registry import provider
from backend.rankings.pages.offers.page import offer_context
from backend.rankings.pages.ranking.views import ranking_request
from backend.rankings.selectors.offer_detail import OfferDetail, offer_detail
from backend.rankings.selectors.scores import Score
from backend.rentals.selectors.cloud_accounts import accounts_visible
from backend.site import charts, figures, lines, machines, state, words
from backend.site.access import demand, may, readable
from backend.site.history_plots import PARAMETER, history_plots
from backend.site.language import _
from backend.site.scaling import scaling

# The list of runs has all of them, under a filter for the offer.
RUNS_SHOWN = 20
# An address with one of these says by which figures the offer is ranked.
CHOOSES_METRIC = {"metric", "weights", "view"}


@dataclass(frozen=True)
class ScoreLine:
    """A metric of the offer, its figures already in the unit of the line."""

    score: Score
    shown: str
    interval: str
    unit: str
    basis: str
    # Models of the machines with their shares; "" where none is known.
    cpu_models: str
    source_url: str | None
    volume: str
    """The disk that was rented for it; "" where none was."""
    beside: Sequence[lines.ResultLine]
    """Other variants, which take no rank."""


@dataclass(frozen=True)
class RentalPart:
    """How a machine of the offer can be rented, or why it cannot."""

    form: RentalForm | None = None
    account: str = ""
    # Profile in words, seconds that the machine may live, and what is reserved for them.
    profiles: tuple[tuple[str, float, str], ...] = ()
    unpriced: str = ""
    """Parts that are charged without a known price: not in what is reserved."""
    refusal: str = ""


@readable
@require_safe
def offer_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Facts, prices, scores and samples of one offer, ranked under the URL's parameters."""
    return _page(request, slug)


@readable
@require_POST
def offer_measure_form(request: HttpRequest, slug: str) -> HttpResponse:
    """Rents a machine of the offer for a run and shows that; errors come back beside the fields."""
    demand(request, Scope.RUN)
    offer = get_object_or_404(offers_visible(workspace_slug(request)), slug=slug)
    form = RentalForm(request.POST, offer=offer)
    if form.is_valid():
        with form.refusals():
            run = _rent(request, offer, form)
            messages.success(
                request, _("The run is queued. Its machine is deleted when the run ends.")
            )
            return HttpResponseRedirect(reverse("run", args=[run.pk]))
    return _page(request, slug, form)


def _rent(request: HttpRequest, offer: Offer, form: RentalForm) -> Run:
    return rented_run_create(
        workspace=workspace_of(request),
        offer=offer,
        profile=form.cleaned_data["profile"],
        probes=None,
        parameters=form.run_parameters(),
        budget=form.budget(),
        actor=request.user.get_username(),
    )


def _page(request: HttpRequest, slug: str, form: RentalForm | None = None) -> HttpResponse:
    given = {name: request.GET.getlist(name) for name in request.GET if name != PARAMETER}
    requested = ranking_request(request, given)
    try:
        detail = offer_detail(
            slug,
            requested.query,
            is_metric_given=not CHOOSES_METRIC.isdisjoint(given),
            workspace_slug=requested.workspace_slug,
            stamp=requested.stamp,
        )
    except Offer.DoesNotExist as error:
        raise Http404(_("There is no such offer.")) from error
    requested = replace(
        requested,
        query=detail.query,
        params={**requested.params, "metric": [detail.query.metric]},
    )
    context = _context(detail, requested.sound) | offer_context(detail, requested)
    variants = {s.metric.key: s.variant for s in detail.summaries if s.source == Source.MEASURED}
    # One run has no history.
    if len(context["runs"]) > 1:
        context |= history_plots(request, variants, offer=detail.offer)
    context["may_write"] = may(request, Scope.WRITE)
    # For those alone who may read the contract: list prices are all that others see.
    context["contract"] = _contract_line(request, detail.offer) if context["may_write"] else None
    context["is_own"] = (
        context["may_write"] and detail.offer.workspace_id == workspace_of(request).pk
    )
    context["rental"] = (
        _rental_part(request, detail.offer, form) if may(request, Scope.RUN) else None
    )
    return render(request, "offers/page.html", context)


def _rental_part(request: HttpRequest, offer: Offer, form: RentalForm | None) -> RentalPart | None:
    """None where no account is at the offer's provider: there is nothing to say."""
    workspace = workspace_of(request)
    accounts = accounts_visible(workspace).filter(is_enabled=True)
    if not accounts.filter(provider=offer.provider.slug).exists():
        return None
    try:
        (rental,) = rentals(workspace=workspace, offers=[offer], parameters={})
    except InvalidValue as error:
        return RentalPart(refusal=error.detail)
    reserved = {name: _reservation(rental, name) for name in PROFILE_WORDS}
    # In the dearest of its modes, whichever is chosen.
    dearest = {"credit_mode": modes[-1]} if (modes := credit_modes(offer)) else {}
    (most,) = rentals(workspace=workspace, offers=[offer], parameters=dearest)
    initial = {
        # Up, or the budget that we propose ourselves would be below what is reserved.
        "budget_amount": figures.plain(_round_up(_reservation(most, "quick").amount)),
        "budget_currency": rental.price.currency,
    }
    return RentalPart(
        form=form or RentalForm(offer=offer, initial=initial),
        account=rental.account.name,
        unpriced=machines.parts_named(kinds_without_price(rental.price.parts)),
        profiles=tuple(
            (profile, rental_life_s(name, {}), f"{figures.figure(cost.amount)} {cost.currency}")
            for (name, profile), cost in zip(PROFILE_WORDS.items(), reserved.values(), strict=True)
        ),
    )


def _reservation(rental: Rental, profile: str) -> Money:
    return rental.price.reserved(rental.account.provider, rental_life_s(profile, {}))


def _round_up(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.0001"), ROUND_CEILING)


@dataclass(frozen=True)
class ContractLine:
    """The offer's price in force under the workspace's contract."""

    price: PriceObservation
    discount: Discount
    amount: Decimal


def _contract_line(request: HttpRequest, offer: Offer) -> ContractLine | None:
    price = current_price(offer)
    if price is None:
        return None
    discount = machine_discount(contract(workspace_of(request)), price)
    if discount is None:
        return None
    return ContractLine(price, discount, apply_discount(price.amount, discount))


def _context(detail: OfferDetail, params: state.Params) -> dict[str, Any]:
    runs = {s.run_id: s.run for s in detail.samples if s.run is not None}
    measured = {
        (score.metric.key, score.variant): score.summary.value
        for score in detail.summaries
        if score.source == Source.MEASURED
    }
    record = provider(detail.offer.provider.slug)
    return {
        "offer": detail.offer,
        "row": detail.row,
        "cost": state.cost(params),
        "facts": _facts(detail.offer, detail.summaries),
        "incidents": record.incidents,
        "line": record.line_of(detail.offer.name),
        "may_rent": is_rentable(detail.offer),
        "prices": detail.prices,
        "to_come": prices_to_come(detail.offer),
        "column_period": figures.column_period({price.unit for price in detail.prices}),
        "price_plot": price_plot(history(detail.offer)) if len(detail.prices) > 1 else None,
        "scores": [_score_line(score, detail) for score in detail.summaries],
        "earlier": [_score_line(score) for score in detail.earlier],
        "scaling": scaling(measured, detail.samples),
        "strips": charts.strips(detail),
        "runs": list(runs.values())[:RUNS_SHOWN],
        "samples": lines.sample_lines(detail.samples),
        "attributions": attributions(
            [
                *(score.licence for score in (*detail.summaries, *detail.earlier)),
                *(sample.licence for sample in detail.samples),
            ]
        ),
    }


def _score_line(score: Score, detail: OfferDetail | None = None) -> ScoreLine:
    """With what is shown beside it, where there is a detail."""
    summary = score.summary
    scale = figures.scale(score.metric.unit, [summary.value])
    key = score.metric.key
    return ScoreLine(
        score=score,
        shown=figures.figure(scale.shown(summary.value)),
        interval=figures.ends(scale, summary.ci95_low, summary.ci95_high),
        unit=scale.unit,
        basis=words.INTERVALS[summary.interval_basis],
        cpu_models=_shares(score.cpu_models),
        source_url=lines.own_path(score.result_url),
        volume=lines.volumes(detail.samples).get((key, score.variant), "") if detail else "",
        beside=lines.beside_lines(key, detail.beside) if detail else (),
    )


def _shares(cpu_models: Mapping[str, int]) -> str:
    total = sum(cpu_models.values())
    # By name where shares are equal, so that the same figures always read the same.
    ordered = sorted(cpu_models.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{model} {figures.percent(count / total, 0)}" for model, count in ordered)


def _baseline_words(offer: Offer) -> str:
    """Share of its CPUs that a type with credits keeps up, and the price of the rest."""
    ratio, price = offer.cpu_baseline_ratio, offer.cpu_credit_price_usd_per_vcpu_hour
    if ratio is None:
        return ""
    share = figures.percent(float(ratio))
    if price is None:
        return _("{share} of each vCPU; slower once its CPU credits are used up", share=share)
    return _(
        "{share} of each vCPU; beyond that {price} USD for each hour of a vCPU",
        share=share,
        price=figures.quantity(price),
    )


def _facts(offer: Offer, scores: Sequence[Score]) -> list[tuple[str, str]]:
    """Known facts of the offer, in words; empty is what is not known."""
    vcpu = figures.quantity(offer.vcpu_count)
    memory = offer.memory_bytes and _(
        "{size} GiB", size=figures.quantity(offer.memory_bytes / 2**30)
    )
    derived = _("threads of its processor, as the seller states no count")
    derived = derived if offer.is_vcpu_derived else ""
    disk = offer.disk_bytes and f"{figures.size(offer.disk_bytes)} {offer.disk_kind}"
    stated = offer.stated_on and f"{offer.stated_on}"
    seen = next((_shares(score.cpu_models) for score in scores if score.cpu_models), "")
    return [
        (_("Provider"), offer.provider.name),
        (_("Kind"), words.kind(offer.kind)),
        (_("Region"), str(offer.region) if offer.region else ""),
        (
            _("Processor"),
            offer.cpu_model or (_("{models}, as measured", models=seen) if seen else ""),
        ),
        (_("Architecture"), offer.arch or ""),
        ("vCPU", " ".join(part for part in (vcpu, offer.vcpu_kind) if part) or ""),
        (_("vCPU counted as"), derived),
        (_("Sustained share"), _baseline_words(offer)),
        (_("Hardware threads"), figures.quantity(offer.thread_count) or ""),
        (_("Memory"), memory or ""),
        (_("Disk included"), disk or ""),
        # Providers change machines under the same name, so facts have a day.
        (_("Facts as of"), stated or ""),
    ]
