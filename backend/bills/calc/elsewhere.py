"""The machines of a bill as equal capacity elsewhere: what it costs, how sure that is, when it pays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from backend.bills.calc.beside import NOTHING_BESIDE, Beside, BillPart
from backend.bills.calc.moves import Relocation, cheapest
from backend.bills.calc.replacing import (
    HOURLY,
    SAME,
    Assumptions,
    Destination,
    Figure,
    Replacement,
    Work,
)
from backend.bills.calc.swings import Swing, swings
from backend.measure.draws import common_draws, spreads
from backend.money.amounts import Floats
from backend.rankings.calc.pareto import pareto_indexes

DRAWS = 2_000
# Of one provider, so many types are tried as the first and as the second one of a mix.
MOST_TYPES = 12


@dataclass(frozen=True)
class Alternative:
    """The cheapest of one target. Costs are of a month, the bounds those of 90 % of the draws."""

    target: Destination
    servers: tuple[tuple[str, str, int], ...]
    """Slug and name of an offer, and how many at most at once."""
    cost: float
    p5: float
    p95: float
    probability_cheaper: float
    payback_months: float | None
    """Until moving has paid; None where it never does."""
    swings: tuple[Swing, ...]
    """Inputs of the cost, that which moves it most first; inputs that do not move it are left out."""
    parts: Mapping[BillPart, float]
    """Cost by parts of the bill."""
    unpriced: tuple[BillPart, ...] = ()
    """Parts that are taken as they cost today, as the target's price is not known."""
    idle_cost: float = 0
    """Cost of servers beyond the mean load: for peaks, spares, headroom."""


def today_cost(works: Sequence[Work], assumed: Assumptions, beside: Beside) -> float:
    """A month of all that is compared: services only where they may be run by oneself."""
    services = beside.managed_cost if assumed.services.may_run else 0.0
    machines = sum(work.cost_per_month for work in works)
    return machines + beside.disk_cost + beside.egress_cost + beside.licence_cost + services


def alternatives(
    works: Sequence[Work],
    candidates: Iterable[Replacement],
    assumed: Assumptions,
    beside: Beside = NOTHING_BESIDE,
) -> list[Alternative]:
    """The cheapest of each target that has candidates for all the work; [] without work."""
    if not works:
        return []
    offered: dict[Destination, list[Replacement]] = {target: [] for target in Destination}
    for candidate in candidates:
        offered[candidate.target].append(candidate)
    # A commitment is worth its price on servers that always run: with less than one there is none
    # to make.
    if any(work.base >= 1 for work in works):
        offered[Destination.COMMITTED] = offered[Destination.SAME_PROVIDER]
    best_of = []
    for target, own in offered.items():
        plans = [
            replace(plan, beside=beside) for plan in _plans(tuple(works), own, target, assumed)
        ]
        if plans:
            best = min(plans, key=lambda plan: plan.central(assumed)[0])
            best_of.append(_alternative(best, assumed))
    return best_of


def _plans(
    works: tuple[Work, ...], own: list[Replacement], target: Destination, assumed: Assumptions
) -> Iterator[Relocation]:
    if target not in HOURLY:
        # One fleet does all the work, so it stands near some of it.
        own = [
            replacement for replacement in own if any(replacement.is_near(work) for work in works)
        ]
        for replacement in own:
            if all(replacement.can_do(work, assumed) for work in works):
                yield Relocation(works, (replacement,), target)
        yield from _mixes(works, own, target, assumed)
        return
    if target in SAME:
        destinations = [[work.provider for work in works]]
    else:
        destinations = [
            [name] * len(works) for name in sorted({replacement.provider for replacement in own})
        ]
    for destination in destinations:
        choice = [
            [
                replacement
                for replacement in own
                if replacement.provider == name
                and replacement.can_do(work, assumed)
                and replacement.is_near(work)
            ]
            for name, work in zip(destination, works, strict=True)
        ]
        if all(choice):
            by = tuple(cheapest(*pair, target) for pair in zip(works, choice, strict=True))
            if target is not Destination.COMMITTED or any(
                supply.committed_per_month for supply in by
            ):
                yield Relocation(works, by, target)


def _mixes(
    works: tuple[Work, ...], own: list[Replacement], target: Destination, assumed: Assumptions
) -> Iterator[Relocation]:
    """Two types of one provider, of which the second is no larger and does all or some of the work."""
    staff = assumed.staff(target)
    for provider in sorted({replacement.provider for replacement in own}):
        of = [replacement for replacement in own if replacement.provider == provider]
        can = {supply.slug: [supply.can_do(work, assumed) for work in works] for supply in of}
        seconds = _useful([supply for supply in of if any(can[supply.slug])], can, staff)
        firsts = _useful([supply for supply in of if all(can[supply.slug])], can, staff)
        for first in firsts:
            for second in seconds:
                is_larger = second.score.value > first.score.value or second.ram_gib > first.ram_gib
                if second is not first and not is_larger:
                    yield Relocation(works, (first, second), target)


def _useful(
    of: Sequence[Replacement], can: Mapping[str, Sequence[bool]], staff: float
) -> list[Replacement]:
    """Types that no other one betters in price, score, memory and the work that it can do; of many
    those that cost least for their score."""
    points = [
        (
            replacement.cost_per_month,
            -replacement.score.value,
            -replacement.ram_gib,
            *(not able for able in can[replacement.slug]),
        )
        for replacement in of
    ]
    left = [of[index] for index in pareto_indexes(points)]
    left.sort(key=lambda supply: (supply.cost_per_month + staff) / supply.score.value)
    return left[:MOST_TYPES]


def _alternative(plan: Relocation, assumed: Assumptions) -> Alternative:
    cost, servers = plan.central(assumed)
    costs, _ = plan.costs(*_draw_scores(plan), assumed)
    today = today_cost(plan.works, assumed, plan.beside)
    others, unpriced = plan.others(np.array([servers]), assumed)
    parts = {part: float(costs[0]) for part, costs in others.items()}
    machines = cost - sum(parts.values())
    p5, p95 = np.percentile(costs, (5, 95)).tolist()
    saved = today - cost
    counts: dict[tuple[str, str], int] = {}
    for supply, count in zip(plan.by, servers.tolist(), strict=True):
        counts[supply.slug, supply.name] = counts.get((supply.slug, supply.name), 0) + count
    return Alternative(
        target=plan.target,
        servers=tuple((slug, name, count) for (slug, name), count in counts.items()),
        cost=cost,
        p5=p5,
        p95=p95,
        probability_cheaper=float(np.mean(costs < today)),
        payback_months=assumed.moving_cost / saved if saved > 0 else None,
        swings=swings(plan, assumed),
        parts={BillPart.MACHINES: machines, **parts},
        unpriced=tuple(unpriced),
        idle_cost=0.0 if plan.target in HOURLY else machines * plan.idle_ratio(servers),
    )


def _draw_scores(plan: Relocation) -> tuple[Floats, Floats]:
    """Scores by draw, of the work and of the offers."""
    # A type that stays the same has one score, however often it is named.
    named: dict[tuple[str, str], Figure] = {}
    for work in plan.works:
        named.setdefault((work.provider, work.name), work.score)
    for offer in plan.by:
        named.setdefault((offer.provider, offer.name), offer.score)
    column = {key: at for at, key in enumerate(named)}
    scores = named.values()
    of = spreads(
        [score.value for score in scores],
        [score.low for score in scores],
        [score.high for score in scores],
    )
    drawn = np.exp(common_draws(of, n_draws=DRAWS))
    needed = drawn[:, [column[work.provider, work.name] for work in plan.works]]
    offered = drawn[:, [column[supply.provider, supply.name] for supply in plan.by]]
    return needed, offered
