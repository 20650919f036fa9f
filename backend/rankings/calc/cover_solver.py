"""The cheapest way to cover demands with whole units of several types, as an integer programme.

HiGHS solves it, with a proof or a bound. It calculates in floats: what it answers is checked here
in whole numbers, and what that costs exactly is for the caller to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf

import highspy

from backend.rankings.calc.pareto import pareto_indexes

# Pairs (index of a type, units of it), by index.
Counts = tuple[tuple[int, int], ...]

# Share of a demand by which HiGHS may miss it; its default of 1e-7 is one server in ten million.
FEASIBILITY = 1e-9
# Share that is asked for in addition where an answer missed a demand all the same.
MARGIN = 1e-6


@dataclass(frozen=True, slots=True)
class TierPiece:
    """A straight piece of the price of a part of a demand that no unit covers.

    `start` and `end` are shares of that demand.
    """

    start: float
    end: float
    start_cost: float
    end_cost: float


@dataclass(frozen=True, slots=True)
class Purchase:
    """A part of a demand that can be bought instead, wherever one unit of the `sellers` is.

    The pieces follow each other from 0 to 1.
    """

    demand: int
    pieces: tuple[TierPiece, ...]
    sellers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CoverProblem:
    """Types with their prices and what one unit gives of each demand, in whole numbers.

    `most` is the number of units allowed. Demands with `purchases` need not be covered. Covers that
    cost more than `ceiling` are of no interest.
    """

    prices: Sequence[float]
    gives: Sequence[tuple[int, ...]]
    demands: tuple[int, ...]
    most: int
    purchases: tuple[Purchase, ...] = ()
    ceiling: float = inf


@dataclass(frozen=True, slots=True)
class Cover:
    """The cheapest cover; `counts` is empty where none is known.

    `is_proven` says that no cover is cheaper, or none exists below the ceiling; otherwise none
    costs less than `floor`.
    """

    counts: Counts
    floor: float
    is_proven: bool


def cheapest_cover(problem: CoverProblem, *, nodes: int, seconds: float) -> Cover:
    """The cheapest cover, after at most so many nodes of the search tree and so much time."""
    answer = _solve(problem, 1.0, nodes, seconds)
    # Floats may round a cover that lacks a little of a demand up to one that holds.
    if not answer.counts or _is_covered(problem, answer.counts):
        return answer
    # With a margin the answer is a cover, only perhaps not the cheapest one: the floor is that of the
    # first.
    second = _solve(problem, 1.0 + MARGIN, nodes, seconds)
    return Cover(second.counts, answer.floor, is_proven=False)


def useful_types(
    prices: Sequence[Decimal] | Sequence[Fraction],
    gives: Sequence[tuple[int, ...]],
    demands: tuple[int, ...],
) -> list[int]:
    """Indexes of the types to which no other is preferable, cheapest first: one that costs no more
    and gives no less of anything, what goes beyond a demand left out. Of equal ones the first."""
    points = [
        (price, *(-min(amount, demand) for amount, demand in zip(given, demands, strict=True)))
        for price, given in zip(prices, gives, strict=True)
    ]
    first: dict[tuple[object, ...], int] = {}
    # A dozen types of hundreds are left, which is what makes the search quick.
    for index in pareto_indexes(points):
        first.setdefault(points[index], index)
    return list(first.values())


def _solve(problem: CoverProblem, share: float, nodes: int, seconds: float) -> Cover:
    """Cover this share of every demand."""
    model = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),  # a web server answers many at once, and HiGHS would take all cores
        # The default stops at a cost within 0.01 % of the best, and that is somebody's money.
        ("mip_rel_gap", 0.0),
        # Half of the time, and nothing that the other heuristics do not see in so small a programme.
        ("mip_heuristic_run_feasibility_jump", False),
        ("primal_feasibility_tolerance", FEASIBILITY),
        ("mip_feasibility_tolerance", FEASIBILITY),
        ("objective_bound", problem.ceiling),
        ("mip_max_nodes", nodes),
        ("time_limit", seconds),
    ):
        model.setOptionValue(option, value)
    units = [
        model.addVariable(0, problem.most, price, highspy.HighsVarType.kInteger)
        for price in problem.prices
    ]
    bought = [_add_purchase(model, purchase, units) for purchase in problem.purchases]
    for n, demand in enumerate(problem.demands):
        # What a unit gives beyond the whole demand is worth nothing; to say so tightens the bound.
        gives = (
            (unit, min(g[n], demand) / demand) for unit, g in zip(units, problem.gives, strict=True)
        )
        shares = [
            item
            for purchase, of in zip(problem.purchases, bought, strict=True)
            if purchase.demand == n
            for item in of
        ]
        row = model.qsum(unit * give for unit, give in gives if give)
        model.addConstr(row + model.qsum(shares) >= share if shares else row >= share)
    model.addConstr(model.qsum(units) <= problem.most)
    model.run()
    return _answer(model, len(units))


def _add_purchase(
    model: highspy.Highs, purchase: Purchase, units: Sequence[highspy.highs.highs_var]
) -> list[highspy.highs.highs_var]:
    """Shares of the demand that are bought, of which one piece is in use."""
    shares, in_use = [], []
    for piece in purchase.pieces:
        # A tier is a straight line with a step at its start; a binary says which tier applies, since prices
        # may fall with volume.
        slope = (piece.end_cost - piece.start_cost) / (piece.end - piece.start)
        is_used = model.addBinary(piece.start_cost - slope * piece.start)
        share = model.addVariable(0, piece.end, slope)
        model.addConstr(share >= piece.start * is_used)
        model.addConstr(share <= piece.end * is_used)
        shares.append(share)
        in_use.append(is_used)
    model.addConstr(model.qsum(in_use) == 1)
    # Nothing is bought where no seller is.
    model.addConstr(model.qsum(shares) <= model.qsum(units[n] for n in purchase.sellers))
    return shares


def _answer(model: highspy.Highs, width: int) -> Cover:
    """HiGHS's values of the first `width` variables."""
    info, status = model.getInfo(), model.getModelStatus()
    if status in {highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kObjectiveBound}:
        return Cover((), info.mip_dual_bound, is_proven=True)
    counts: Counts = ()
    if info.primal_solution_status == highspy.kSolutionStatusFeasible:
        # A time or node limit may leave a cover without a proof.
        amounts = model.getSolution().col_value[:width]
        counts = tuple((i, round(amount)) for i, amount in enumerate(amounts) if round(amount))
    is_proven = status == highspy.HighsModelStatus.kOptimal
    return Cover(counts, info.mip_dual_bound, is_proven)


def _is_covered(problem: CoverProblem, counts: Counts) -> bool:
    taken = {i for i, _ in counts}
    bought = {p.demand for p in problem.purchases if not taken.isdisjoint(p.sellers)}
    return sum(n for _, n in counts) <= problem.most and all(
        sum(n * problem.gives[i][d] for i, n in counts) >= demand
        for d, demand in enumerate(problem.demands)
        if d not in bought
    )
