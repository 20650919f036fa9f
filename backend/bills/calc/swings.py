"""Sensitivity of a move's cost: each input alone at its low and at its high end."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from backend.bills.calc.moves import Relocation
from backend.bills.calc.replacing import HARDWARE, Assumptions, Figure

# How far a price is moved to show what the cost depends on: what a year may bring or a quote takes
# off.
PRICE_SWING = 0.10
STAFF_SWING = 0.5


class Input(StrEnum):
    """An input of an alternative's cost."""

    SCORE = "score"
    PRICE = "price"
    STAFF = "staff"
    SPARES = "spares"


@dataclass(frozen=True)
class Swing:
    """An input at its low and at its high end, all others as they are."""

    input: Input
    name: str
    """Type or offer; "" for what holds of all servers."""
    low: float
    high: float
    """The ends: scores, factors of prices and of staff, spare servers."""
    cost_low: float
    cost_high: float
    """A month, with the input at either end."""


def swings(plan: Relocation, assumed: Assumptions) -> tuple[Swing, ...]:
    """Swings of the cost, the largest first; inputs that do not move it are left out."""
    moved = sorted(
        _swings_of(plan, assumed), key=lambda swing: -abs(swing.cost_high - swing.cost_low)
    )
    return tuple(swing for swing in moved if swing.cost_low != swing.cost_high)


def _swings_of(plan: Relocation, assumed: Assumptions) -> Iterator[Swing]:
    def cost(plan: Relocation, assumed: Assumptions = assumed) -> float:
        return plan.central(assumed)[0]

    # A type that stays the same has one score, so both sides of the comparison move with it.
    types = {(work.provider, work.name): work.score for work in plan.works}
    types |= {(supply.provider, supply.name): supply.score for supply in plan.by}
    for key, score in types.items():
        low, high = (cost(_with_score(plan, key, end)) for end in (score.low, score.high))
        yield Swing(Input.SCORE, key[1], score.low, score.high, low, high)
    for name in dict.fromkeys(supply.name for supply in plan.by):
        ends = (1 - PRICE_SWING, 1 + PRICE_SWING)
        low, high = (cost(_with_price(plan, name, factor)) for factor in ends)
        yield Swing(Input.PRICE, name, *ends, low, high)
    if assumed.staff(plan.target):
        ends = (1 - STAFF_SWING, 1 + STAFF_SWING)
        staff = [replace(assumed, staff_per_server=assumed.staff_per_server * end) for end in ends]
        yield Swing(Input.STAFF, "", *ends, *(cost(plan, assumption) for assumption in staff))
    if plan.target in HARDWARE:
        spares = (max(assumed.spares - 1, 0), assumed.spares + 1)
        counts = [replace(assumed, spares=assumption) for assumption in spares]
        yield Swing(Input.SPARES, "", *spares, *(cost(plan, assumption) for assumption in counts))


def _with_score(plan: Relocation, key: tuple[str, str], value: float) -> Relocation:
    score = Figure(value, value, value)
    return replace(
        plan,
        works=tuple(
            replace(work, score=score) if (work.provider, work.name) == key else work
            for work in plan.works
        ),
        by=tuple(
            replace(supply, score=score) if (supply.provider, supply.name) == key else supply
            for supply in plan.by
        ),
    )


def _with_price(plan: Relocation, name: str, factor: float) -> Relocation:
    return replace(
        plan,
        by=tuple(supply.times(factor) if supply.name == name else supply for supply in plan.by),
    )
