from dataclasses import dataclass, replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain import ranking
from backend.domain.draws import Spreads, rank_bounds, spreads
from backend.domain.errors import InvalidValue
from backend.domain.metrics import metric
from backend.domain.ranking import worth
from backend.domain.stats import Summary, published_summary
from backend.domain.units import EXACT
from tests.domain import candidates as lists
from tests.domain.candidates import RankedOffer

CMIPS = metric("cmips_score")
LATENCY = metric("memory_latency_ns")
PASSMARK = metric("passmark_score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(RankedOffer):
    summary: Summary | None = None
    price_per_hour: Decimal | None = None


def offer(offer_id, score, price, sd=None, **more):
    amount = None if price is None else Decimal(price)
    summary = published_summary(float(score), sd, None, between_instance_cv=0.05)
    return Offer(offer_id=offer_id, score=summary.value, summary=summary, price=amount, **more)


def ranked(offers, measured):
    """Candidate, worth and standing of each as one row."""
    candidates = [
        one if one.is_unfit else replace(one, worth=worth(one.summary, one.price, one.price_per_hour, measured))
        for one in offers
    ]  # fmt: skip
    return [
        SimpleNamespace(
            candidate=one,
            value_per_cost=one.worth and one.worth.value_per_cost,
            value_per_cost_ci95_low=one.worth and one.worth.low,
            value_per_cost_ci95_high=one.worth and one.worth.high,
            cup=one.worth and one.worth.cup,
            **vars(standing),
        )
        for one, standing in lists.ranked(candidates, measured)
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
    assert [row.value_per_cost.quantize(Decimal("0.01")) for row in rows] == [
        Decimal("62.89"),
        Decimal("51.35"),
        Decimal("43.79"),
    ]
    assert [row.rank for row in rows] == [1, 2, 3]
    assert [row.pareto for row in rows] == [True, True, True]
    assert [row.cup for row in rows] == [None, None, None]


def test_ranked_turns_a_lower_score_into_more_value():
    # 1/(100 × 0.1) = 0.1 against 1/(80 × 0.2) = 0.0625
    rows = ranked([offer("fast", 80, "0.2"), offer("slow", 100, "0.1")], LATENCY)
    assert [(row.candidate.offer_id, row.value_per_cost) for row in rows] == [
        ("slow", Decimal("0.1")),
        ("fast", Decimal("0.0625")),
    ]
    assert [row.pareto for row in rows] == [True, True]


def test_ranked_takes_the_interval_of_the_value_from_the_score():
    higher = ranked([offer("a", 100, "0.5", sd=0.05)], PASSMARK)[0]
    # 100 × (1 ∓ 0.098) / 0.5
    assert float(higher.value_per_cost_ci95_low) == pytest.approx(180.4)
    assert float(higher.value_per_cost_ci95_high) == pytest.approx(219.6)
    lower = ranked([offer("a", 100, "0.5", sd=0.05)], LATENCY)[0]
    # 1 / (109.8 × 0.5) and 1 / (90.2 × 0.5)
    assert float(lower.value_per_cost_ci95_low) == pytest.approx(1 / 54.9)
    assert float(lower.value_per_cost_ci95_high) == pytest.approx(1 / 45.1)


def test_ranked_value_can_be_recomputed_from_the_printed_columns():
    row = ranked([offer("a", 1493.0712, "0.0277777777777777777778")], CMIPS)[0]
    printed_score, printed_price = repr(row.candidate.score), str(row.candidate.price)
    recomputed = float(printed_score) / float(printed_price)
    assert float(row.value_per_cost) == pytest.approx(recomputed, rel=1e-9)
    assert len(row.value_per_cost.as_tuple().digits) >= 20


def test_ranked_cup_is_per_hour_whatever_the_period():
    row = ranked([offer("a", 4281, "1180.80", price_per_hour=Decimal("1.64"))], CMIPS)[0]
    assert row.cup.quantize(Decimal("1e-10")) == Decimal("0.0003830881")
    assert row.value_per_cost == EXACT.divide(Decimal("4281.0"), Decimal("1180.80"))


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
    rows = ranked(
        [
            offer("busy", 900, "0.1", price_per_hour=Decimal("0.1"), is_unfit=True),
            offer("calm", 100, "0.1", price_per_hour=Decimal("0.1")),
            offer("free", 5000, None),
        ],
        CMIPS,
    )
    assert ids(rows) == ["calm", "free", "busy"]
    busy = rows[2]
    assert busy.candidate.score == 900
    empty = [busy.rank, busy.rank_low, busy.rank_high, busy.value_per_cost, busy.cup]
    empty += [busy.tie_group, busy.pareto, busy.value_per_cost_ci95_low]
    assert empty == [None] * 8
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
    blank = [Offer(offer_id=name, score=None, price=None) for name in "zy"]
    rows = lists.ranked([*blank, replace(offer("busy", 9, "1"), is_unfit=True)], CMIPS)
    assert [one.offer_id for one, _ in rows] == ["busy", "y", "z"]


def test_ranked_of_nothing_is_empty():
    assert ranked([], CMIPS) == []


@pytest.mark.parametrize(
    ("candidate", "field"),
    [
        (offer("a", 1, "0"), "price"),
        (offer("a", 1, "-1"), "price"),
        (offer("a", 1, "1", price_per_hour=Decimal(0)), "price_per_hour"),
        (
            replace(offer("a", 1, "1"), summary=replace(offer("a", 1, "1").summary, value=0.0)),
            "score",
        ),
    ],
)
def test_ranked_refuses_zero_for_unknown(candidate, field):
    with pytest.raises(InvalidValue) as caught:
        ranked([candidate], CMIPS)
    assert caught.value.field == field


def test_prices_that_differ_by_a_hair_take_two_ranks():
    hair = Decimal("1e-20")
    rows = ranked([offer("a", 100, 1 + hair), offer("b", 100, 1), offer("c", 100, "2")], CMIPS)
    assert [(row.candidate.offer_id, row.rank) for row in rows] == [("b", 1), ("a", 2), ("c", 3)]
    assert [row.pareto for row in rows] == [True, False, False]


def test_standings_of_some_rows_stand_as_they_did():
    offers = [offer(name, 100, price) for name, price in (("a", "3"), ("b", "1"), ("c", "2"))]
    of = [replace(one, worth=worth(one.summary, one.price, None, CMIPS)) for one in offers]
    made = ranking.standings(lists.contest(of), CMIPS)
    some = made.at(np.array([2, 0]))
    assert some.order.tolist() == [0, 1]
    assert [some.standing(n) for n in (0, 1)] == [made.standing(n) for n in (2, 0)]
    both = some.followed_by(made.at(np.array([1])))
    assert [both.standing(n) for n in (0, 1, 2)] == [made.standing(n) for n in (2, 0, 1)]
    assert both.rank_low.tolist() == [made.rank_low[n] for n in (2, 0, 1)]
    assert both.rank_high.tolist() == [made.standing(n).rank_high or 0 for n in (2, 0, 1)]


def test_standing_without_rank_bounds_says_all_else():
    offers = [offer(name, 100, price) for name, price in (("a", "3"), ("b", "1"))]
    of = [replace(one, worth=worth(one.summary, one.price, None, CMIPS)) for one in offers]
    made = ranking.standings(lists.contest(of), CMIPS)
    full = made.standing(0)
    assert (full.rank_low, full.rank_high) == (1, 1)
    assert made.standing(0, has_bounds=False) == replace(full, rank_low=None, rank_high=None)


def test_rank_bounds_are_the_same_in_parts_and_as_a_whole(monkeypatch):
    count = ranking.SHORT_ROWS + 1
    values = np.linspace(100.0, 50.0, count)
    spread, rank = spreads(values, 0.9 * values, 1.1 * values), np.arange(1, count + 1)
    drawn = []

    def noted(draws, ranks, rows=None):
        drawn.append("all" if rows is None else rows.tolist())
        return rank_bounds(draws, ranks, rows)

    monkeypatch.setattr(ranking, "rank_bounds", noted)
    whole = ranking.RankBounds(spread, rank)
    low, high = whole.of(np.arange(-1, count))
    assert (low[0], high[0]) == (0, 0)  # a row that is not compared
    parts = ranking.RankBounds(spread, rank)
    pages = [np.array(rows) for rows in ([0, -1, 7], [7, 0], [8], [299, 3], [150], [10])]
    for rows in pages:
        assert [ends.tolist() for ends in parts.of(rows)] == [
            low[rows + 1].tolist(), high[rows + 1].tolist()
        ]  # fmt: skip
    # Each once, and after three parts all of them.
    assert drawn == ["all", [0, 7], [8], [3, 299], "all"]
    page = ranking.RankBounds(spread, rank)
    assert page.at(8, np.array([7, 8, -1])) == (low[9], high[9])
    assert page.at(7, np.array([7, 8, -1])) == (low[8], high[8])
    assert drawn[5:] == [[7, 8]]
    ranking.RankBounds(Spreads(*(column[:-1] for column in spread)), rank[:-1]).of(np.array([7]))
    assert drawn[6:] == ["all"]  # of a short list


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
    scaled = repriced(offers, lambda price: EXACT.multiply(price, Decimal(factor)))
    assert ranks(ranked(scaled, measured)) == ranks(ranked(offers, measured))


@given(candidates(), metrics, st.sampled_from(["1.1172", "175.68", "0.8338", "7.4326"]))
def test_ranked_order_is_the_same_in_every_currency(offers, measured, units_per_eur):
    in_euro = repriced(offers, lambda price: EXACT.divide(price, Decimal(units_per_eur)))
    assert ranks(ranked(in_euro, measured)) == ranks(ranked(offers, measured))


def test_ranked_keeps_equal_values_equal_when_a_conversion_rounds():
    offers = [offer("z", 100, "0.02"), offer("a", 200, "0.04")]
    in_euro = repriced(offers, lambda price: EXACT.divide(price, Decimal("1.1172")))
    rows = ranked(in_euro, CMIPS)
    assert rows[0].value_per_cost != rows[1].value_per_cost  # in the 34th digit
    assert [(row.candidate.offer_id, row.rank) for row in rows] == [("a", 1), ("z", 1)]


@given(candidates(), metrics)
def test_ranked_never_takes_an_unknown_price_for_zero(offers, measured):
    for row in ranked(offers, measured):
        if row.candidate.price is None:
            assert row.value_per_cost is None
            assert row.rank is None


@given(candidates(), metrics, st.randoms(use_true_random=False))
def test_ranked_is_a_total_order_whatever_the_order_of_input(offers, measured, shuffler):
    rows = ranked(offers, measured)
    shuffled = list(offers)
    shuffler.shuffle(shuffled)
    assert ranked(shuffled, measured) == rows
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
            if other.value_per_cost - row.value_per_cost > row.value_per_cost * Decimal("1e-28")
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
