"""From a requirement to fleets: how many whole servers of which types reach it, at what cost.

A fleet of one type has k servers, k the greatest of ceil(demand / what one server gives). More of
them are taken only where the traffic or disk that they include costs less than buying it. A mixed
fleet is the cheapest of two or more types: of all, and of each provider; with a demand of traffic
only of one location, whose servers share one bill of traffic.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from math import inf
from operator import attrgetter
from typing import TypeVar

from backend.foundation.texts import number
from backend.foundation.texts import text as _
from backend.foundation.units import EXACT, exact_decimal
from backend.money.pricing.billing.traffic import cost_under_tiers
from backend.money.pricing.extras import Tiers
from backend.rankings.calc.cover_solver import (
    CoverProblem,
    Purchase,
    TierPiece,
    cheapest_cover,
    useful_types,
)
from backend.rankings.calc.fleets import (
    NOTHING,
    Fleet,
    Requirement,
    Rule,
    ServerType,
    fleet_of,
    is_met,
    units_for,
)

Item = TypeVar("Item")
TRAFFIC = "egress_gb_per_month"
# Mixed fleets of more servers are not searched.
# More is bought by other means than a page, and each more digit doubles the search.
MOST_MIXED = 1000
# Nodes of the search tree among all types, among those of one provider, and in any search.
NODES, NODES_OF_PROVIDER, LEAST_NODES = 500, 50, 5
# An end for a search whose first node takes too long; usually one takes a tenth of a second.
SECONDS = 5.0


class Fault(StrEnum):
    """Why no fleet of a type meets a requirement."""

    REFUSED = "refused"
    UNKNOWN = "unknown"
    BOUND = "bound"
    NOTHING = "nothing"
    TRAFFIC = "traffic"
    SERVERS = "servers"


@dataclass(frozen=True, slots=True)
class InfeasibleOffer:
    """A type of which no fleet meets the requirement; `demand` is what it fails."""

    offer_id: str
    fault: Fault
    reason: str
    demand: str = ""


@dataclass(frozen=True, slots=True)
class Solution:
    """Fleets by cost, all failures by offer. `floor` is below the cost of any mixed fleet, None
    where the first fleet is proven to be the cheapest."""

    fleets: tuple[Fleet, ...]
    failures: tuple[InfeasibleOffer, ...]
    floor: Decimal | None = None


def solve(
    servers: Iterable[ServerType],
    requirement: Requirement,
    *,
    is_mixed: bool,
    check: Callable[[], None] = lambda: None,
) -> Solution:
    """Every fleet of one type that meets the requirement, and with `is_mixed` the mixed ones that
    are cheaper than all of one type of the same choice. Offers are named once. What `check` raises ends
    it; it is called for each offer and each choice of offers."""
    fleets: list[Fleet] = []
    failures: list[InfeasibleOffer] = []
    usable: list[ServerType] = []
    for server in servers:
        # A caller's deadline ends the work here: each type takes about as long as any other.
        check()
        failure = _unusable(server, requirement)
        if failure is None:
            usable.append(server)
            single = _alone(server, requirement)
            failures += [single] if isinstance(single, InfeasibleOffer) else []
            # Those of one type first: their cost is the ceiling of the search for mixed ones.
            fleets += [single] if isinstance(single, Fleet) else []
        else:
            failures.append(failure)
    floor = None
    if is_mixed and usable:
        mixed, floor = _mixed_fleets(usable, fleets, requirement, check)
        fleets += mixed
        # A type that fails alone may serve in a mix, and is no failure then.
        members = {offer_id for fleet in mixed for offer_id, _ in fleet.servers}
        failures = [failure for failure in failures if failure.offer_id not in members]
    ordered = sorted(fleets, key=lambda fleet: fleet.sort_key)
    return Solution(tuple(ordered), tuple(sorted(failures, key=attrgetter("offer_id"))), floor)


# --- one type -------------------------------------------------------------------------------------


def _unusable(server: ServerType, requirement: Requirement) -> InfeasibleOffer | None:
    """Why the type can be in no fleet at all."""
    if server.refusal:
        return InfeasibleOffer(server.offer_id, Fault.REFUSED, server.refusal)
    for target in requirement.targets:
        figure = server.figures.get(target.name)
        # Unknown is not zero: the type might be the cheapest of all, and is named as what lacks a figure.
        if figure is None:
            return InfeasibleOffer(
                server.offer_id,
                Fault.UNKNOWN,
                _("{name} is not known", name=target.name),
                target.name,
            )
        if target.rule is not Rule.TOTAL and not is_met(figure.value, target):
            said = {
                "name": target.name,
                "value": _plain(figure.value),
                "asked": _plain(target.amount),
            }
            reason = (
                _("{name} is {value}, at most {asked} is asked for", **said)
                if target.rule is Rule.AT_MOST
                else _("{name} is {value}, at least {asked} is asked for", **said)
            )
            return InfeasibleOffer(server.offer_id, Fault.BOUND, reason, target.name)
    # Traffic counted as free would make just these types win.
    if requirement.egress_gb and server.tiers is None and not server.included_gb:
        reason = _("the price of its traffic is not known")
        return InfeasibleOffer(server.offer_id, Fault.TRAFFIC, reason, TRAFFIC)
    return None


def _plain(value: Decimal) -> str:
    return number(format(value.normalize(EXACT), "f"))


def _alone(server: ServerType, requirement: Requirement) -> Fleet | InfeasibleOffer:
    """The cheapest fleet of one type, which is usable."""
    count = 1
    for target in requirement.totals:
        if target.name in server.fills:
            continue
        value = server.figures[target.name].value
        if not value > 0:
            return InfeasibleOffer(
                server.offer_id,
                Fault.NOTHING,
                _("it gives no {name}", name=target.name),
                target.name,
            )
        count = max(count, units_for(target.amount, value))
    if requirement.egress_gb and server.tiers is None:
        count = max(count, units_for(requirement.egress_gb, server.included_gb))
    most = requirement.max_servers
    if most is not None and count > most:
        reason = (
            _("{count} servers are needed, 1 is allowed", count=count)
            if most == 1
            else _("{count} servers are needed, {most} are allowed", count=count, most=most)
        )
        return InfeasibleOffer(server.offer_id, Fault.SERVERS, reason)
    counts = _counts_worth_a_look(server, requirement, count)
    fleets = (fleet_of(((server, n),), requirement) for n in counts)
    return min(fleets, key=lambda fleet: fleet.sort_key)


def _counts_worth_a_look(server: ServerType, requirement: Requirement, least: int) -> set[int]:
    """The least and the largest count, and those around which the traffic or disk left to pay
    changes its price: between them the cost is a straight line."""
    counts = {least}
    # (amount needed, what a server includes, the tiers of the rest)
    bought = [(requirement.egress_gb, server.included_gb, server.tiers)]
    bought += [
        (target.amount, server.figures[target.name].value, server.fills.get(target.name))
        for target in requirement.totals
    ]
    for amount, included, tiers in bought:
        if not amount or tiers is None or not included > 0:
            continue
        for bound in (NOTHING, *(end for end, _price in tiers if end is not None)):
            # More servers include more: at these counts the rest crosses into a cheaper tier.
            rest = EXACT.subtract(amount, bound)
            if rest > 0:
                around = units_for(rest, included)
                counts |= {around - 1, around}
    most = requirement.max_servers or max(counts)
    # Counts below the least would not meet the targets, those above are not allowed.
    return {min(max(least, count), most) for count in (*counts, most)}


# --- several types --------------------------------------------------------------------------------


def _mixed_fleets(
    usable: Sequence[ServerType],
    singles: Iterable[Fleet],
    requirement: Requirement,
    check: Callable[[], None],
) -> tuple[list[Fleet], Decimal | None]:
    """The cheapest mixed fleet of each choice of types, where it beats those of one type, and what
    no fleet costs less than where the cheapest is not proven to be it."""
    costs = {fleet.servers[0][0]: fleet.cost for fleet in singles}
    fleets: dict[tuple[tuple[str, int], ...], Fleet] = {}
    floors: list[Decimal] = []
    for choice in _choices(usable, requirement):
        check()
        # A mix that costs more than the best of one type is of no interest, and the bound prunes the
        # search.
        ceiling = min(
            (costs[s.offer_id] for s in choice.servers if s.offer_id in costs), default=None
        )
        fleet, floor = _cheapest_mix(choice, requirement, ceiling)
        if choice.is_whole and floor is not None:
            floors.append(floor)
        if fleet is not None:
            fleets[fleet.servers] = fleet
    mixed = list(fleets.values())
    cheapest = min((*costs.values(), *(fleet.cost for fleet in mixed)), default=None)
    floor = min(floors, default=None)
    is_open = floor is not None and (cheapest is None or floor < cheapest)
    return mixed, floor if is_open else None


@dataclass(frozen=True, slots=True)
class _Choice:
    """Types that may be mixed; whole unless another choice holds them all."""

    servers: list[ServerType]
    nodes: int
    is_whole: bool


def _choices(usable: Sequence[ServerType], requirement: Requirement) -> list[_Choice]:
    if requirement.egress_gb:
        # Included traffic is pooled by a provider in one location only.
        bills = _groups(usable, lambda s: (s.provider, s.location, s.tiers))
        return [_Choice(group, max(LEAST_NODES, NODES // len(bills)), True) for group in bills]
    providers = _groups(usable, lambda s: s.provider)
    if len(providers) == 1:
        return [_Choice(providers[0], NODES, True)]
    # Beside the best of all: who buys from one provider alone wants to see that one's best mix.
    parts = [_Choice(group, NODES_OF_PROVIDER, False) for group in providers]
    return [_Choice(list(usable), NODES, True), *parts]


def _groups(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _fill_key(server: ServerType) -> Hashable:
    return tuple(sorted(server.fills.items()))


def _useful(
    group: Sequence[int],
    prices: Sequence[Decimal],
    gives: Sequence[tuple[int, ...]],
    demands: tuple[int, ...],
) -> list[int]:
    """The indexes of a group to which none of the group is preferable."""
    useful = useful_types([prices[n] for n in group], [gives[n] for n in group], demands)
    return [group[n] for n in useful]


def _purchases(requirement: Requirement, kept: Sequence[ServerType]) -> tuple[Purchase, ...]:
    """Purchases beside servers of these types: traffic, and extras that fill targets up."""
    purchases = []
    for demand, target in enumerate(requirement.totals):
        sellers = [n for n, server in enumerate(kept) if target.name in server.fills]
        fills = {n: kept[n].fills[target.name] for n in sellers}
        for group in _groups(sellers, fills.__getitem__):
            pieces = _pieces(target.amount, kept[group[0]].fills[target.name])
            purchases.append(Purchase(demand, pieces, tuple(group)))
    # All of one choice are under one bill of traffic.
    if requirement.egress_gb and kept[0].tiers:
        pieces = _pieces(requirement.egress_gb, kept[0].tiers)
        purchases.append(Purchase(len(requirement.totals), pieces, tuple(range(len(kept)))))
    return tuple(purchases)


def _cheapest_mix(
    choice: _Choice, requirement: Requirement, ceiling: Decimal | None
) -> tuple[Fleet | None, Decimal | None]:
    """The cheapest fleet of two or more types below the ceiling; and a cost that none is below,
    None where that is proven to be the fleet's or the ceiling."""
    columns = [
        [target.amount, *(server.figures[target.name].value for server in choice.servers)]
        for target in requirement.totals
    ]
    if requirement.egress_gb:
        columns.append([requirement.egress_gb, *(server.included_gb for server in choice.servers)])
    # Whole numbers: what the solver answers in floats is checked exactly.
    whole = [_whole(column) for column in columns]
    demands = tuple(column[0] for column in whole)
    prices = [server.price for server in choice.servers]
    gives = [tuple(column[n + 1] for column in whole) for n in range(len(prices))]
    # A type beside which disks can be bought is worth more than its own figures say.
    kept = [
        index
        for group in _groups(range(len(prices)), lambda n: _fill_key(choice.servers[n]))
        for index in _useful(group, prices, gives, demands)
    ]
    problem = CoverProblem(
        prices=[float(prices[index]) for index in kept],
        gives=[gives[index] for index in kept],
        demands=demands,
        most=min(requirement.max_servers or MOST_MIXED, MOST_MIXED),
        purchases=_purchases(requirement, [choice.servers[index] for index in kept]),
        ceiling=inf if ceiling is None else float(ceiling),
    )
    cover = cheapest_cover(problem, nodes=choice.nodes, seconds=SECONDS)
    fleet = None
    # One type is among the fleets already, with its traffic counted exactly.
    if len(cover.counts) > 1:
        mixed = fleet_of(
            [(choice.servers[kept[index]], count) for index, count in cover.counts], requirement
        )
        fleet = mixed if ceiling is None or mixed.cost < ceiling else None
    return fleet, None if cover.is_proven else exact_decimal(max(0.0, cover.floor))


def _whole(amounts: Sequence[Decimal]) -> list[int]:
    """The amounts as whole numbers of one common, small enough unit."""
    exponents = (amount.as_tuple().exponent for amount in amounts)
    decimals = max(0, *(-exponent for exponent in exponents if isinstance(exponent, int)))
    return [int(Fraction(amount) * 10**decimals) for amount in amounts]


def _pieces(amount: Decimal, tiers: Tiers) -> tuple[TierPiece, ...]:
    """The price of the part that is bought, tier by tier, as shares of the whole amount."""
    bounds = [bound for bound, _ in tiers if bound is not None and bound < amount]
    ends = [NOTHING, *bounds, amount]
    return tuple(
        TierPiece(
            float(start / amount),
            float(end / amount),
            float(cost_under_tiers(start, tiers)),
            float(cost_under_tiers(end, tiers)),
        )
        for start, end in pairwise(ends)
    )
