"""All offers under the load of a scenario: what each costs that carries it alone, the cheapest first.

They are those on sale that have a score of the scenario's metric and a price under a term. Price,
capacity and bill of an offer are those that it would have as an option of the scenario.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from backend.benchmarks.models import StoredSummary
from backend.benchmarks.selectors.scores import Score
from backend.benchmarks.services.summaries import summary_scores
from backend.catalog.models import HardwareModel, Offer, OfferKind, VcpuKind
from backend.catalog.selectors.current_prices import current_prices_of
from backend.catalog.selectors.data_version import data_version
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.selectors.price_choice import (
    ON_DEMAND,
    TERMS,
    PriceBasis,
    PriceChoice,
    choose_prices,
)
from backend.catalog.selectors.rates import rate_table
from backend.core import clock
from backend.core.work import calculation, most_steps
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.providers.registry import provider as provider_record
from backend.scenarios.calc.document import OptionDocument, ScenarioDocument
from backend.scenarios.calc.documents import option_from, scenario_from
from backend.scenarios.calc.model import Option, ScenarioInput
from backend.scenarios.calc.peak_mix import PeakMix, peak_mix
from backend.scenarios.calc.screening import screen
from backend.scenarios.calc.work import MOST_WORK, check_screening_work
from backend.scenarios.models import Scenario
from backend.scenarios.selectors.capacities import (
    METRIC,
    UNITS,
    capacity_of_question,
    carrying_text,
)
from backend.scenarios.selectors.quoted import Exchange, OfferQuote, plain_price
from backend.scenarios.selectors.resolving import resolve

# A savings plan commits to an amount of money, which nobody has stated; what is bought is no offer.
SCREENED_TERMS = tuple(t for t in TERMS if not t.startswith(("savings", "purchase")))
LIMIT, MOST_LIMIT = 50, 500
# What the search for a mix takes, in steps of a simulation.
MIX_STEPS = 10_000_000
ALWAYS_ON = frozenset({"reserved", "purchase"})
VCPU_FLAGS: Mapping[str, str] = {VcpuKind.SHARED: "shared_vcpu", VcpuKind.BURSTABLE: "burstable"}
NO_PRICE, UNFIT, GONE, TAX = "no_price", "unfit", "not_listed", "tax_unknown"
CREDITS, TOO_SMALL = "burstable", "too_small"
ADVICE = "take longer steps, fewer offers or a lower limit"


class NotSized(InvalidDocument):
    """The scenario does not say what one point of a measured score carries."""

    def __init__(self, field: str = METRIC, detail: str = "") -> None:
        words = f"offers are compared by a measured score: state {METRIC} and {UNITS}"
        super().__init__([(f"/capacity/{field}", detail or words)])


@dataclass(frozen=True)
class ScreeningQuery:
    """Which offers, at which term, and how many of the cheapest."""

    term: str = ON_DEMAND
    provider: str = ""
    region: str = ""
    limit: int = LIMIT
    burstable: bool = False
    """Also machines whose score holds only in bursts: on CPU credits, or on a shared core."""


@dataclass(frozen=True)
class MarketOffer:
    """An offer with its price and score, as an option of the scenario."""

    offer: Offer
    price: PriceChoice
    billing: str
    """The rule of its bill."""
    score: Score
    option: Option

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of the score, and of the processors of the machine."""
        own = VCPU_FLAGS.get(self.offer.vcpu_kind)
        # Score and offer may both say that a machine is burstable.
        return tuple(dict.fromkeys(filter(None, (*self.score.flags, own))))

    @property
    def is_always_on(self) -> bool:
        """True if as many run as the peak needs: what is committed or bought cannot be ended."""
        return self.option.parts[0].count is not None


@dataclass(frozen=True)
class LoadMarket:
    """The offers that may carry the load of a scenario, and how many may not and why."""

    query: ScreeningQuery
    load: ScenarioInput
    document: Mapping[str, Any]
    metric: str
    offers: Mapping[str, MarketOffer]
    left_out: Mapping[str, int]
    data_version: int


@dataclass(frozen=True)
class ScreenedOffer:
    """An offer that carries the load alone, with the figures of an option; `rank` is None where it
    leaves more unserved than is tolerated."""

    rank: int | None
    of: MarketOffer
    result: Mapping[str, Any]


@dataclass(frozen=True)
class ScreenedMarket:
    """The cheapest offers of a market; `left_out` also counts those too small for the load."""

    market: LoadMarket
    rows: tuple[ScreenedOffer, ...]
    left_out: Mapping[str, int]


def market_of(scenario: Scenario, query: ScreeningQuery) -> LoadMarket:
    """The offers for the load of a scenario, at their present prices and scores.

    Edges call `current_stamp` before. NotSized where the scenario names no metric; InvalidDocument
    where it has no result, or there are too many.
    """
    metric, units = _capacity(scenario)
    slug, today = scenario.workspace.slug, clock.now().date()
    version = data_version()
    # The load of a frozen one is as it was; what else could carry it now is what is asked for.
    document = (
        scenario.resolved or resolve(scenario.document, workspace_slug=slug, today=today).document
    )
    whole = ScenarioDocument.read(document)
    offers = _offers(slug, query)
    scored = StoredSummary.objects.filter(metric=metric)
    offers = offers.filter(pk__in=scored.values("offer_id"))
    # Counted first: reading a hundred thousand takes seconds.
    count = offers.count()
    steps = check_screening_work(document, 1, count, most_steps(MOST_WORK))
    with calculation(steps, advice=ADVICE) as check:
        load = scenario_from(document, check)
        scores = dict(summary_scores(metric=metric, offer__in=offers.values("pk")))
        choices, hardware = _choices(offers, query.term), _hardware(offers)
        into = Exchange(load.currency, rate_table(today), today)
        left_out: Counter[str] = Counter()
        made: dict[str, MarketOffer] = {}
        for offer in _with_relations(offers):
            score, choice = scores.get(offer.pk), choices.get(offer.pk)
            price = None if choice is None else _price(offer, choice, hardware, into)
            # Its first result came after the scores were read.
            if score is None:
                continue
            if choice is None or price is None:
                left_out[NO_PRICE] += 1
            elif lack := _lacks(offer, score, choice, query):
                left_out[lack] += 1
            else:
                option = _option(offer, score, price, units, whole)
                made[offer.slug] = MarketOffer(offer, choice, price["billing"], score, option)
    # Without what was counted and never met.
    return LoadMarket(query, load, document, metric, made, +left_out, version)


def screen_market(market: LoadMarket) -> ScreenedMarket:
    """The cheapest of its offers that carry the load alone."""
    limit = market.query.limit
    sizes = {offer.option.parts[0].units_per_server for offer in market.offers.values()}
    # Offers far from the cheapest are not run: about as many again as are asked for are.
    tried = min(len(sizes), 2 * limit)
    steps = check_screening_work(market.document, tried, len(market.offers), most_steps(MOST_WORK))
    with calculation(steps, advice=ADVICE) as check:
        load = replace(market.load, check=check)
        options = [offer.option for offer in market.offers.values()]
        screening = screen(load, options, limit=limit)
    rows = (
        ScreenedOffer(row.rank, market.offers[row.option.name], row.result)
        for row in screening.rows
    )
    failed = {TOO_SMALL: len(screening.faults)} if screening.faults else {}
    return ScreenedMarket(market, tuple(rows), {**market.left_out, **failed})


def market_mix(market: LoadMarket) -> PeakMix | None:
    """The cheapest fleet of its offers that carries the peak and always runs. None at a term of
    which the servers may be taken away: no number of them is sure to carry it."""
    if market.query.term == "spot":
        return None
    with calculation(MIX_STEPS, advice=ADVICE):
        return peak_mix(market.load, [offer.option for offer in market.offers.values()])


def _capacity(scenario: Scenario) -> tuple[str, Fraction]:
    """The metric, and the units of the demand that one point of it carries."""
    stated = scenario.document.get("capacity")
    if not isinstance(stated, Mapping) or METRIC not in stated:
        raise NotSized
    faults: dict[str, str] = {}
    sized = capacity_of_question(stated, faults)
    for pointer, detail in faults.items():
        raise NotSized(pointer.rsplit("/", 1)[1], detail)
    return sized


def _offers(workspace_slug: str, query: ScreeningQuery) -> QuerySet[Offer]:
    offers = offers_visible(workspace_slug).filter(discontinued_on=None)
    if query.provider:
        offers = offers.filter(provider__slug=query.provider)
    if query.region:
        offers = offers.filter(region__code=query.region)
    return offers


def _with_relations(offers: QuerySet[Offer]) -> QuerySet[Offer]:
    """With each provider and region once: read with every offer they take most of the time."""
    return offers.select_related(None).prefetch_related("provider", "region")


def _choices(offers: QuerySet[Offer], term: str) -> dict[UUID, PriceChoice]:
    basis = PriceBasis(term=term)
    return choose_prices(current_prices_of(basis, offers.values("pk")), basis)


def _hardware(offers: QuerySet[Offer]) -> dict[UUID, Mapping[str, Any]]:
    """Documents of own hardware by the price that was calculated from them."""
    rows = HardwareModel.objects.filter(offer__in=offers.values("pk")).order_by()
    return dict(rows.values_list("price_id", "document"))


def _price(
    offer: Offer, choice: PriceChoice, hardware: Mapping[UUID, Mapping[str, Any]], into: Exchange
) -> Mapping[str, Any] | None:
    """The price as a document states it; None where it is none of a server that carries a load."""
    quote = OfferQuote(offer, choice, hardware.get(choice.observation_id))
    try:
        return plain_price(quote, {}, into)
    except InvalidValue:
        return None


def _is_burstable(offer: Offer) -> bool:
    # A list may only say that its processors are shared.
    by_name = provider_record(offer.provider.slug).vcpu_kind_of(offer.name)
    return VcpuKind.BURSTABLE in (offer.vcpu_kind, by_name)


def _lacks(offer: Offer, score: Score, choice: PriceChoice, query: ScreeningQuery) -> str:
    """Why an offer with a price and a score would mislead; empty where it would not."""
    if score.is_unfit:
        return UNFIT
    # Carrying a load for hours, such a machine is as slow as its credits or its share let it be.
    if _is_burstable(offer) and not query.burstable:
        return CREDITS
    if choice.is_missing:
        return GONE
    # Beside prices without tax it would look dearer, or cheaper, than it is.
    return TAX if choice.is_tax_unknown else ""


def _option(
    offer: Offer,
    score: Score,
    price: Mapping[str, Any],
    units: Fraction,
    whole: ScenarioDocument,
) -> Option:
    """The offer as an option of the scenario, under its slug."""
    part = {"price": dict(price), "capacity": carrying_text(score, units)}
    if price["billing"] in ALWAYS_ON or offer.kind == OfferKind.ONPREM:
        part["count"] = "peak"
    return option_from(OptionDocument.read({"name": offer.slug, "parts": [part]}), whole)
