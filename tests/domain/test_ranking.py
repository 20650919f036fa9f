from dataclasses import dataclass, replace
from decimal import Decimal
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain import ranking
from backend.domain.draws import drawn_rows, rank_bounds, spreads
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


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn: "all", or some rows."""
    noted = []

    def whole(*given):
        noted.append("all")
        return rank_bounds(*given)

    def some(of, rows):
        noted.append(rows.tolist())
        return drawn_rows(of, rows)

    monkeypatch.setattr(ranking, "rank_bounds", whole)
    monkeypatch.setattr(ranking, "drawn_rows", some)
    return noted


COUNT = ranking.SHORT_ROWS + 1
VALUES = np.linspace(100.0, 50.0, COUNT)


def rank_bounds_of(values, earlier=None):
    """Bounds of rows in an order of their own, each ± 10 %."""
    rank = np.argsort(np.argsort(-values, kind="stable"), kind="stable") + 1
    return ranking.RankBounds(spreads(values, 0.9 * values, 1.1 * values), rank, earlier)


def listed(of, rows):
    return [ends.tolist() for ends in of.of(np.array(rows))]


def test_rank_bounds_are_the_same_in_parts_and_as_a_whole(drawn):
    whole = rank_bounds_of(VALUES)
    low, high = whole.of(np.arange(-1, COUNT))
    assert (low[0], high[0]) == (0, 0)  # a row that is not compared
    parts = rank_bounds_of(VALUES)
    pages = [np.array(rows) for rows in ([0, -1, 7], [7, 0], [8], [299, 3], [150], [10])]
    for rows in pages:
        assert listed(parts, rows) == [low[rows + 1].tolist(), high[rows + 1].tolist()]
    # Each once, and after three parts all of them.
    assert drawn == ["all", [0, 7], [8], [3, 299], "all"]
    page = rank_bounds_of(VALUES)
    assert page.at(8, np.array([7, 8, -1])) == (low[9], high[9])
    assert page.at(7, np.array([7, 8, -1])) == (low[8], high[8])
    assert drawn[5:] == [[7, 8]]
    rank_bounds_of(VALUES[1:]).of(np.array([7]))
    assert drawn[6:] == ["all"]  # of a short list


def test_rank_bounds_of_rows_that_were_shown_are_taken_over(drawn):
    before = rank_bounds_of(VALUES)
    listed(before, [0, 1, 2]), listed(before, [40, 41])
    values = VALUES.copy()
    values[[300, 41]] = 99.0, 40.0
    after = rank_bounds_of(values, before)
    assert listed(after, [0, 1, 2, 40]) == listed(rank_bounds_of(values), [0, 1, 2, 40])
    assert drawn == [[0, 1, 2], [40, 41], [0, 1, 2, 40]]  # the last by the one it is compared with
    # The one that has changed is drawn, before anybody asks for it.
    after.renew()
    assert drawn[3:] == [[41]]
    whole = rank_bounds_of(values)
    assert listed(after, [0, 1, 2, 40, 41]) == [
        ends[:5].tolist()
        for ends in (bound[[0, 1, 2, 40, 41]] for bound in whole.of(np.arange(COUNT)))
    ]
    assert drawn[4:] == ["all"]


def test_rank_bounds_are_not_read_while_they_are_worked_out(monkeypatch):
    bounds, seen, readers = rank_bounds_of(VALUES), [], []

    def beside(of, rows):
        readers.append(Thread(target=lambda: seen.append(bounds.at(5, rows))))
        readers[0].start()
        readers[0].join(0.2)
        return drawn_rows(of, rows)

    monkeypatch.setattr(ranking, "drawn_rows", beside)
    low, high = listed(bounds, [5, 6])
    readers[0].join()
    assert seen == [(low[0], high[0])]


def test_rows_that_nobody_asked_for_in_between_are_renewed_later(drawn):
    first = rank_bounds_of(VALUES)
    first.of(np.array([5, 6]))
    second = rank_bounds_of(VALUES * np.linspace(1, 1.1, COUNT), first)  # too many have changed
    third = rank_bounds_of(VALUES, second)
    third.renew()
    assert drawn == [[5, 6], [5, 6]]
    assert listed(third, [5, 6]) == listed(first, [5, 6])


def test_rows_that_nobody_asks_for_any_more_are_not_renewed(drawn):
    first = rank_bounds_of(VALUES)
    first.of(np.array([5])), first.of(np.array([90]))
    second = rank_bounds_of(VALUES, first)
    assert second.at(5, np.array([5, 6])) == first.at(5, np.array([5]))
    third = rank_bounds_of(VALUES * np.linspace(1, 1.1, COUNT), second)
    third.renew()
    assert drawn == [[5], [90], [6], [5, 6]]


def test_rank_bounds_of_all_rows_are_drawn_anew_and_none_of_another_count(drawn):
    whole = rank_bounds_of(VALUES)
    whole.of(np.arange(COUNT))
    rank_bounds_of(VALUES, whole).renew()
    assert drawn == ["all", "all"]
    longer = rank_bounds_of(np.append(VALUES, 40.0), whole)
    longer.renew()
    assert drawn == ["all", "all"]
    longer.of(np.array([3]))
    assert drawn[2:] == [[3]]


def test_no_more_rows_are_kept_as_drawn_than_are_drawn_alone(drawn):
    many = np.arange(ranking.ROWS_ALONE)
    before = rank_bounds_of(VALUES)
    before.of(many), before.of(np.array([400]))
    after = rank_bounds_of(VALUES, before)
    after.of(np.array([400]))
    assert drawn[2:] == []
    after.renew()
    assert drawn[2:] == [many.tolist()]


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
