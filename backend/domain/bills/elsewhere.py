"""The machines of a bill as equal capacity elsewhere: what it costs, how sure that is, when it pays.

Capacity is a score times machines. A fleet that is short of it by no more than SLACK counts as equal:
machines of one type differ among themselves by as much.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from backend.domain.bills.beside import (
    NO_SUPPLY,
    NOTHING_BESIDE,
    Beside,
    BillPart,
    Services,
    Supply,
    beside_costs,
)
from backend.domain.draws import Floats, common_draws, spreads

SLACK = 0.05
DRAWS = 2_000
PRICE_SWING = 0.10
"""How far a price is moved to show what the cost depends on: what a year may bring or a quote takes off."""
STAFF_SWING = 0.5


class Destination(StrEnum):
    """Where the machines might go; the order is that of pages."""

    SAME_PROVIDER = "same_provider"
    CLOUD = "cloud"
    VPS = "vps"
    DEDICATED = "dedicated"
    OWN = "own"


@dataclass(frozen=True)
class Figure:
    """Of one machine, with its 95 % interval; higher is better."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Work:
    """Machines of a bill that are alike."""

    name: str
    provider: str
    mean: float
    """How many ran on average."""
    peak: float
    """The most at once; the mean where that is not known."""
    score: Figure
    ram_gib: float
    cost_per_month: float
    week: Sequence[float] = ()
    """How many ran in each hour of the week, from Monday 0:00 UTC; () where that is not known."""
    is_burstable: bool = False
    arch: str = ""
    """x86_64 or arm64; "" where that is not known."""


@dataclass(frozen=True)
class Replacement:
    """An offer that could do the work."""

    slug: str
    name: str
    provider: str
    target: Destination
    score: Figure
    ram_gib: float
    cost_per_month: float
    is_burstable: bool = False
    """Whether its score holds only as long as its CPU credits do."""
    arch: str = ""
    supply: Supply = NO_SUPPLY

    def can_do(self, work: Work, assumed: "Assumptions") -> bool:
        """Whether one of it could stand for a machine of the work: no machine is split into smaller
        ones, none that runs all day is replaced by one that may not, and programs run as they are
        unless they may be built anew."""
        runs = assumed.may_change_arch or "" in {self.arch, work.arch} or self.arch == work.arch
        lasts = work.is_burstable or not self.is_burstable
        return runs and lasts and self.ram_gib >= work.ram_gib


@dataclass(frozen=True)
class Assumptions:
    """What a bill and a price list do not say; in the bill's currency."""

    moving_cost: float
    """Once."""
    staff_per_server: float
    """A month, for each server that is dedicated or one's own."""
    spares: int
    """Servers more than needed of those, as another one takes days to get."""
    may_change_arch: bool = False
    """Whether the programs run on CPUs of another architecture, too."""
    may_run_services: bool = False
    """Whether managed services become software that one runs oneself, where the target has none."""
    managed_premium: float = 0.4
    """Share of their price that is for being managed; the rest buys machines for it anywhere."""
    service_hours: float = 10
    """Of staff, a month, for the services run by oneself."""
    staff_hour: float = 60

    @property
    def services(self) -> Services:
        """What is assumed of managed services."""
        return Services(
            self.may_run_services, self.managed_premium, self.service_hours, self.staff_hour
        )


class Input(StrEnum):
    """What the cost of an alternative depends on."""

    SCORE = "score"
    PRICE = "price"
    STAFF = "staff"
    SPARES = "spares"


@dataclass(frozen=True)
class Swing:
    """One input at its low and at its high end, all others as they are."""

    input: Input
    name: str
    """Of the type or offer; "" for what holds of all servers."""
    low: float
    high: float
    """The ends: scores, factors of prices and of staff, spare servers."""
    cost_low: float
    cost_high: float
    """A month, with the input at either end."""


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
    """What the cost depends on, that which moves it most first; inputs that do not move it are left out."""
    parts: Mapping[BillPart, float]
    """What of the cost is for which part of the bill."""
    unpriced: tuple[BillPart, ...] = ()
    """Parts that are taken as they cost today, as the target's price is not known."""


@dataclass(frozen=True)
class _Move:
    """Which offer does which of the work."""

    works: tuple[Work, ...]
    by: tuple[Replacement, ...]
    """One for each of the work, or one for all of it."""
    target: Destination
    beside: Beside = NOTHING_BESIDE

    @property
    def is_packed(self) -> bool:
        """Whether all work shares servers of one type that stand all month."""
        return self.target not in HOURLY

    def costs(
        self, needed: Floats, offered: Floats, assumed: Assumptions
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Of a month, all parts, and servers, by draw."""
        machines, servers = self._machines(needed, offered, assumed)
        others, _ = self.others(servers, assumed)
        return machines + sum(others.values()), servers

    def others(
        self, servers: NDArray[np.int64], assumed: Assumptions
    ) -> tuple[dict[BillPart, Floats], list[BillPart]]:
        """What is beside the machines, by draw, and which of it has no price there."""
        return beside_costs(
            self.beside,
            [one.supply for one in self.by],
            servers,
            assumed.services,
            is_same_provider=self.target is Destination.SAME_PROVIDER,
            has_services=self.target in HOURLY,
        )

    def _machines(
        self, needed: Floats, offered: Floats, assumed: Assumptions
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Of a month, and servers, by draw: `needed` and `offered` are scores by draw, of the work
        and of the offers."""
        peaks = np.array([one.peak for one in self.works])
        prices = np.array([one.cost_per_month for one in self.by])
        ram = np.array([one.ram_gib for one in self.works])
        own_ram = np.array([one.ram_gib for one in self.by])
        if self.is_packed:
            capacity = (needed * peaks).sum(axis=1, keepdims=True) * (1 - SLACK) / offered
            servers = _whole(np.maximum(capacity, (peaks * ram).sum() / own_ram))
            if self.target in HARDWARE:
                servers += assumed.spares
                prices = prices + assumed.staff_per_server
            return (servers * prices).sum(axis=1), servers
        each = np.maximum(needed * (1 - SLACK) / offered, ram / own_ram)
        servers = _whole(peaks * each)
        means = np.array([one.mean for one in self.works])
        return (servers * prices * means / peaks).sum(axis=1), servers


HOURLY = (Destination.SAME_PROVIDER, Destination.CLOUD)
"""Rented by the hour: each machine of the bill becomes some that run as long as it did."""

HARDWARE = (Destination.DEDICATED, Destination.OWN)


def today_cost(works: Sequence[Work], assumed: Assumptions, beside: Beside) -> float:
    """A month of all that is compared: services only where they may be run by oneself."""
    services = beside.managed_cost if assumed.services.may_run else 0.0
    machines = sum(one.cost_per_month for one in works)
    return machines + beside.disk_cost + beside.egress_cost + services


def alternatives(
    works: Sequence[Work],
    candidates: Iterable[Replacement],
    assumed: Assumptions,
    beside: Beside = NOTHING_BESIDE,
) -> list[Alternative]:
    """The cheapest of each target that has candidates for all the work; [] without work."""
    offered: dict[Destination, list[Replacement]] = {target: [] for target in Destination}
    for one in candidates:
        offered[one.target].append(one)
    best_of = []
    for target, own in offered.items():
        plans = [
            replace(plan, beside=beside)
            for plan in (_plans(tuple(works), own, target, assumed) if works else ())
        ]
        if plans:
            best = min(plans, key=lambda plan: float(_central(plan, assumed)[0][0]))
            best_of.append(_alternative(best, assumed))
    return best_of


def _plans(
    works: tuple[Work, ...], own: list[Replacement], target: Destination, assumed: Assumptions
) -> Iterator[_Move]:
    if target not in HOURLY:
        for one in own:
            if all(one.can_do(work, assumed) for work in works):
                yield _Move(works, (one,), target)
        return
    if target is Destination.SAME_PROVIDER:
        destinations = [[work.provider for work in works]]
    else:
        destinations = [[name] * len(works) for name in sorted({one.provider for one in own})]
    for destination in destinations:
        choice = [
            [one for one in own if one.provider == name and one.can_do(work, assumed)]
            for name, work in zip(destination, works, strict=True)
        ]
        if all(choice):
            by = tuple(_cheapest(*pair) for pair in zip(works, choice, strict=True))
            yield _Move(works, by, target)


def _cheapest(work: Work, offered: Sequence[Replacement]) -> Replacement:
    """For one kind of machine, of offers by the hour."""
    scores = np.array([one.score.value for one in offered])
    each = np.maximum(
        work.score.value * (1 - SLACK) / scores,
        work.ram_gib / np.array([one.ram_gib for one in offered]),
    )
    costs = _whole(work.peak * each) * np.array([one.cost_per_month for one in offered])
    return offered[int(np.argmin(costs))]


def _whole(count: Floats) -> NDArray[np.int64]:
    """Whole servers, at least one; what a sum of floats is too large counts for none."""
    return np.maximum(np.ceil(count - 1e-9), 1).astype(np.int64)


def _central(plan: _Move, assumed: Assumptions) -> tuple[Floats, NDArray[np.int64]]:
    needed = np.array([[one.score.value for one in plan.works]])
    offered = np.array([[one.score.value for one in plan.by]])
    return plan.costs(needed, offered, assumed)


def _alternative(plan: _Move, assumed: Assumptions) -> Alternative:
    (cost,), (servers,) = _central(plan, assumed)
    # A type that stays the same has one score, however often it is named.
    named: dict[tuple[str, str], Figure] = {}
    for work in plan.works:
        named.setdefault((work.provider, work.name), work.score)
    for offer in plan.by:
        named.setdefault((offer.provider, offer.name), offer.score)
    column = {key: at for at, key in enumerate(named)}
    scores = named.values()
    drawn = np.exp(
        common_draws(
            spreads(
                [one.value for one in scores],
                [one.low for one in scores],
                [one.high for one in scores],
            ),
            n_draws=DRAWS,
        )
    )
    needed = drawn[:, [column[one.provider, one.name] for one in plan.works]]
    offered = drawn[:, [column[one.provider, one.name] for one in plan.by]]
    costs, _ = plan.costs(needed, offered, assumed)
    today = today_cost(plan.works, assumed, plan.beside)
    others, unpriced = plan.others(np.array([servers]), assumed)
    parts = {part: float(costs[0]) for part, costs in others.items()}
    p5, p95 = np.percentile(costs, (5, 95)).tolist()
    saved = today - float(cost)
    counts: dict[tuple[str, str], int] = {}
    for one, count in zip(plan.by, servers.tolist(), strict=True):
        counts[one.slug, one.name] = counts.get((one.slug, one.name), 0) + count
    return Alternative(
        target=plan.target,
        servers=tuple((slug, name, count) for (slug, name), count in counts.items()),
        cost=float(cost),
        p5=p5,
        p95=p95,
        probability_cheaper=float(np.mean(costs < today)),
        payback_months=assumed.moving_cost / saved if saved > 0 else None,
        swings=_swings(plan, assumed),
        parts={BillPart.MACHINES: float(cost) - sum(parts.values()), **parts},
        unpriced=tuple(unpriced),
    )


def _swings(plan: _Move, assumed: Assumptions) -> tuple[Swing, ...]:
    moved = sorted(_moved(plan, assumed), key=lambda one: -abs(one.cost_high - one.cost_low))
    return tuple(one for one in moved if one.cost_low != one.cost_high)


def _moved(plan: _Move, assumed: Assumptions) -> Iterator[Swing]:
    def cost(plan: _Move, assumed: Assumptions = assumed) -> float:
        return float(_central(plan, assumed)[0][0])

    # A type that stays the same has one score, so both sides of the comparison move with it.
    types = {(one.provider, one.name): one.score for one in plan.works}
    types |= {(one.provider, one.name): one.score for one in plan.by}
    for key, score in types.items():
        low, high = (cost(_with_score(plan, key, end)) for end in (score.low, score.high))
        yield Swing(Input.SCORE, key[1], score.low, score.high, low, high)
    for name in dict.fromkeys(one.name for one in plan.by):
        ends = (1 - PRICE_SWING, 1 + PRICE_SWING)
        low, high = (cost(_with_price(plan, name, factor)) for factor in ends)
        yield Swing(Input.PRICE, name, *ends, low, high)
    if plan.target in HARDWARE:
        ends = (1 - STAFF_SWING, 1 + STAFF_SWING)
        staff = [replace(assumed, staff_per_server=assumed.staff_per_server * one) for one in ends]
        yield Swing(Input.STAFF, "", *ends, *(cost(plan, one) for one in staff))
        spares = (max(assumed.spares - 1, 0), assumed.spares + 1)
        counts = [replace(assumed, spares=one) for one in spares]
        yield Swing(Input.SPARES, "", *spares, *(cost(plan, one) for one in counts))


def _with_score(plan: _Move, key: tuple[str, str], value: float) -> _Move:
    score = Figure(value, value, value)
    return replace(
        plan,
        works=tuple(
            replace(one, score=score) if (one.provider, one.name) == key else one
            for one in plan.works
        ),
        by=tuple(
            replace(one, score=score) if (one.provider, one.name) == key else one for one in plan.by
        ),
    )


def _with_price(plan: _Move, name: str, factor: float) -> _Move:
    return replace(
        plan,
        by=tuple(
            replace(one, cost_per_month=one.cost_per_month * factor) if one.name == name else one
            for one in plan.by
        ),
    )
