"""The search for the cheapest cover, against the enumeration of all covers."""

from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.rankings.calc.cover_solver import (
    CoverProblem,
    Purchase,
    TierPiece,
    cheapest_cover,
    useful_types,
)

ENOUGH = {"nodes": 1000, "seconds": 60.0}


def lack_cost(pieces, share):
    """The price of buying this share of the last demand."""
    return min(
        piece.start_cost
        + (piece.end_cost - piece.start_cost) * (share - piece.start) / (piece.end - piece.start)
        for piece in pieces
        if piece.start <= share <= piece.end
    )


def cost_of(problem, numbers):
    """The cost of so many units of each type, None where they do not cover the demands."""
    sums = [sum(n * g[d] for n, g in zip(numbers, problem.gives, strict=True))
            for d in range(len(problem.demands))]  # fmt: skip
    missing = [max(0, demand - got) for demand, got in zip(problem.demands, sums, strict=True)]
    cost = sum(n * price for n, price in zip(numbers, problem.prices, strict=True))
    for purchase in problem.purchases:
        if any(numbers[seller] for seller in purchase.sellers):
            cost += lack_cost(purchase.pieces, missing[-1] / problem.demands[-1])
            missing[-1] = 0
    return None if any(missing) or sum(numbers) > problem.most else cost


def costs_of_all(problem):
    """The costs of all covers, cheapest first."""
    everything = product(range(problem.most + 1), repeat=len(problem.prices))
    return sorted(cost for numbers in everything if (cost := cost_of(problem, numbers)) is not None)


def units(problem, cover):
    numbers = dict(cover.counts)
    return [numbers.get(i, 0) for i in range(len(problem.prices))]


@st.composite
def problems(draw):
    size, width = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    amounts = st.integers(0, 20)
    costs = st.integers(0, 30)
    purchases = ()
    if draw(st.booleans()):
        middle, end = sorted((draw(costs), draw(costs)))
        bound = draw(st.integers(1, 9)) / 10
        pieces = (TierPiece(0.0, bound, 0.0, middle), TierPiece(bound, 1.0, middle, end))
        sellers = draw(st.sets(st.integers(0, size - 1), min_size=1))
        purchases = (Purchase(width - 1, pieces, tuple(sorted(sellers))),)
    return CoverProblem(
        prices=draw(st.lists(st.integers(1, 40), min_size=size, max_size=size)),
        gives=[tuple(draw(amounts) for _ in range(width)) for _ in range(size)],
        demands=tuple(draw(st.integers(1, 60)) for _ in range(width)),
        most=draw(st.integers(1, 5)),
        purchases=purchases,
    )


@given(problems())
def test_cover_is_the_cheapest_of_all_covers(problem):
    cover = cheapest_cover(problem, **ENOUGH)
    everything = costs_of_all(problem)
    assert cover.is_proven
    if everything:
        assert cost_of(problem, units(problem, cover)) == pytest.approx(everything[0], abs=1e-6)
        assert cover.floor == pytest.approx(everything[0], abs=1e-6)
    else:
        assert cover.counts == ()


@given(problems(), st.integers(0, 2))
def test_floor_is_below_every_cover_when_the_search_ends_early(problem, nodes):
    cover = cheapest_cover(problem, nodes=nodes, seconds=60.0)
    everything = costs_of_all(problem)
    if everything:
        assert cover.floor <= everything[0] + 1e-6
    if cover.counts:
        assert cost_of(problem, units(problem, cover)) is not None


def test_cover_of_three_types_beats_every_pair():
    # one unit of each type gives 10 of its own demand; nothing else covers
    gives = [(10, 0, 0), (0, 10, 0), (0, 0, 10)]
    cover = cheapest_cover(CoverProblem([1.0, 2.0, 3.0], gives, (10, 10, 20), 4), **ENOUGH)
    assert (cover.counts, cover.floor, cover.is_proven) == (((0, 1), (1, 1), (2, 2)), 9, True)


def test_no_cover_is_proven_when_the_units_do_not_suffice():
    cover = cheapest_cover(CoverProblem([1.0, 1.0], [(5,), (4,)], (21,), 4), **ENOUGH)
    assert (cover.counts, cover.is_proven) == ((), True)


def test_large_amounts_are_covered_to_the_last_unit():
    # One part in 10^13 is missing where 999 are taken; no float tolerance may let that pass.
    problem = CoverProblem([1.0, 2000.0], [(10**10,), (10**13,)], (10**13 + 1,), 2000)
    cover = cheapest_cover(problem, **ENOUGH)
    assert cost_of(problem, units(problem, cover)) == 1001


def test_search_of_many_equal_choices_is_proven():
    # Thirty types of almost the same price for what they give: millions of covers are close.
    gives = [(100 + 7 * i, 300 - 9 * i) for i in range(30)]
    prices = [sum(given) + i % 5 / 100 for i, given in enumerate(gives)]
    problem = CoverProblem(prices, gives, (5000, 4000), 100)
    early, late = (cheapest_cover(problem, nodes=n, seconds=60.0) for n in (1, 1000))
    assert late.is_proven
    assert not early.is_proven
    assert early.floor <= late.floor <= cost_of(problem, units(problem, early)) + 1e-6


def test_search_without_time_names_no_cover():
    gives = [(100 + 7 * i, 300 - 9 * i) for i in range(30)]
    problem = CoverProblem([float(sum(given)) for given in gives], gives, (5000, 4000), 100)
    cover = cheapest_cover(problem, nodes=1000, seconds=0.0)
    assert (cover.counts, cover.is_proven) == ((), False)


@pytest.mark.parametrize(
    ("prices", "gives", "kept"),
    [
        # dearer and no better; better by what exceeds the demand of 10 only; equal
        ([1, 2], [(5, 5), (5, 4)], [0]),
        ([1, 2], [(10, 5), (99, 5)], [0]),
        ([2, 2], [(5, 5), (5, 5)], [0]),
        ([2, 2, 1], [(5, 5), (6, 5), (1, 1)], [2, 1]),
        ([1, 2, 3, 4], [(5, 1), (1, 5), (0, 5), (4, 1)], [0, 1]),
    ],
)
def test_useful_types_keep_what_no_other_is_preferable_to(prices, gives, kept):
    assert useful_types([Decimal(p) for p in prices], gives, (10, 10)) == kept
