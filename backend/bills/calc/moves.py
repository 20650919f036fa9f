"""Which offers do which work of a bill: how many servers that takes, and what they cost.

Capacity is a score times machines. Servers are whole: a part of one more is left out where a fleet is
short by no more than SLACK without it, as machines of one type differ among themselves by as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.bills.calc.beside import NOTHING_BESIDE, Beside, BillPart, beside_costs
from backend.bills.calc.replacing import (
    HARDWARE,
    HOURLY,
    SAME,
    Assumptions,
    Destination,
    Replacement,
    Work,
)
from backend.money.amounts import Floats, Ints

SLACK = 0.05
# So many servers of a second type stand at most beside those of the first.
MOST_SECOND = 100


@dataclass(frozen=True)
class Relocation:
    """Which offer does which of the work."""

    works: tuple[Work, ...]
    by: tuple[Replacement, ...]
    """Rented by the hour one for each of the work; of servers that stand one that does all of it, and
    perhaps a second one that does some."""
    target: Destination
    beside: Beside = NOTHING_BESIDE

    def central(self, assumed: Assumptions) -> tuple[float, Ints]:
        """Cost of a month, and servers, with each score at its value."""
        needed = np.array([[work.score.value for work in self.works]])
        offered = np.array([[supply.score.value for supply in self.by]])
        (cost,), (servers,) = self.costs(needed, offered, assumed)
        return float(cost), servers

    def costs(self, needed: Floats, offered: Floats, assumed: Assumptions) -> tuple[Floats, Ints]:
        """Monthly costs of all parts, and servers, by draw: `needed` and `offered` are scores by
        draw, of the work and of the offers."""
        if self.target in HOURLY:
            machines, servers = self._by_the_hour(needed, offered)
        else:
            machines, servers = self._standing(needed, offered, assumed)
        others, _ = self.others(servers, assumed)
        return machines + sum(others.values()), servers

    def others(
        self, servers: Ints, assumed: Assumptions
    ) -> tuple[dict[BillPart, Floats], list[BillPart]]:
        """Cost of everything beside the machines, by draw, and the parts without a price there."""
        return beside_costs(
            self.beside,
            [supply.supply for supply in self.by],
            servers,
            assumed.services,
            is_same_provider=self.target in SAME,
            has_services=self.target in HOURLY,
        )

    def idle_ratio(self, servers: Ints) -> float:
        """Share of the score of so many servers that the work does not need on average."""
        needed = sum(work.mean * work.score.value for work in self.works)
        offered = float(servers @ np.array([supply.score.value for supply in self.by]))
        return max(1 - needed / offered, 0.0)

    def _by_the_hour(self, needed: Floats, offered: Floats) -> tuple[Floats, Ints]:
        peaks = np.array([work.peak for work in self.works])
        ram = np.array([work.ram_gib for work in self.works])
        own_ram = np.array([supply.ram_gib for supply in self.by])
        servers = _enough(peaks * needed / offered, peaks * ram / own_ram)
        each = hourly_costs(self.works, self.by, servers, self.target)
        return each.sum(axis=1), servers

    def _standing(
        self, needed: Floats, offered: Floats, assumed: Assumptions
    ) -> tuple[Floats, Ints]:
        """The cheapest number of the second type by draw. It does what it can of the work, in equal
        parts, and the first type the rest."""
        peaks = np.array([work.peak for work in self.works])
        filled = assumed.usable_share(self.target)
        load = needed * peaks / filled
        memory = peaks * np.array([work.ram_gib for work in self.works]) / filled
        first, *second = self.by
        load_left, memory_left = load.sum(axis=1, keepdims=True), memory.sum()
        seconds = np.zeros(1, dtype=np.int64)
        if second:
            can = np.array([second[0].can_do(work, assumed) for work in self.works])
            its_load, its_memory = load[:, can].sum(axis=1, keepdims=True), memory[can].sum()
            seconds = np.arange(MOST_SECOND + 1)
            whole = np.maximum(its_load / offered[:, 1:], its_memory / second[0].ram_gib)
            done = np.minimum(seconds / whole, 1.0)
            load_left, memory_left = load_left - done * its_load, memory_left - done * its_memory
        firsts = _enough(load_left / offered[:, :1], memory_left / first.ram_gib)
        prices = [supply.cost_per_month for supply in self.by]
        if self.target in HARDWARE:
            # The second type is no larger, so that a spare one of the first stands for any server.
            firsts = firsts + assumed.spares
        prices = [price + assumed.staff(self.target) for price in prices]
        costs = firsts * prices[0] + (seconds * prices[1] if second else 0.0)
        best = np.argmin(costs, axis=1)
        rows = np.arange(len(best))
        servers = [firsts[rows, best], seconds[best]]
        return costs[rows, best], np.stack(servers[: len(self.by)], axis=1)


def hourly_costs(
    works: Sequence[Work], by: Sequence[Replacement], servers: Ints, target: Destination
) -> Floats:
    """Monthly costs for each work or, where there is one, each offer: the servers of the peak for
    the share of time that machines ran on average, those that always run by commitment."""
    peaks = np.array([work.peak for work in works])
    ran = servers * np.array([work.mean for work in works]) / peaks
    prices = np.array([replacement.cost_per_month for replacement in by])
    if target is not Destination.COMMITTED:
        return np.asarray(ran * prices)
    committed = np.array(
        [
            replacement.cost_per_month
            if replacement.committed_per_month is None
            else replacement.committed_per_month
            for replacement in by
        ]
    )
    base = np.floor(servers * np.array([work.base for work in works]) / peaks + 1e-9)
    return np.asarray(base * committed + np.maximum(ran - base, 0.0) * prices)


def cheapest(work: Work, offered: Sequence[Replacement], target: Destination) -> Replacement:
    """For one kind of machine, of offers by the hour."""
    scores = np.array([replacement.score.value for replacement in offered])
    ram = np.array([replacement.ram_gib for replacement in offered])
    servers = _enough(work.peak * work.score.value / scores, work.peak * work.ram_gib / ram)
    costs = hourly_costs([work], offered, servers, target)
    return offered[int(np.argmin(costs))]


def _enough(by_score: Floats, by_memory: Floats) -> Ints:
    """Whole servers, at least one; memory is never short."""
    # What a sum of floats is too large counts for none.
    less = np.floor(by_score + 1e-9)
    servers = np.where(less >= by_score * (1 - SLACK), less, less + 1)
    return np.maximum(np.maximum(servers, np.ceil(by_memory - 1e-9)), 1).astype(np.int64)
