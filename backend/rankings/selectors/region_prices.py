"""Prices of a machine type in each region, by groups of terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType

from backend.catalog.models import Offer
from backend.catalog.selectors.current_prices import current_prices_of_offers
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.extras import tariffs
from backend.catalog.selectors.price_choice import ON_DEMAND, TERMS, PriceChoice, choose_prices
from backend.core import clock
from backend.rankings.selectors.listing import mark_rows, select_rows
from backend.rankings.selectors.prices import NOTHING, Context, total_price
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import rates_of_day
from backend.rankings.selectors.rows import RankingRow

# Commitments of a year are one group, whatever their provider calls them.
TERM_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        ON_DEMAND: (ON_DEMAND,),
        "spot": ("spot",),
        "1y": ("reserved_1y", "savings_1y", "committed_1y"),
        "3y": ("reserved_3y", "savings_3y", "committed_3y"),
    }
)
MOST_REGIONS = 8


@dataclass(frozen=True)
class RegionPrices:
    """An offer of the type, and its lowest price by group of terms; those without a price are absent."""

    offer: Offer
    prices: Mapping[str, Decimal]


def region_prices(
    offer: Offer,
    everyone: Sequence[RankingRow],
    query: RankingQuery,
    stamp: DataStamp,
    *,
    has_surplus: bool,
) -> list[RegionPrices]:
    """The offer, then the cheapest others of its provider and name, in the query's period, currency
    and basis, on request with the charge for running on without CPU credits; nothing of a past day."""
    if query.as_of is not None:
        return []
    offers = [offer, *_elsewhere(offer, everyone)]
    known = list(current_prices_of_offers([member.pk for member in offers]))
    day, rates = clock.now().date(), rates_of_day(stamp, None)
    of_extras = {} if query.extra_amounts == NOTHING else tariffs(None)
    prices: dict[str, dict[str, Decimal]] = {member.slug: {} for member in offers}
    for group, term in ((group, term) for group, terms in TERM_GROUPS.items() for term in terms):
        asked = replace(query, term=term)
        shared = Context(asked, rates, day, of_extras)
        of_term = [choice for choice in known if _is_bought(choice, term)]
        choices = choose_prices(of_term, asked.price_basis)
        for member in offers:
            choice = choices.get(member.pk)
            if choice is None:
                continue
            price = total_price(member, choice, shared, has_surplus=has_surplus)
            if price is not None:
                prices[member.slug][group] = min(price, prices[member.slug].get(group, price))
    return [RegionPrices(member, prices[member.slug]) for member in offers if prices[member.slug]]


def _is_bought(choice: PriceChoice, term: str) -> bool:
    return (choice.purchase_model, choice.charge.term) in TERMS[term]


def _elsewhere(offer: Offer, everyone: Sequence[RankingRow]) -> list[Offer]:
    """The cheapest offers of the same provider and name."""
    named = mark_rows(everyone, "offer", offer.name.__eq__)
    rows = select_rows(
        everyone, named & mark_rows(everyone, "provider", offer.provider.slug.__eq__)
    )
    priced = [row for row in rows if row.price is not None and row.offer_id != offer.slug]
    cheapest = sorted(priced, key=lambda row: (row.price, row.offer_id))[: MOST_REGIONS - 1]
    slugs = [row.offer_id for row in cheapest]
    offers = Offer.objects.select_related("provider", "region").in_bulk(slugs, field_name="slug")
    return [offers[slug] for slug in slugs if slug in offers]
