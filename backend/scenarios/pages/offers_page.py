"""All offers for the load of a scenario: the cheapest that carry it alone, and a fleet for its peak."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.selectors.offers import providers
from backend.catalog.selectors.price_choice import ON_DEMAND
from backend.core import clock
from backend.foundation.attributions import attributions
from backend.foundation.errors import InvalidDocument
from backend.measure.metrics import METRICS
from backend.scenarios.calc.peak_mix import PeakMix
from backend.scenarios.calc.price_document import BILLINGS
from backend.scenarios.calc.results import money
from backend.scenarios.models import Scenario
from backend.scenarios.pages.figures import cost_of_unmet_demand, horizon_words, mark_options
from backend.scenarios.pages.page import scenario_outcome
from backend.scenarios.pages.views import scenario_or_404
from backend.scenarios.selectors.scenarios import follows_from
from backend.scenarios.selectors.screening import (
    SCREENED_TERMS,
    LoadMarket,
    NotSized,
    ScreenedMarket,
    ScreenedOffer,
    ScreeningQuery,
    market_mix,
    market_of,
    screen_market,
)
from backend.site import words
from backend.site.access import may, readable
from backend.site.fragments import fragment
from backend.site.language import _, count_words, lazy

# What is said of offers by what they lack, after their number.
LEFT_OUT = {
    "no_price": lazy("without a price for this payment option"),
    "not_listed": lazy("no longer on their price list"),
    "tax_unknown": lazy("whose price may include tax"),
    "unfit": lazy("with an unreliable score"),
    "burstable": lazy("as fast as that only in bursts"),
    "too_small": lazy("too small for this load"),
}


class MarketForm(forms.Form):
    """Which offers are compared; what is not known narrows nothing."""

    term = forms.ChoiceField(
        label=lazy("Term"),
        required=False,
        choices=[(screened_term, words.term(screened_term)) for screened_term in SCREENED_TERMS],
    )
    provider = forms.ChoiceField(label=lazy("Provider"), required=False)
    burstable = forms.ChoiceField(
        label=lazy("Burstable machines"),
        required=False,
        choices=[("", lazy("excluded")), ("1", lazy("compared, too"))],
    )

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data, auto_id="%s", label_suffix="")
        known = providers().values_list("slug", "name")
        self.fields["provider"].choices = [("", _("any")), *known]  # type: ignore[attr-defined]
        self.full_clean()

    def query(self) -> ScreeningQuery:
        given = {name: text for name, text in self.cleaned_data.items() if text}
        return ScreeningQuery(**{**given, "burstable": "burstable" in given})


@readable
@require_safe
def scenario_offers(request: HttpRequest, slug: str) -> HttpResponse:
    """The cheapest of all offers that carry the load of a scenario, beside its own options."""
    scenario = scenario_or_404(request, slug)
    form = MarketForm(request.GET)
    may_add = may(request, Scope.WRITE) and scenario.frozen_at is None
    context: dict[str, Any] = {"scenario": scenario, "form": form, "may_add": may_add}
    known_as = current_stamp().known_as

    def listed() -> dict[str, Any]:
        market = market_of(scenario, form.query())
        return {"scenario": scenario, "may_add": may_add, **_context(scenario, market)}

    try:
        made_of = known_as and (known_as, clock.now().date(), follows_from(scenario), may_add)
        context["content"] = fragment(request, "scenarios/_offers.html", made_of, listed)
    except NotSized as error:
        context["not_sized"] = error.errors
    except InvalidDocument as error:
        context["errors"] = error.errors
    return render(request, "scenarios/offers.html", context)


def _context(scenario: Scenario, market: LoadMarket) -> dict[str, Any]:
    its, mix = screen_market(market), market_mix(market)
    query = market.query
    asked = {
        "term": query.term,
        "provider": query.provider,
        "burstable": "1" if query.burstable else "",
    }
    exports = {
        kind: reverse("api:scenario-screening-as", args=[scenario.slug, kind])
        + f"?{urlencode({name: text for name, text in asked.items() if text})}"
        for kind in ("csv", "xlsx", "json")
    }
    return {
        "rows": _rows(scenario, its),
        "count": len(market.offers),
        "is_cut": len(its.rows) == query.limit,
        "left_out": [
            (LEFT_OUT[name], count_words("{n} offer", "{n} offers", count))
            for name, count in its.left_out.items()
        ],
        "metric": words.metric(market.metric),
        "metric_key": market.metric,
        "metric_unit": METRICS[market.metric].unit,
        "unit": market.load.demand.unit,
        "currency": market.load.currency,
        "span": horizon_words(market.document),
        "mix": mix and _mix(market, mix),
        "exports": exports,
        "has_hazard": bool(market.load.hazard_per_month),
        "attributions": attributions(row.of.score.licence for row in its.rows),
    }


def _rows(scenario: Scenario, its: ScreenedMarket) -> list[dict[str, Any]]:
    """The offers with the options of the scenario among them, the cheapest first; each bar is its
    share of the dearest offer's cost, at most all of it."""
    outcome = scenario_outcome(scenario)
    lost = cost_of_unmet_demand(outcome)
    own = [
        {"result": row, "is_short": row["is_short"], "option": n, "of": None}
        for n, row in enumerate(mark_options(outcome.result["options"], outcome), start=1)
    ]
    rows = [*own, *(_row(row, its.market) for row in its.rows)]
    # As they are ranked: where unserved demand has a price, it counts.
    rows.sort(key=lambda row: (row["is_short"], _judge(row["result"], lost)))
    # Of the offers: an option that costs twenty times as much would leave points of their bars.
    dearest = max((float(row["result"]["cost_total"]) for row in rows if row["of"]), default=0.0)
    for row in rows:
        share = min(1.0, float(row["result"]["cost_total"]) / dearest) if dearest else 0.0
        row["bar"] = f"{100 * share:.1f}"
    return rows


def _judge(result: Mapping[str, Any], lost: float) -> float:
    return float(result["cost_total"]) + lost * float(result["unserved_share"])


def _row(row: ScreenedOffer, market: LoadMarket) -> dict[str, Any]:
    term = market.query.term
    added = {"offer": row.of.offer.slug, **({} if term == ON_DEMAND else {"term": term})}
    return {
        "result": row.result,
        "is_short": row.rank is None,
        "rank": row.rank,
        "of": row.of,
        "flags": " ".join(row.of.flags),
        "units": float(row.of.option.parts[0].units_per_server),
        "billed": BILLINGS.get(row.of.billing, row.of.billing),
        "added": urlencode(added),
    }


def _mix(market: LoadMarket, mix: PeakMix) -> dict[str, Any]:
    return {
        "servers": list(_servers(market, mix)),
        "cost": money(mix.cost),
        "cost_per_month": money(mix.cost_per_month),
        "floor": None if mix.floor is None else money(mix.floor),
        "peak": float(mix.peak),
    }


def _servers(market: LoadMarket, mix: PeakMix) -> Iterator[tuple[int, Any]]:
    for option, count in mix.servers:
        yield count, market.offers[option.name].offer
