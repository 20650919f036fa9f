"""The search for the cheapest cover, against the enumeration of all covers."""

from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain import covering
from backend.domain.covering import Problem, cheapest_cover, useful_types

MANY = 10**6


def cost_under(prices, gives, demands, lack_price=None):
    def cost(counts):
        total = sum((Decimal(n) * prices[i] for i, n in counts), Decimal(0))
        if lack_price is None:
            return total
        covered = sum(n * gives[i][-1] for i, n in counts)
        return total + lack_price * max(0, demands[-1] - covered)

    return cost


def all_covers(prices, gives, demands, most, lack_price=None):
    """Every cover with at most so many units, as (cost, counts), cheapest first."""
    cost = cost_under(prices, gives, demands, lack_price)
    firm = len(demands) - (lack_price is not None)
    found = []
    for numbers in product(range(most + 1), repeat=len(prices)):
        if 0 < sum(numbers) <= most:
            sums = [sum(n * g[d] for n, g in zip(numbers, gives, strict=True)) for d in range(firm)]
            if all(total >= demand for total, demand in zip(sums, demands[:firm], strict=True)):
                counts = tuple((i, n) for i, n in enumerate(numbers) if n)
                found.append((cost(counts), counts))
    return sorted(found)


@st.composite
def problems(draw):
    size, width = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    amounts = st.integers(0, 20)
    prices = draw(st.lists(st.integers(1, 40), min_size=size, max_size=size))
    gives = [tuple(draw(amounts) for _ in range(width)) for _ in range(size)]
    demands = tuple(draw(st.integers(1, 60)) for _ in range(width))
    is_soft = width > 1 and draw(st.booleans())
    lack_price = Decimal(draw(st.integers(0, 30))) / 10 if is_soft else None
    return [Decimal(p) for p in prices], gives, demands, draw(st.integers(1, 5)), lack_price


@given(problems(), st.booleans())
def test_cover_is_the_cheapest_of_all_covers(problem, has_ceiling):
    prices, gives, demands, most, lack_price = problem
    everything = all_covers(prices, gives, demands, most, lack_price)
    single = min((cost for cost, counts in everything if len(counts) == 1), default=None)
    kept = useful_types(prices, gives, demands)
    prices, gives = [prices[i] for i in kept], [gives[i] for i in kept]
    soft = None if lack_price is None else float(lack_price)
    found = cheapest_cover(
        Problem([float(p) for p in prices], gives, demands, most, soft),
        cost_under(prices, gives, demands, lack_price),
        single if has_ceiling else None,
        steps=MANY,
    )
    assert found.is_proven
    best = min((cost for cost in (found.cost, single) if cost is not None), default=None)
    assert best == (everything[0][0] if everything else None)
    if found.counts:
        assert len(found.counts) > 1
        covers = all_covers(prices, gives, demands, most, lack_price)
        assert (found.cost, found.counts) in covers


@given(problems(), st.integers(0, 9))
def test_floor_is_below_every_cover_when_the_steps_run_out(problem, steps):
    prices, gives, demands, most, lack_price = problem
    everything = all_covers(prices, gives, demands, most, lack_price)
    single = min((cost for cost, counts in everything if len(counts) == 1), default=None)
    found = cheapest_cover(
        Problem(
            [float(p) for p in prices],
            gives,
            demands,
            most,
            None if lack_price is None else float(lack_price),
        ),
        cost_under(prices, gives, demands, lack_price),
        single,
        steps=steps,
    )
    best = everything[0][0] if everything else None
    if found.is_proven:
        assert best == min(
            (cost for cost in (found.cost, single) if cost is not None), default=None
        )
    elif everything:
        assert found.floor <= float(best) * (1 + 1e-9)


def test_cover_of_two_demands_takes_one_of_each():
    # 10 CPU and 10 GB: one CPU machine (9, 1) and one memory machine (1, 9) at 3 each; two of
    # either give only 2 of the other, and the balanced one (5, 5) costs 4.
    found = cheapest_cover(
        Problem([3.0, 3.0, 4.0], [(9, 1), (1, 9), (5, 5)], (10, 10), 20),
        cost_under([Decimal(3), Decimal(3), Decimal(4)], [(9, 1), (1, 9), (5, 5)], (10, 10)),
        Decimal(8),
        steps=MANY,
    )
    assert (found.cost, found.counts, found.is_proven) == (6, ((0, 1), (1, 1)), True)


def test_cover_of_three_types_beats_every_pair():
    # one unit of each type gives 10 of its own demand; nothing else covers
    gives = [(10, 0, 0), (0, 10, 0), (0, 0, 10)]
    prices = [Decimal(1), Decimal(2), Decimal(3)]
    found = cheapest_cover(
        Problem([1.0, 2.0, 3.0], gives, (10, 10, 20), 4),
        cost_under(prices, gives, (10, 10, 20)),
        None,
        steps=MANY,
    )
    assert (found.cost, found.counts) == (9, ((0, 1), (1, 1), (2, 2)))


def test_cover_of_three_types_is_proven_cheapest_by_trying_all():
    prices = [Decimal(p) for p in (8, 5, 8, 12, 5)]
    gives = [(3, 4, 3), (3, 8, 2), (1, 8, 0), (7, 2, 3), (1, 0, 4)]
    demands = (18, 19, 17)
    found = cheapest_cover(
        Problem([float(p) for p in prices], gives, demands, 12),
        cost_under(prices, gives, demands),
        None,
        steps=MANY,
    )
    everything = all_covers(prices, gives, demands, 7)
    assert (found.cost, found.counts) in everything
    assert (found.cost, found.is_proven) == (everything[0][0], True)


def test_no_cover_is_proven_when_the_units_do_not_suffice():
    found = cheapest_cover(
        Problem([1.0, 1.0], [(5,), (4,)], (21,), 4), lambda _: Decimal(1), None, steps=MANY
    )
    assert (found.counts, found.cost, found.is_proven) == ((), None, True)


def test_search_admits_that_it_gave_up():
    # Thirty types of almost the same price for what they give: millions of covers are close.
    gives = [(100 + 7 * i, 300 - 9 * i) for i in range(30)]
    prices = [Decimal(sum(given)) + Decimal(i % 5) / 100 for i, given in enumerate(gives)]
    cost = cost_under(prices, gives, (5000, 4000))
    problem = Problem([float(p) for p in prices], gives, (5000, 4000), 100)
    short, long = (cheapest_cover(problem, cost, None, steps=n) for n in (2_000, 20_000))
    assert not short.is_proven
    assert short.floor <= long.floor <= float(long.cost) <= float(short.cost)


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
def test_useful_types_are_those_that_no_other_is_preferable_to(prices, gives, kept):
    assert useful_types([Decimal(p) for p in prices], gives, (10, 10)) == kept


def test_dual_prices_stay_valid_when_the_simplex_stops_early(monkeypatch):
    monkeypatch.setattr(covering, "_PIVOTS", 1)
    gives = [(9, 1), (1, 9), (5, 5)]
    prices = [Decimal(3), Decimal(3), Decimal(4)]
    found = cheapest_cover(
        Problem([3.0, 3.0, 4.0], gives, (10, 10), 20),
        cost_under(prices, gives, (10, 10)),
        None,
        steps=MANY,
    )
    assert (found.cost, found.is_proven) == (6, True)
