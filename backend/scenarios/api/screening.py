"""All offers for the load of a scenario: the cheapest of them, and the cheapest mix for its peak."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.benchmarks.services.current_data import current_stamp
from backend.core.rest.documents import Problem
from backend.core.rest.openapi import query_parameters
from backend.core.rest.parameters import Reader, boolean, one_of, read, text, whole
from backend.core.rest.permissions import READ
from backend.core.rest.problem import Unprocessable
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView, View
from backend.foundation.errors import InvalidDocument
from backend.scenarios.api.documents import OfferMix
from backend.scenarios.api.scenarios import scenario_of
from backend.scenarios.calc.results import money
from backend.scenarios.selectors.screening import (
    LIMIT,
    MOST_LIMIT,
    SCREENED_TERMS,
    LoadMarket,
    ScreenedOffer,
    ScreeningQuery,
    market_mix,
    market_of,
    screen_market,
)

COLUMNS = (
    Column("rank", ColumnType.INTEGER, "By cost; empty where it serves less than is tolerated"),
    Column("offer_id", ColumnType.TEXT, "Slug of the offer"),
    Column("offer", ColumnType.TEXT, "Name of the offer"),
    Column("provider", ColumnType.TEXT, "Slug of the provider"),
    Column("region", ColumnType.TEXT, "Region, as the provider calls it"),
    Column(
        "cost", ColumnType.DECIMAL, "Over the whole horizon, with what all options pay", "currency"
    ),
    Column("cost_per_month", ColumnType.DECIMAL, "Without what is paid once", "currency"),
    Column("cost_one_off", ColumnType.DECIMAL, "Of it paid once: set-up", "currency"),
    Column(
        "committed_after_horizon",
        ColumnType.DECIMAL,
        "What is still owed or prepaid then",
        "currency",
    ),
    Column("currency", ColumnType.TEXT, "Currency of the amounts"),
    Column("unserved_share", ColumnType.NUMBER, "Of the demand that nobody carried", "ratio"),
    Column("peak_servers", ColumnType.INTEGER, "Servers at most", "servers"),
    Column("server_hours", ColumnType.NUMBER, "Hours that servers run", "h"),
    Column(
        "always_on", ColumnType.BOOLEAN, "Runs what the peak needs all the time: it is committed"
    ),
    Column("units_per_server", ColumnType.NUMBER, "What one carries", "unit of the demand"),
    Column("metric", ColumnType.TEXT, "Key of the metric"),
    Column("score", ColumnType.NUMBER, "Of one server", "unit of the metric"),
    Column("score_source", ColumnType.TEXT, "measured, imported or published"),
    Column("flags", ColumnType.WORDS, "What is to be known of the score and the processors"),
    Column("licence", ColumnType.TEXT, "Of the score, where it is somebody's"),
    Column("billing", ColumnType.TEXT, "Rule of the bill"),
    Column("price_id", ColumnType.TEXT, "Identifier of the price observation"),
    Column("price_observed_on", ColumnType.DATE, "Day on which the price was read last"),
    Column("data_version", ColumnType.INTEGER, "State of the data that this row shows"),
)
READERS: Mapping[str, Reader] = {
    "term": one_of(SCREENED_TERMS),
    "provider": text,
    "region": text,
    "burstable": boolean,
}
NOT_COMPARED = "offers cannot be compared for this scenario"
DESCRIBED = {
    "term": f"How they are bought, of {', '.join(SCREENED_TERMS)} (default on_demand)",
    "provider": "Slug of the provider",
    "region": "Region, as the provider calls it",
    "burstable": "1: also machines whose score holds only in bursts",
}


def _market(request: Request, slug: str, asked: Mapping[str, Any]) -> LoadMarket:
    scenario = scenario_of(request, slug)
    names = ("term", "provider", "region", "burstable", "limit")
    query = ScreeningQuery(**{name: asked[name] for name in names if name in asked})
    current_stamp()
    try:
        return market_of(scenario, query)
    except InvalidDocument as error:
        raise Unprocessable(NOT_COMPARED, error.errors) from error


class ScenarioScreeningView(ListView):
    """The cheapest of all offers that carry the load of a scenario alone."""

    name = "scenario-screening"
    columns = COLUMNS
    refused = frozenset({422, 503})

    def parameter_descriptions(self) -> Mapping[str, str]:
        limit = f"Offers to list, 1 to {MOST_LIMIT} (default {LIMIT})"
        return {**super().parameter_descriptions(), **DESCRIBED, "limit": limit}

    def parameter_readers(self) -> Mapping[str, Reader]:
        return {**READERS, "limit": whole(1, MOST_LIMIT), **super().parameter_readers()}

    def listing(self, request: Request) -> ListAnswer:
        asked, shown = self.parameters(request)
        market = _market(request, self.kwargs["slug"], asked)
        try:
            its = screen_market(market)
        except InvalidDocument as error:
            raise Unprocessable(NOT_COMPARED, error.errors) from error
        return ListAnswer(
            COLUMNS,
            its.rows,
            len(its.rows),
            cells=lambda row: _cells(row, market),
            members={
                "data_version": market.data_version,
                "unit": market.load.demand.unit,
                "offers": len(market.offers),
                "left_out": its.left_out,
            },
            licences=[row.of.score.licence for row in its.rows],
            **shown,
        )


def _cells(row: ScreenedOffer, market: LoadMarket) -> dict[str, Any]:
    of, result = row.of, row.result
    offer, score, choice = of.offer, of.score, of.price
    return {
        "rank": row.rank,
        "offer_id": offer.slug,
        "offer": offer.name,
        "provider": offer.provider.slug,
        "region": offer.region.code if offer.region else None,
        "cost": Decimal(result["cost_total"]),
        "cost_per_month": Decimal(result["cost_per_month"]),
        "cost_one_off": Decimal(result["cost_one_off"]),
        "committed_after_horizon": Decimal(result["committed_after_horizon"]),
        "currency": market.load.currency,
        "unserved_share": result["unserved_share"],
        "peak_servers": result["peak_servers"],
        "server_hours": result["server_hours"],
        "always_on": of.is_always_on,
        "units_per_server": float(of.option.parts[0].units_per_server),
        "metric": market.metric,
        "score": score.summary.value,
        "score_source": score.source,
        "flags": " ".join(of.flags),
        "licence": score.licence or None,
        "billing": of.billing,
        "price_id": str(choice.observation_id),
        "price_observed_on": choice.observed_on,
        "data_version": market.data_version,
    }


class ScenarioMixView(View):
    """Servers of all offers together for the peak of a scenario."""

    scopes: ClassVar[Mapping[str, str]] = {"GET": READ}

    @extend_schema(
        operation_id="scenarios_mix",
        parameters=query_parameters(DESCRIBED, READERS),
        responses={200: OfferMix, 422: Problem, 503: Problem},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The cheapest fleet, of one type or several, that carries the peak and always runs."""
        asked, warnings = read(dict(request.query_params.lists()), READERS)
        market = _market(request, slug, asked)
        mix = market_mix(market)
        return Response(
            {
                "servers": [_servers(market, option.name, n) for option, n in mix.servers]
                if mix
                else [],
                "cost": mix and money(mix.cost),
                "cost_per_month": mix and money(mix.cost_per_month),
                "cost_floor": money(mix.floor) if mix and mix.floor is not None else None,
                "peak": market.load.demand.highest,
                "carried": float(mix.carried) if mix else None,
                "unit": market.load.demand.unit,
                "currency": market.load.currency,
                "offers": len(market.offers),
                "left_out": dict(market.left_out),
                "warnings": warnings,
                "data_version": market.data_version,
            }
        )


def _servers(market: LoadMarket, slug: str, count: int) -> dict[str, Any]:
    price_id = market.offers[slug].price.observation_id
    return {"offer": slug, "count": count, "price_id": str(price_id)}
