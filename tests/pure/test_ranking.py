from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.measure.metrics import metric
from backend.measure.stats import summary_of_source
from backend.rankings.calc import ranking
from tests.pure import candidates as lists
from tests.pure.candidates import RankedOffer

CMIPS = metric("cmips_score")
LATENCY = metric("memory_latency_ns")
PASSMARK = metric("passmark_score")


def offer(offer_id, score, price, sd=None, **more):
    amount = None if price is None else float(price)
    summary = summary_of_source(float(score), sd, None, between_instance_cv=0.05)
    return RankedOffer(offer_id=offer_id, summary=summary, price=amount, **more)


def ranked(offers, measured):
    """Candidate, value per cost and standing of each as one row."""
    given = lists.ranking_input(offers, measured)
    values = dict(zip([one.offer_id for one in offers], given.value.tolist(), strict=True))
    return [
        SimpleNamespace(candidate=one, value_per_cost=values[one.offer_id], **vars(standing))
        for one, standing in lists.ranked(offers, measured)
    ]


def ids(rows):
    return [row.candidate.offer_id for row in rows]


@st.composite
def candidates(draw, max_size=12):
    """Small sets with many equal scores and prices, some unknown, some disturbed."""
    count = draw(st.integers(0, max_size))
    return [
        offer(
            f"offer-{number}",
            draw(st.integers(1, 6)) * 100,
            draw(st.none() | st.sampled_from(["0.1", "0.2", "0.3", "0.7"])),
            draw(st.none() | st.sampled_from([0.0, 0.02, 0.1])),
            is_unfit=draw(st.booleans() if number % 4 == 3 else st.just(False)),
        )
        for number in range(count)
    ]


metrics = st.sampled_from([CMIPS, LATENCY])


# --- worked examples ---


def test_ranked_orders_by_score_over_price():
    # PassMark per EUR: 3459/55 = 62.89, 4827/94 = 51.35, 9459/216 = 43.79
    rows = ranked(
        [offer("e3", 9459, "216"), offer("g3420", 3459, "55"), offer("i3", 4827, "94")], PASSMARK
    )
    assert ids(rows) == ["g3420", "i3", "e3"]
    assert [round(row.value_per_cost, 2) for row in rows] == [62.89, 51.35, 43.79]
    assert [row.rank for row in rows] == [1, 2, 3]
    assert [row.pareto for row in rows] == [True, True, True]


def test_ranked_turns_a_lower_score_into_more_value():
    # 1/(100 × 0.1) = 0.1 against 1/(80 × 0.2) = 0.0625
    rows = ranked([offer("fast", 80, "0.2"), offer("slow", 100, "0.1")], LATENCY)
    assert [(row.candidate.offer_id, row.value_per_cost) for row in rows] == [
        ("slow", pytest.approx(0.1)),
        ("fast", pytest.approx(0.0625)),
    ]
    assert [row.pareto for row in rows] == [True, True]


def test_ranked_takes_the_interval_of_the_value_from_the_score():
    of = [offer("a", 100, "0.5", sd=0.05)]
    higher, lower = (lists.ranking_input(of, measured) for measured in (PASSMARK, LATENCY))
    # 100 × (1 ∓ 0.098) / 0.5
    assert (higher.low[0], higher.high[0]) == pytest.approx((180.4, 219.6))
    # 1 / (109.8 × 0.5) and 1 / (90.2 × 0.5)
    assert (lower.low[0], lower.high[0]) == pytest.approx((1 / 54.9, 1 / 45.1))


def test_ranked_derived_offer_stands_by_the_lower_end_of_its_value():
    # 120 ± 9.8 % · 2 sd: its lower end 120 × (1 − 0.196) = 96.5 lies below the measured 100.
    derived = offer("a", 120, "1", sd=0.1, is_derived=True)
    rows = ranked([derived, offer("b", 100, "1"), offer("c", 90, "1")], CMIPS)
    assert [(row.candidate.offer_id, row.rank) for row in rows] == [("b", 1), ("a", 2), ("c", 3)]
    assert ids(ranked([replace(derived, is_derived=False), *rows_of("b", 100)], CMIPS)) == [
        "a",
        "b",
    ]


def rows_of(name, score):
    return [offer(name, score, "1")]


def test_ranked_offers_with_one_source_figure_tie_at_equal_prices_alone():
    """N17: lots with one processor model share its figure; the cheaper one is better for certain."""
    prices = ("43.57", "44.69", "44.69", "45.81")
    lots = [offer(f"lot-{n}", 100, price, source_figure=3) for n, price in enumerate(prices)]
    rows = ranked([*lots, offer("other", 100, "45")], CMIPS)
    found = {row.candidate.offer_id: row for row in rows}
    assert [found[f"lot-{n}"].tie_group for n in range(4)] == [1, 2, 2, 3]
    # The other offer's own error, 1.96 · √2 · 0.05, leaves it open against all of them.
    assert [(found[f"lot-{n}"].rank_low, found[f"lot-{n}"].rank_high) for n in range(4)] == [
        (1, 2), (2, 4), (2, 4), (4, 5),
    ]  # fmt: skip
    assert (found["other"].rank_low, found["other"].rank_high) == (1, 5)


def test_ranked_leader_is_alone_in_lists_of_any_length():
    """N16: 95 % intervals that do not overlap stood in one tie group of a list of 1,572."""
    leader = offer("leader", 978.7, "1", sd=0.1)
    # 1.96 · √(0.1² + 0.05²) = 0.22: below 978.7 · exp(−0.24) = 770 everything is surely below.
    others = [offer(f"n-{n:04}", 770 - n / 10, "1") for n in range(1500)]
    rows = ranked([leader, *others], CMIPS)
    assert (rows[0].rank_low, rows[0].rank_high, rows[0].tie_group) == (1, 1, 1)
    assert rows[1].tie_group == 2


def test_ranked_gives_equal_values_one_rank_and_the_order_of_their_ids():
    rows = ranked([offer("c", 200, "2"), offer("b", 100, "1"), offer("a", 50, "1")], CMIPS)
    assert [(row.candidate.offer_id, row.rank) for row in rows] == [("b", 1), ("c", 1), ("a", 3)]
    assert [(row.rank_low, row.rank_high) for row in rows] == [(1, 2), (1, 2), (3, 3)]
    assert [row.tie_group for row in rows] == [1, 1, 2]


def test_ranked_takes_no_single_figure_for_certain():
    """W2: one sample ranked first (1–1) before the well measured offer 2 % below it."""
    rows = ranked([offer("lucky", 102, "1"), offer("measured", 100, "1", sd=0.01)], CMIPS)
    assert [(row.rank_low, row.rank_high) for row in rows] == [(1, 2), (1, 2)]
    assert [row.tie_group for row in rows] == [1, 1]


def test_ranked_ties_offers_whose_intervals_overlap():
    rows = ranked(
        [offer("a", 101, "1", sd=0.02), offer("b", 100, "1", sd=0.02), offer("c", 50, "1")], CMIPS
    )
    assert [row.tie_group for row in rows] == [1, 1, 2]
    assert [(row.rank_low, row.rank_high) for row in rows] == [(1, 2), (1, 2), (3, 3)]


def test_ranked_lists_a_disturbed_offer_last_without_rank():
    busy = offer("busy", 900, "0.1", is_unfit=True)
    rows = ranked([busy, offer("calm", 100, "0.1"), offer("free", 5000, None)], CMIPS)
    assert ids(rows) == ["calm", "free", "busy"]
    last = rows[2]
    assert last.candidate.score == 900
    empty = [last.rank, last.rank_low, last.rank_high, last.tie_group, last.pareto]
    assert empty == [None] * 5
    assert np.isnan(last.value_per_cost)
    assert (rows[0].rank, rows[0].pareto) == (1, True)


def test_ranked_lists_unpriced_offers_by_score_with_the_reason():
    rows = ranked(
        [
            offer("b", 10, None),
            offer("a", 10, None),
            offer("c", 30, None),
            offer("d", 1, "9"),
        ],
        CMIPS,
    )
    assert ids(rows) == ["d", "c", "a", "b"]
    assert ids(ranked([offer("x", 20, None), offer("y", 10, None)], LATENCY)) == ["y", "x"]


def test_ranked_pareto_keeps_equal_points_and_drops_the_dominated():
    rows = ranked(
        [
            offer("cheap", 100, "1"),
            offer("twin", 100, "1"),
            offer("dear", 100, "2"),
            offer("weak", 90, "1"),
            offer("best", 150, "3"),
            offer("between", 140, "3"),
        ],
        CMIPS,
    )
    assert {row.candidate.offer_id for row in rows if row.pareto} == {"cheap", "twin", "best"}


def test_ranked_lists_offers_without_a_score_last_by_their_ids():
    blank = [RankedOffer(offer_id=name, summary=None, price=None) for name in "zy"]
    rows = lists.ranked([*blank, replace(offer("busy", 9, "1"), is_unfit=True)], CMIPS)
    assert [one.offer_id for one, _ in rows] == ["busy", "y", "z"]


def test_ranked_of_nothing_is_empty():
    assert ranked([], CMIPS) == []


def test_prices_that_print_alike_take_one_rank():
    near, far = 1 + 1e-14, 1 + 1e-10
    rows = ranked([offer("a", 100, far), offer("b", 100, near), offer("c", 100, 1)], CMIPS)
    assert [(row.candidate.offer_id, row.rank) for row in rows] == [("b", 1), ("c", 1), ("a", 3)]
    assert [row.pareto for row in rows] == [True, True, False]


def test_standings_of_some_rows_stand_as_they_did():
    offers = [offer(name, 100, price) for name, price in (("a", "3"), ("b", "1"), ("c", "2"))]
    made = ranking.standings(lists.ranking_input(offers, CMIPS), CMIPS)
    some = made.at(np.array([2, 0]))
    assert some.order.tolist() == [0, 1]
    assert [some.standing(n) for n in (0, 1)] == [made.standing(n) for n in (2, 0)]
    both = some.concat(made.at(np.array([1])))
    assert [both.standing(n) for n in (0, 1, 2)] == [made.standing(n) for n in (2, 0, 1)]
    assert both.rank_low.tolist() == [made.rank_low[n] for n in (2, 0, 1)]
    assert both.rank_high.tolist() == [made.standing(n).rank_high or 0 for n in (2, 0, 1)]


def test_groups_of_ties_are_those_of_each_standing():
    offers = [offer("a", 100, "1", 0.1), offer("b", 101, "1", 0.1), offer("c", 900, "1", 0.01)]
    unpriced = offer("d", 100, None)
    made = ranking.standings(lists.ranking_input([*offers, unpriced], CMIPS), CMIPS)
    assert [offers[row].offer_id for row in made.order[:3].tolist()] == ["c", "b", "a"]
    groups = made.tie_group.tolist()
    assert groups[1] == groups[2] != groups[0]
    assert groups == [made.standing(n).tie_group or 0 for n in range(4)]
    assert groups[3] == 0


def test_standing_without_rank_bounds_says_all_else():
    offers = [offer(name, 100, price) for name, price in (("a", "3"), ("b", "1"))]
    made = ranking.standings(lists.ranking_input(offers, CMIPS), CMIPS)
    full = made.standing(0)
    assert (full.rank_low, full.rank_high) == (1, 1)
    assert made.standing(0, has_bounds=False) == replace(full, rank_low=None, rank_high=None)


# --- invariants ---


def ranks(rows):
    return [
        (
            row.candidate.offer_id,
            row.rank,
            row.rank_low,
            row.rank_high,
            row.tie_group,
            row.pareto,
        )
        for row in rows
    ]


def repriced(offers, operation):
    return [c if c.price is None else replace(c, price=operation(c.price)) for c in offers]


@given(candidates(), metrics, st.sampled_from(["0.001", "7", "1000000", "0.3333"]))
def test_ranked_order_is_unchanged_when_all_prices_scale(offers, measured, factor):
    scaled = repriced(offers, lambda price: price * float(factor))
    assert ranks(ranked(scaled, measured)) == ranks(ranked(offers, measured))


@given(candidates(), metrics, st.sampled_from(["1.1172", "175.68", "0.8338", "7.4326"]))
def test_ranked_order_is_the_same_in_every_currency(offers, measured, units_per_eur):
    in_euro = repriced(offers, lambda price: price / float(units_per_eur))
    assert ranks(ranked(in_euro, measured)) == ranks(ranked(offers, measured))


@pytest.mark.parametrize("units_per_eur", [1.1172, 175.68, 0.8338, 7.4326, 3.0])
def test_ranked_keeps_equal_values_equal_when_a_conversion_rounds(units_per_eur):
    offers = [offer(f"o-{n:02}", 10 * n, n * 0.07 / units_per_eur) for n in range(1, 60)]
    assert {row.rank for row in ranked(offers, CMIPS)} == {1}


@given(candidates(), metrics)
def test_ranked_never_takes_an_unknown_price_for_zero(offers, measured):
    for row in ranked(offers, measured):
        if row.candidate.price is None:
            assert np.isnan(row.value_per_cost)
            assert row.rank is None


@given(candidates(), metrics, st.randoms(use_true_random=False))
def test_ranked_is_a_total_order_whatever_the_order_of_input(offers, measured, shuffler):
    rows = ranked(offers, measured)
    shuffled = list(offers)
    shuffler.shuffle(shuffled)
    assert ranks(ranked(shuffled, measured)) == ranks(rows)
    assert sorted(ids(rows)) == sorted(c.offer_id for c in offers)


@given(candidates(), metrics)
def test_ranked_blocks_follow_each_other_and_ranks_agree_with_values(offers, measured):
    rows = ranked(offers, measured)
    block = [
        2 if row.candidate.is_unfit else 1 if row.candidate.price is None else 0 for row in rows
    ]
    assert block == sorted(block)
    placed = rows[: block.count(0)]
    for row in placed:
        better = sum(
            1
            for other in placed
            if other.value_per_cost - row.value_per_cost > row.value_per_cost * 1e-12
        )
        assert row.rank == better + 1
        assert row.rank_low <= row.rank <= row.rank_high
    groups = [row.tie_group for row in placed]
    assert groups == sorted(groups)
    assert set(groups) == set(range(1, len(set(groups)) + 1))


@given(candidates(max_size=16), metrics)
def test_ranked_pareto_equals_the_definition_by_brute_force(offers, measured):
    sign = 1 if measured.is_higher_better else -1
    rows = [row for row in ranked(offers, measured) if row.rank is not None]
    points = [(row.candidate.price, sign * row.candidate.score) for row in rows]
    for row, (price, score) in zip(rows, points, strict=True):
        is_dominated = any(
            p <= price and s >= score and (p < price or s > score) for p, s in points
        )
        assert row.pareto is not is_dominated


@pytest.mark.parametrize("measured", [CMIPS, LATENCY])
def test_break_even_price_is_worth_as_much_as_the_best(measured):
    best = ranking.value_per_cost(40.0, Decimal(8), measured)
    price = ranking.break_even_price(10.0, best, measured)
    assert price == {CMIPS: 2, LATENCY: 32}[measured]
    assert ranking.value_per_cost(10.0, price, measured) == best
