"""Fleets of servers: what they give together of what is asked for, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import ceil

from backend.foundation.units import EXACT
from backend.measure.metrics import Metric
from backend.money.pricing.billing.traffic import cost_under_tiers
from backend.money.pricing.extras import Tiers

NOTHING = Decimal(0)


class Rule(StrEnum):
    """How the figures of servers meet a target."""

    TOTAL = "total"
    AT_LEAST = "each_at_least"
    AT_MOST = "each_at_most"


@dataclass(frozen=True, slots=True)
class FleetTarget:
    """An amount above zero, and how it is met."""

    name: str
    amount: Decimal
    rule: Rule = Rule.TOTAL


@dataclass(frozen=True, slots=True)
class ServerFigure:
    """A server's figure; `worst` is the worse end of its interval, None where it has none."""

    value: Decimal
    worst: Decimal | None


@dataclass(frozen=True, slots=True)
class ServerType:
    """A type of server. The price is that of one for a month, above zero.

    `figures` holds what is known, by name of the target. `refusal` says why it is out of question
    whatever it gives. `tiers` are the prices of traffic beyond what all servers of the fleet
    include, None where they are not known. `fills` are prices of a month, by name of the target
    that can be filled up where the server stands, such as a disk.
    """

    offer_id: str
    provider: str
    location: str
    price: Decimal
    figures: Mapping[str, ServerFigure]
    refusal: str = ""
    included_gb: Decimal = NOTHING
    tiers: Tiers | None = None
    fills: Mapping[str, Tiers] = field(default_factory=dict)


# Servers with their counts.
Parts = Sequence[tuple[ServerType, int]]


@dataclass(frozen=True, slots=True)
class Requirement:
    """Targets of a fleet; amounts of zero are no target and left out."""

    targets: tuple[FleetTarget, ...]
    egress_gb: Decimal = NOTHING
    max_servers: int | None = None

    @property
    def totals(self) -> tuple[FleetTarget, ...]:
        """The targets that all servers meet together."""
        return tuple(target for target in self.targets if target.rule is Rule.TOTAL)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Servers with their counts, and what they cost in a month, traffic and disks included.

    `given` is what they give of each target. `holds_at_worst` says whether the targets are met
    where every figure is at the worse end of its interval, None where an interval is not known;
    `count_at_worst` is how many servers of the one type that would take.
    """

    servers: tuple[tuple[str, int], ...]
    cost: Decimal
    traffic_cost: Decimal = NOTHING
    fill_cost: Decimal = NOTHING
    """Part of the cost for what fills targets up, such as disks."""
    given: Mapping[str, Decimal] = field(default_factory=dict)
    holds_at_worst: bool | None = None
    count_at_worst: int | None = None

    @property
    def count(self) -> int:
        """All servers."""
        return sum(count for _, count in self.servers)

    @property
    def sort_key(self) -> tuple[Decimal, int, tuple[tuple[str, int], ...]]:
        """Sort key of fleets: cost, then the fewer servers, then names."""
        return self.cost, self.count, self.servers


def rule_of(metric: Metric) -> Rule:
    """Rates of whole machines add up; latencies, ratios and what one thread does never do."""
    # Two machines answer no faster than one.
    if not metric.is_higher_better:
        return Rule.AT_MOST
    is_of_one = metric.canonical_variant == "single" or "single" in metric.key.split("_")
    # What one thread does is not done faster by a second server.
    return Rule.AT_LEAST if is_of_one or metric.unit == "ratio" else Rule.TOTAL


def is_met(value: Decimal, target: FleetTarget) -> bool:
    """True if a fleet or server that gives so much meets the target."""
    return value <= target.amount if target.rule is Rule.AT_MOST else value >= target.amount


def units_for(amount: Decimal, unit: Decimal) -> int:
    """How many whole units, each above zero, reach the amount; exact."""
    # Exact: a float quotient of 3.0000000000000004 would buy a fourth server.
    return ceil(Fraction(amount) / Fraction(unit))


def fleet_of(parts: Parts, requirement: Requirement) -> Fleet:
    """The fleet of servers with their counts; all figures asked for are known."""
    holds: bool | None = True
    given: dict[str, Decimal] = {}
    for target in requirement.targets:
        if _can_fill(target, parts):
            given[target.name] = max(_own(target, parts), target.amount)
            continue
        given[target.name] = _own(target, parts)
        worst = [(s.figures[target.name].worst, n) for s, n in parts]
        known = [(value, n) for value, n in worst if value is not None]
        # Not known is neither yes nor no; a later target may still say no for certain.
        if len(known) < len(worst):
            holds = holds and None
        elif not is_met(_capacity_of(target, known), target):
            holds = False
    return Fleet(
        servers=tuple(sorted((server.offer_id, count) for server, count in parts)),
        cost=cost_of(parts, requirement),
        traffic_cost=_traffic_cost(parts, requirement.egress_gb),
        fill_cost=_fill_cost(parts, requirement),
        given=given,
        holds_at_worst=holds,
        count_at_worst=_count_at_worst(parts, requirement),
    )


def _own(target: FleetTarget, parts: Parts) -> Decimal:
    """Contribution of the servers themselves to a target."""
    return _capacity_of(target, [(s.figures[target.name].value, n) for s, n in parts])


def _can_fill(target: FleetTarget, parts: Parts) -> bool:
    """True where more of the target can be bought beside one of the servers."""
    return any(target.name in server.fills for server, _ in parts)


def _capacity_of(target: FleetTarget, values: Sequence[tuple[Decimal, int]]) -> Decimal:
    """Sum of the servers' figures, or the worst of them where each must meet the target."""
    if target.rule is not Rule.TOTAL:
        return (max if target.rule is Rule.AT_MOST else min)(value for value, _ in values)
    total = NOTHING
    for value, count in values:
        total = EXACT.add(total, EXACT.multiply(value, count))
    return total


def _count_at_worst(parts: Parts, requirement: Requirement) -> int | None:
    # How many more of which type is another search.
    if len(parts) > 1:
        return None
    [(server, count)] = parts
    for target in requirement.targets:
        if target.name in server.fills:
            continue
        worst = server.figures[target.name].worst
        if worst is None or (target.rule is not Rule.TOTAL and not is_met(worst, target)):
            return None
        if target.rule is Rule.TOTAL:
            if not worst > 0:
                return None
            count = max(count, units_for(target.amount, worst))
    return count


def cost_of(parts: Parts, requirement: Requirement) -> Decimal:
    """Monthly cost of servers, their traffic and what fills them up; all are under one bill of
    traffic."""
    total = EXACT.add(_traffic_cost(parts, requirement.egress_gb), _fill_cost(parts, requirement))
    for server, count in parts:
        total = EXACT.add(total, EXACT.multiply(server.price, count))
    return total


def _fill_cost(parts: Parts, requirement: Requirement) -> Decimal:
    """The price of what the servers lack of the targets that can be filled up."""
    total = NOTHING
    for target in requirement.totals:
        rest = EXACT.subtract(target.amount, _own(target, parts))
        prices = {s.fills[target.name] for s, _ in parts if target.name in s.fills}
        # Where servers stand in places of different prices it is bought in the cheaper one.
        if rest > 0 and prices:
            total = EXACT.add(total, min(cost_under_tiers(rest, tiers) for tiers in prices))
    return total


def _traffic_cost(parts: Parts, egress_gb: Decimal) -> Decimal:
    """Monthly cost of traffic beyond what all servers of the fleet include."""
    included = NOTHING
    for server, count in parts:
        included = EXACT.add(included, EXACT.multiply(server.included_gb, count))
    rest = EXACT.subtract(egress_gb, included)
    # All of a fleet with a demand of traffic are under one bill (requirements._choices).
    tiers = parts[0][0].tiers
    return NOTHING if rest <= 0 or tiers is None else cost_under_tiers(rest, tiers)
