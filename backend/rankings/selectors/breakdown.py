"""Total cost of an offer: the machine, and each extra that may be bought beside it."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from backend.catalog.models import Offer
from backend.catalog.selectors.current_prices import best_prices
from backend.catalog.selectors.data_version import DataStamp, data_stamp
from backend.catalog.selectors.extras import tariffs
from backend.core import clock
from backend.foundation.units import EXACT
from backend.money.pricing.extras import EXTRAS
from backend.rankings.selectors.prices import Context, price_cells, total_price
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import rates_of_day

MACHINE_ALONE = "machine"
CREDITS = "credits"
TAX = "tax"


@dataclass(frozen=True)
class PricePart:
    """A part of a price, in the currency and for the period of the query; None is not known."""

    name: str
    """machine, credits, disk, ip, egress or tax."""
    amount: Decimal | None
    is_in_basis: bool


@dataclass(frozen=True)
class PriceBreakdown:
    """The parts of a price and what they add up to; None where one of them is not known."""

    parts: Sequence[PricePart]
    total: Decimal | None
    period: str
    price_basis: str


def price_breakdown(
    offer: Offer,
    query: RankingQuery,
    *,
    is_unlimited: bool = False,
    stamp: DataStamp | None = None,
) -> PriceBreakdown | None:
    """The offer's price under the query with every extra, in the amounts that the query states.

    `is_unlimited` is for a row whose price holds the charge for running on without CPU credits.

    None where the machine has no price under the query's term.
    """
    choice = best_prices(query.price_basis, [offer.pk]).get(offer.pk)
    if choice is None:
        return None
    today: dt.date = query.as_of or clock.now().date()
    rates = rates_of_day(stamp or data_stamp(), query.as_of)
    shared = Context(query, rates, today, tariffs(query.as_of))

    def price(
        extras: Sequence[str], tax_rate: Decimal | None = None, *, has_surplus: bool = is_unlimited
    ) -> Decimal | None:
        asked = replace(query, basis=(query.machine_basis, *extras), tax_rate=tax_rate)
        return total_price(offer, choice, replace(shared, query=asked), has_surplus=has_surplus)

    machine, alone = price(()), price((), has_surplus=False)
    parts = [PricePart(MACHINE_ALONE, alone, is_in_basis=True)]
    if is_unlimited:
        parts.append(PricePart(CREDITS, _less(machine, alone), is_in_basis=True))
    for name in EXTRAS:
        added = _less(price((name,)), machine)
        parts.append(PricePart(name, added, is_in_basis=name in query.basis))
    net, total = price(EXTRAS), price(EXTRAS, query.tax_rate)
    if query.tax_rate is not None:
        parts.append(PricePart(TAX, _less(total, net), is_in_basis=True))
    cells = price_cells(offer, choice, shared, total)
    return PriceBreakdown(parts, total, cells["period"], cells["price_basis"])


def _less(whole: Decimal | None, part: Decimal | None) -> Decimal | None:
    return None if whole is None or part is None else EXACT.subtract(whole, part)
