"""The cheapest way to cover demands with whole units of several types, by branch and bound.

What a partial choice still lacks costs at least its worth at the prices of the demands, which the
dual of the linear programme gives. A unit raises that bound by its own price less the worth of what
it covers; the least that this can be is its reduced cost. Types are tried in the order of reduced
cost, so the first one that is too dear ends the row. The bound that a choice may reach is raised
step by step, so that little is tried in vain before a cover is found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from operator import mul, sub
from typing import Optional

from backend.domain.pareto import undominated

Counts = tuple[tuple[int, int], ...]
"""Pairs (index of a type, units of it), by index."""
Chosen = tuple[Optional["Chosen"], int, int]
"""What was chosen before, then a place in the order and the units of it."""

SAME_COST_RATIO = 1e-9
"""A cover that is cheaper by less than this is not looked for: it is what floats can tell."""
FILLED_EVERY = 16
"""One in so many choices that lead no further within a round is completed with one type."""
FIRST_GAP = 0.001
"""Share of the root bound by which the first round may exceed it; every round doubles it."""
_PIVOTS = 200
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Problem:
    """Types with their prices and what one unit gives of each demand; all but the prices, which
    only guide the search, is whole.

    `most` is the number of units allowed. With `lack_price` the last demand need not be covered:
    what lacks costs at least so much for each unit of it.
    """

    prices: Sequence[float]
    gives: Sequence[tuple[int, ...]]
    demands: tuple[int, ...]
    most: int
    lack_price: float | None = None

    @property
    def firm(self) -> int:
        """How many of the demands must be covered."""
        return len(self.demands) - (self.lack_price is not None)


@dataclass(frozen=True, slots=True)
class Cover:
    """The cheapest cover found of two or more types; `counts` is empty where none below the ceiling
    was. `is_proven` says that no cover is cheaper; where that is not known, none costs less than
    `floor`."""

    counts: Counts
    cost: Decimal | None
    floor: float
    is_proven: bool


def cheapest_cover(
    problem: Problem, cost: Callable[[Counts], Decimal], ceiling: Decimal | None, *, steps: int
) -> Cover:
    """The cheapest cover where that is of two or more types, after about `steps` units were tried.

    `ceiling` is the cost of the cheapest one of a single type, None where there is none. `cost`
    gives the exact cost of a cover.
    """
    search = _Search(problem, cost, ceiling, steps)
    is_proven = search.is_ended()
    return Cover(search.counts, search.cost, search.floor, is_proven)


def useful_types(
    prices: Sequence[Decimal], gives: Sequence[tuple[int, ...]], demands: tuple[int, ...]
) -> list[int]:
    """Indexes of the types to which no other is preferable, cheapest first: one that costs no more
    and gives no less of anything, what goes beyond a demand left out. Of equal ones the first."""
    points = [
        (price, *(-min(amount, demand) for amount, demand in zip(given, demands, strict=True)))
        for price, given in zip(prices, gives, strict=True)
    ]
    first: dict[tuple[object, ...], int] = {}
    for index in undominated(points):
        first.setdefault(points[index], index)
    return list(first.values())


Node = tuple[float, int, tuple[int, ...], int, Chosen | None]
"""Bound, place of the first type that may follow, what lacks, units left, what was chosen."""


class _Search:
    """One search; `below` is the cost that is to be beaten."""

    def __init__(
        self,
        problem: Problem,
        cost: Callable[[Counts], Decimal],
        ceiling: Decimal | None,
        steps: int,
    ) -> None:
        self.problem, self.cost_of, self.steps = problem, cost, steps
        self.fills = steps // 2
        """Steps that may go into completing a choice with one type, so that a cover is known."""
        self.dead_ends = 0
        self.counts: Counts = ()
        self.cost: Decimal | None = None
        self.below = inf if ceiling is None else float(ceiling) * (1 - SAME_COST_RATIO)
        self.worth, place_price = _dual_prices(problem)
        reduced = [
            price + place_price - self._worth_of(given, problem.demands)
            for price, given in zip(problem.prices, problem.gives, strict=True)
        ]
        self.order = sorted(range(len(reduced)), key=lambda i: (reduced[i], i))
        self.reduced = [reduced[i] for i in self.order]
        self.raised = [problem.prices[i] + place_price for i in self.order]
        self.gives = [problem.gives[i] for i in self.order]
        self.tops = _tops(self.gives, len(problem.demands))
        self.floor = self._worth_of(problem.demands, problem.demands) - place_price * problem.most
        self.root: Node = (self.floor, 0, problem.demands, problem.most, None)
        self.passed_over = inf
        """The least bound that a round met and did not follow."""

    def is_ended(self) -> bool:
        """Searches; False when the steps were used up before the end."""
        self._pairs()
        gap = max(self.floor, min(self.problem.prices)) * FIRST_GAP
        while self.floor < self.below:
            self.passed_over = inf
            if not self._is_searched(max(self.root[0], self.floor) + gap):
                return False
            self.floor = self.passed_over
            gap *= 2
        return True

    def _worth_of(self, given: tuple[int, ...], lacks: tuple[int, ...]) -> float:
        """What a unit covers of what lacks, at the prices of the demands."""
        worth: float = sum(map(mul, self.worth, map(min, given, lacks)))
        return worth

    def _is_searched(self, cut: float) -> bool:
        """Depth first through everything whose bound is below the cut."""
        stack = [self.root]
        while stack:
            bound, start, lacks, left, chosen = stack.pop()
            limit = min(cut, self.below)
            if bound >= limit:
                self.passed_over = min(self.passed_over, bound)
                continue
            if self.steps < 0:
                return False
            children: list[Node] = []
            for place, higher, rest in self._tried(bound, start, lacks, limit):
                so_far = (chosen, place, 1)
                if not any(rest[: self.problem.firm]):
                    self._tell(so_far)
                if left > 1 and any(rest) and self._is_reachable(rest, place, left - 1):
                    children.append((higher, place, rest, left - 1, so_far))
            if not children:
                self.dead_ends += 1
                if self.dead_ends % FILLED_EVERY == 0:
                    self._fill(chosen, bound, lacks, left)
            stack += sorted(children, key=lambda child: -child[0])
        return True

    def _tried(
        self, bound: float, start: int, lacks: tuple[int, ...], limit: float
    ) -> Iterator[tuple[int, float, tuple[int, ...]]]:
        """Units that may come next: (place of the type, bound with it, what then lacks)."""
        worth, raised, gives, reduced = self.worth, self.raised, self.gives, self.reduced
        for place in range(start, len(gives)):
            if bound + reduced[place] >= limit:
                self.passed_over = min(self.passed_over, bound + reduced[place])
                return
            self.steps -= 1
            covered = tuple(map(min, gives[place], lacks))
            higher = bound + raised[place] - sum(map(mul, worth, covered))
            if higher >= limit:
                self.passed_over = min(self.passed_over, higher)
            else:
                yield place, higher, tuple(map(sub, lacks, covered))

    def _is_reachable(self, rest: tuple[int, ...], place: int, left: int) -> bool:
        """Whether the units left could cover it if each gave the most of everything."""
        tops = self.tops[place]
        return all(tops[i] * left >= rest[i] for i in range(self.problem.firm))

    def _pairs(self) -> None:
        """The cheapest cover of two types, some of one and as many as it takes of the other."""
        worth_of_all = self.root[0]
        for first in range(len(self.gives)):
            bound, lacks, left, units = worth_of_all, self.root[2], self.problem.most, 0
            while left > 1 and bound < self.below and any(lacks[: self.problem.firm]):
                units, left = units + 1, left - 1
                given = self.gives[first]
                bound += self.raised[first] - self._worth_of(given, lacks)
                lacks = tuple(map(sub, lacks, map(min, given, lacks)))
                self._fill((None, first, units), bound, lacks, left)

    def _fill(self, chosen: Chosen | None, bound: float, lacks: tuple[int, ...], left: int) -> None:
        """Completes a choice with units of one type, of each in turn."""
        firm = self.problem.firm
        for place, reduced in enumerate(self.reduced):
            if bound + reduced >= self.below or self.fills <= 0:
                return
            self.fills, self.steps = self.fills - 1, self.steps - 1
            needs = [
                (lack, g) for lack, g in zip(lacks[:firm], self.gives[place], strict=False) if lack
            ]
            if needs and all(g for _, g in needs):
                units = max(-(-lack // g) for lack, g in needs)
                if units <= left:
                    self._tell((chosen, place, units))

    def _tell(self, chosen: Chosen) -> None:
        tally: dict[int, int] = {}
        rest: Chosen | None = chosen
        while rest is not None:
            rest, place, units = rest
            index = self.order[place]
            tally[index] = tally.get(index, 0) + units
        if len(tally) > 1:
            counts = tuple(sorted(tally.items()))
            cost = self.cost_of(counts)
            if float(cost) < self.below:
                self.counts, self.cost = counts, cost
                self.below = float(cost) * (1 - SAME_COST_RATIO)


def _tops(gives: Sequence[tuple[int, ...]], width: int) -> list[tuple[int, ...]]:
    """The most that a unit of this or a later type gives of each demand."""
    tops = [(0,) * width]
    for given in reversed(gives):
        tops.append(tuple(map(max, given, tops[-1])))
    return tops[:0:-1]


def _dual_prices(problem: Problem) -> tuple[list[float], float]:
    """The worth of one unit of each demand, and of one place among `most`; never too high.

    Simplex on the dual: it starts with nothing being worth anything, and every step on the way is
    a valid answer, so it may stop early.
    """
    sizes = [float(demand) for demand in problem.demands]
    rows = [
        [*(min(g / size, 1.0) for g, size in zip(given, sizes, strict=True)), -1.0, price]
        for price, given in zip(problem.prices, problem.gives, strict=True)
    ]
    if problem.lack_price is not None:
        only_last = [0.0] * problem.firm
        rows.append([*only_last, 1.0, 0.0, problem.lack_price * sizes[-1]])
    found = _maximum([1.0] * len(sizes) + [-float(problem.most)], [list(row) for row in rows])
    place_price = found.pop()
    if problem.lack_price is not None:
        found[-1] = min(found[-1], rows[-1][-1])
    # What rounding let through is made good by the price of a place.
    for row in rows[: len(problem.prices)]:
        excess = sum(f * share for f, share in zip(found, row, strict=False)) - row[-1]
        place_price = max(place_price, excess)
    return [f / size for f, size in zip(found, sizes, strict=True)], place_price


def _maximum(gains: list[float], rows: list[list[float]]) -> list[float]:
    """Non-negative x with the greatest gains · x under rows (coefficients, last the limit ≥ 0).

    Dictionary simplex; stops early where the gain has no end. Changes the rows.
    """
    width = len(gains)
    is_in: list[int | None] = [None] * len(rows)  # which x each row determines
    free: list[int | None] = list(range(width))
    for _ in range(_PIVOTS):
        column = max(range(width), key=gains.__getitem__)
        leaving = min(
            (i for i, row in enumerate(rows) if row[column] > _TINY),
            key=lambda i: rows[i][-1] / rows[i][column],
            default=None,
        )
        if gains[column] <= _TINY or leaving is None:
            break
        _pivot(gains, rows, leaving, column)
        is_in[leaving], free[column] = free[column], is_in[leaving]
    found = [0.0] * width
    for variable, row in zip(is_in, rows, strict=True):
        if variable is not None:
            found[variable] = max(0.0, row[-1])
    return found


def _pivot(gains: list[float], rows: list[list[float]], leaving: int, column: int) -> None:
    chosen = rows[leaving]
    scale = 1 / chosen[column]
    chosen[:] = [value * scale for value in chosen]
    chosen[column] = scale
    for row in [*(row for row in rows if row is not chosen), gains]:
        factor = row[column]
        if factor:
            row[column] = 0.0
            row[:] = [a - factor * b for a, b in zip(row, chosen, strict=False)]
