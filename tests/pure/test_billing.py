"""Billing rules against published bills and hand-worked sums (design 2 §3)."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.pricing.billing.lifetimes import DAY_S, HOUR_S, Horizon, months
from backend.money.pricing.billing.sustained_use import N1, N2, share_of_list_price
from backend.money.pricing.billing.terms import Terms
from backend.money.pricing.billing.traffic import cost_under_tiers
from tests.oracles.billing.commitments import savings, uncovered_s
from tests.oracles.billing.lifetimes import Lifetime
from tests.oracles.billing.rules import RULES

JANUARY = int(dt.datetime(2026, 1, 1, tzinfo=dt.UTC).timestamp())
DAY = Horizon(JANUARY, JANUARY + DAY_S)
MONTH_30D = Horizon(JANUARY, JANUARY + 30 * DAY_S)


def life(start_s, seconds, slot=1):
    return Lifetime(slot, JANUARY + start_s, JANUARY + start_s + seconds)


def bill(rule, lives, horizon=MONTH_30D, **terms):
    price = Fraction(str(terms.pop("price", 1)))
    return RULES[rule](lives, horizon, Terms(price=price, **terms))


def test_every_second_is_billed_with_a_minimum_of_a_minute():
    # 60 + 61 s at 3.6 an hour = 0.001 a second
    assert bill("per_second", [life(0, 5), life(100, 61)], price="3.6") == Fraction("0.121")


def test_sixteen_machines_cost_less_by_the_minute_than_by_the_hour():
    # 16 × 20 + 15 + 70 min = 405 min = 6 h 45 min; by hours begun 16 + 1 + 2 = 19 h
    lives = [*(life(0, 20 * 60, n) for n in range(16)), life(0, 15 * 60), life(0, 70 * 60)]
    assert bill("per_minute", lives) == Fraction("6.75")
    assert bill("hour_ceil", lives) == 19


def test_ten_minutes_are_the_least():
    assert bill("per_minute", [life(0, 61)], price=60) == 10
    assert bill("per_minute", [life(0, 601)], price=60) == 11


def test_five_restarts_within_an_hour_are_five_hours():
    assert bill("hour_ceil", [life(n * 600, 300) for n in range(5)]) == 5


@pytest.mark.parametrize(
    ("hours", "cost"),
    # 0.006 an hour, at most 3.79 a month
    [("0.05", "0.006"), ("90", "0.54"), ("631", "3.786"), ("632", "3.79"), ("719", "3.79")],
)
def test_hours_are_capped_by_the_month(hours, cost):
    lives = [life(0, int(Fraction(hours) * HOUR_S))]
    found = bill("hour_ceil_cap", lives, price="0.006", cap=Fraction("3.79"))
    assert found == Fraction(cost)


def test_hour_across_two_months_belongs_to_the_one_in_which_it_starts():
    two = Horizon(JANUARY, JANUARY + 40 * DAY_S)
    # launched 90 min before February: hours start 90 and 30 min before it, and 30 min into it
    across = life(31 * DAY_S - 5400, 3 * HOUR_S)
    capped = {"horizon": two, "price": 1}
    assert bill("hour_ceil_cap", [across], cap=Fraction(10), **capped) == 3
    assert bill("hour_ceil_cap", [across], cap=Fraction(1), **capped) == 2
    assert bill("hour_ceil_cap", [across], cap=Fraction("1.5"), **capped) == Fraction("2.5")


def test_cap_is_asked_for():
    with pytest.raises(InvalidValue, match="cap"):
        bill("hour_ceil_cap", [life(0, 1)])


def test_three_hours_of_thirty_nights():
    # 90 h × 1.64 = 147.60, and 22:00-01:10: 95 h by the second, 120 h by hours begun
    nights = [life(22 * HOUR_S + n * DAY_S, 3 * HOUR_S) for n in range(29)]
    nights.append(life(22 * HOUR_S + 29 * DAY_S, 2 * HOUR_S))
    nights.append(life(0, HOUR_S))
    assert bill("per_second", nights, price="1.64") == Fraction("147.60")
    longer = [life(n * DAY_S, 190 * 60) for n in range(30)]
    assert bill("per_second", longer) == 95
    assert bill("hour_ceil", longer) == 120


def test_month_is_paid_for_each_slot_used_in_it():
    two = Horizon(JANUARY, JANUARY + 40 * DAY_S)
    lives = [life(0, 35 * DAY_S, 1), life(DAY_S, 60, 2), life(3 * DAY_S, 60, 2)]
    # January slots 1 and 2, February slot 1
    assert bill("monthly", lives, two, price=100) == 300
    assert bill("monthly", lives, two, price=100, month_convention="30d") == 300


def test_month_of_hours_bills_server_hours():
    assert bill("monthly", [life(0, 73 * HOUR_S)], price=100, month_convention=730) == 10


def test_contract_pays_setup_and_its_least_months():
    lives = [life(0, DAY_S, 1), life(35 * DAY_S, DAY_S, 1), life(0, DAY_S, 2)]
    horizon = Horizon(JANUARY, JANUARY + 60 * DAY_S)
    terms = {"price": 50, "setup": Fraction(10)}
    # slot 1 is held from January to February, slot 2 in January
    assert bill("dedicated", lives, horizon, **terms) == 2 * 10 + 2 * 50 + 50
    assert bill("dedicated", lives, horizon, minimum_months=3, **terms) == 2 * 10 + 2 * 150


@pytest.mark.parametrize(
    ("used", "n1"),
    [("1/8", "1/8"), ("1/4", "1/4"), ("1/2", "9/20"), ("3/4", "3/5"), ("1", "7/10")],
)
def test_sustained_use_bills_quarter_by_quarter(used, n1):
    assert share_of_list_price(Fraction(used), N1) == Fraction(n1)


def test_whole_month_of_n2_is_twenty_percent_off():
    assert round(1 - share_of_list_price(Fraction(1), N2), 4) == Fraction("0.1998")


def test_sustained_use_of_three_servers_all_day_and_17_for_5_hours():
    # levels 1-3 run the whole month (0.7 of list), 17 run 20.83 % of it (no discount):
    # (3 × 24 × 0.7 + 17 × 5) / (3 × 24 + 17 × 5) = 135.4 / 157 = 0.8624
    always = [life(0, 30 * DAY_S, slot) for slot in (1, 2, 3)]
    burst = [
        life(10 * HOUR_S + day * DAY_S, 5 * HOUR_S, slot)
        for slot in range(4, 21)
        for day in range(30)
    ]
    cost = bill("sustained_use", [*always, *burst], tiers=N1, month_convention="30d")
    assert cost / (157 * 30) == Fraction("135.4") / 157
    assert bill("per_second", [*always, *burst], price="0.4") == 1884


def test_thirty_machines_of_a_day_each_are_one_machine_of_a_month():
    lives = [life(day * DAY_S, DAY_S, 1) for day in range(30)]
    cost = bill("sustained_use", lives, tiers=N1, month_convention="30d")
    assert cost == Fraction("0.7") * 720


def test_tiers_must_reach_the_whole_month():
    with pytest.raises(InvalidValue, match="tiers"):
        bill("sustained_use", [], tiers=N1[:3])


def test_reservation_is_paid_used_or_not():
    # 0.1 an hour and 73 upfront over a month of 730 h = 0.2 an hour
    terms = {"price": "0.1", "upfront": Fraction(73), "term_months": 1, "reservations": 2}
    assert bill("reserved", [], DAY, **terms) == Fraction("9.6")


def test_reservation_covers_an_hour_of_seconds_whichever_servers_ran():
    terms = Terms(price=Fraction(1), reservations=1)
    together = [life(0, HOUR_S, n) for n in range(4)]
    assert uncovered_s(together, DAY, terms) == 3 * HOUR_S
    one_by_one = [life(n * 900, 900, n) for n in range(4)]
    assert uncovered_s(one_by_one, DAY, terms) == 0


def test_half_an_hour_of_the_horizon_is_covered_by_half():
    half = Horizon(JANUARY, JANUARY + 1800)
    assert (
        uncovered_s([life(0, 1800, 1), life(0, 1800, 2)], half, Terms(Fraction(1), reservations=1))
        == 1800
    )


def test_minimum_life_reaches_beyond_the_horizon():
    last = Horizon(JANUARY, JANUARY + 1800)
    terms = Terms(Fraction(1), reservations=1)
    # 10 s before the end: 60 s are counted, beside a server that took all that is reserved
    assert uncovered_s([life(0, 1800, 1), life(1790, 10, 2)], last, terms) == 60


def test_savings_plan_bills_its_commitment_and_the_rest_at_list_price():
    terms = Terms(Fraction(1), commit_per_hour=Fraction("1.4"), discount=Fraction("0.3"))
    one_hour = Horizon(JANUARY, JANUARY + HOUR_S)
    # 2 h of usage × 0.7 = 1.4 covered; the third hour at the list price
    assert savings([life(0, HOUR_S, n) for n in range(2)], one_hour, terms) == Fraction("1.4")
    assert savings([life(0, HOUR_S, n) for n in range(3)], one_hour, terms) == Fraction("2.4")
    assert savings([], one_hour, terms) == Fraction("1.4")


def test_discount_of_everything_is_refused():
    with pytest.raises(InvalidValue, match="discount"):
        bill("savings", [], discount=Fraction(1))


EGRESS = [(Decimal(10_240), Decimal(".09")), (Decimal(51_200), Decimal(".085")),
          (Decimal(153_600), Decimal(".07")), (None, Decimal(".05"))]  # fmt: skip


@pytest.mark.parametrize(
    ("volume", "cost"),
    # 921.60 + 3,481.60 + 7,168.00 + 170.00; 921.60 + 38,360 × .085; and nothing
    [("157000", "11741.20"), ("48600", "4182.20"), ("0", "0")],
)
def test_traffic_is_billed_tier_by_tier(volume, cost):
    assert cost_under_tiers(Decimal(volume), EGRESS) == Decimal(cost)


ONE = Decimal(1)


@pytest.mark.parametrize(
    "tiers", [[], [(Decimal(5), ONE)], [(Decimal(5), ONE), (Decimal(5), ONE), (None, ONE)]]
)
def test_tiers_that_do_not_ascend_are_refused(tiers):
    with pytest.raises(InvalidValue, match="tiers"):
        cost_under_tiers(Decimal(10), tiers)


def test_months_follow_the_calendar_or_the_convention():
    year = Horizon(JANUARY, JANUARY + 365 * DAY_S)
    assert [(end - start) // DAY_S for start, end in months(year)] == [
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
    ]  # fmt: skip
    assert len(list(months(year, "30d"))) == 13
    assert next(months(year, 730)) == (JANUARY, JANUARY + 730 * HOUR_S)
    with pytest.raises(InvalidValue, match="month_convention"):
        list(months(year, "lunar"))


LIVES = st.lists(
    st.builds(life, st.integers(0, 20 * DAY_S), st.integers(1, 9 * DAY_S), st.integers(1, 3)),
    max_size=6,
)


@given(LIVES)
def test_coarser_clocks_never_cost_less(lives):
    second, minute, hour = (bill(rule, lives) for rule in ("per_second", "per_minute", "hour_ceil"))
    assert second <= minute <= hour
    assert bill("hour_ceil_cap", lives, cap=Fraction(100)) <= hour


@given(LIVES, st.integers(0, 3))
def test_seconds_are_conserved_between_reservation_and_the_rest(lives, count):
    used = sum(each.seconds for each in lives)
    left = uncovered_s(lives, MONTH_30D, Terms(Fraction(1), minimum_s=0, reservations=count))
    assert used - count * MONTH_30D.seconds <= left <= used


@given(LIVES, st.integers(1, 9))
def test_cost_scales_with_the_price(lives, factor):
    for rule in ("per_second", "per_minute", "hour_ceil", "monthly"):
        assert bill(rule, lives, price=factor) == factor * bill(rule, lives)
