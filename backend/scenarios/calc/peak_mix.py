"""The cheapest fleet of servers that always run, of one type or several, that carries the peak."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from backend.money.pricing.billing.lifetimes import Horizon
from backend.rankings.calc.cover_solver import CoverProblem, cheapest_cover, useful_types
from backend.rankings.calc.fleet_search import MOST_MIXED, NODES, SECONDS
from backend.scenarios.calc.charges import (
    PURCHASE,
    ZERO,
    Administered,
    Charges,
    extras_a_month,
    extras_costs,
    option_charges,
    whole,
)
from backend.scenarios.calc.model import Option, ScenarioInput


@dataclass(frozen=True)
class PeakMix:
    """A fleet: options of one part with how many of their servers run all the time.

    Costs are of the horizon and of a month, without and with what is paid once beside. No fleet of
    these servers that carries the peak costs less than `floor`; None where that is this cost.
    """

    servers: tuple[tuple[Option, int], ...]
    peak: Fraction
    """Units of the demand, and what of it the fleet carries at the target utilisation."""
    carried: Fraction
    cost: Fraction
    cost_per_month: Fraction
    floor: Fraction | None


def peak_mix(scenario: ScenarioInput, options: Sequence[Option]) -> PeakMix | None:
    """The cheapest mix of servers, of options that have one part each, that carries the peak and never
    starts or ends any; None where none keeps to MOST_MIXED servers and the limits of the policy."""
    peak = Fraction(repr(scenario.demand.highest))
    units = [option.parts[0].units_per_server * scenario.target_utilisation for option in options]
    horizon = scenario.steps.horizon
    # What one costs: the bill of always-on servers grows in proportion to their number.
    prices = [_payment(_charges(option, 1, horizon)) for option in options]
    limits = [MOST_MIXED, scenario.policy.max_servers, scenario.policy.quota]
    # The solver takes whole numbers: demand and capacities in parts of a unit that divides all.
    common = lcm(peak.denominator, *(each.denominator for each in units))
    demand, capacities = int(peak * common), [(int(each * common),) for each in units]
    if not demand or not options:
        return None
    kept = useful_types(prices, capacities, (demand,))
    cover = cheapest_cover(
        CoverProblem(
            prices=[float(prices[index]) for index in kept],
            gives=[capacities[index] for index in kept],
            demands=(demand,),
            most=min(each for each in limits if each is not None),
        ),
        nodes=NODES,
        seconds=SECONDS,
    )
    if not cover.counts:
        return None
    chosen = sorted(
        ((kept[n], count) for n, count in cover.counts), key=lambda share: options[share[0]].name
    )
    servers = tuple((options[index], count) for index, count in chosen)
    return _mix(
        scenario,
        servers,
        sum((count * units[index] for index, count in chosen), ZERO),
        None if cover.is_proven else Fraction(max(0.0, cover.floor)),
    )


def _mix(
    scenario: ScenarioInput,
    servers: tuple[tuple[Option, int], ...],
    carried: Fraction,
    floor: Fraction | None,
) -> PeakMix:
    horizon, extras = scenario.steps.horizon, servers[0][0].extras
    charges = sum((_charges(option, n, horizon) for option, n in servers), Charges())
    # What stands beside the servers is paid once, whatever the fleet.
    looked_after = _administration(servers)
    beside = sum(extras_costs(extras, horizon, looked_after).values(), ZERO)
    cost = _payment(charges) + beside
    return PeakMix(
        servers=servers,
        peak=Fraction(repr(scenario.demand.highest)),
        carried=carried,
        cost=cost,
        cost_per_month=(cost - charges.setup) / scenario.months
        if scenario.months
        else charges.a_month + extras_a_month(extras, looked_after),
        floor=None if floor is None else floor + beside,
    )


def _administration(servers: tuple[tuple[Option, int], ...]) -> Administered:
    owned = sum(n for option, n in servers if option.parts[0].price.billing == PURCHASE)
    return Administered(sum(n for _, n in servers), owned)


def _charges(option: Option, count: int, horizon: Horizon) -> Charges:
    (part,) = option.parts
    return option_charges(part, count, None, whole(0, horizon), horizon)


def _payment(charges: Charges) -> Fraction:
    return charges.compute + charges.setup
