"""The machines of a bill as equal capacity elsewhere, against figures worked by hand."""

from dataclasses import replace

import pytest

from backend.bills.calc.elsewhere import alternatives
from backend.bills.calc.replacing import Assumptions, Destination, Figure, Replacement, Work
from backend.bills.calc.swings import Input

OFFERED = [target for target in Destination if target is not Destination.COMMITTED]
NOTHING = Assumptions(moving_cost=0, staff_per_server=0, spares=0)


def figure(value, spread=0.0):
    return Figure(value, value * (1 - spread), value * (1 + spread))


def work(
    name="m5.large", *, mean=3, peak=3, score=100, ram=8, cost=300, spread=0.0, provider="aws"
):
    return Work(name, provider, mean, peak, figure(score, spread), ram, cost)


def offer(name, target, *, score=100, ram=8, cost=70, provider="aws", spread=0.0):
    return Replacement(name, name, provider, target, figure(score, spread), ram, cost)


def only(works, candidates, assumed=NOTHING):
    (one,) = alternatives(works, candidates, assumed)
    return one


def test_same_type_elsewhere_costs_its_price_for_the_hours_that_ran():
    """Half a machine on average, two at most: 2 servers × 70 for a quarter of the time each."""
    one = only([work(mean=0.5, peak=2)], [offer("same", Destination.CLOUD, provider="gcp")])
    assert (one.servers, one.cost) == ((("same", "same", 2),), pytest.approx(35))
    assert (one.p5, one.p95, one.probability_cheaper) == (pytest.approx(35), pytest.approx(35), 1)


def test_whole_servers_reach_the_capacity_but_for_the_slack():
    """300 asked: 2 of 145 each are 97 % of it and enough; of 142 each 95 % and one more is needed."""
    works = [work()]
    assert only(works, [offer("a", Destination.DEDICATED, score=145, ram=64)]).servers[0][2] == 2
    assert only(works, [offer("a", Destination.DEDICATED, score=142, ram=64)]).servers[0][2] == 3


@pytest.mark.parametrize("target", OFFERED)
def test_slack_takes_no_server_from_a_fleet_of_equal_ones(target):
    assert only([work(mean=100, peak=100)], [offer("a", target)]).servers[0][2] == 100


@pytest.mark.parametrize("target", OFFERED)
def test_memory_needs_more_servers_where_the_score_does_not(target):
    works = [work(ram=32)]
    # Three of 32 GiB: 96 of 40 each.
    assert only(works, [offer("a", target, score=900, ram=40)]).servers[0][2] == 3
    # No machine is split into smaller ones.
    assert alternatives(works, [offer("a", target, score=900, ram=16)], NOTHING) == []


@pytest.mark.parametrize("target", [Destination.SAME_PROVIDER, Destination.VPS])
def test_burstable_types_stand_for_burstable_machines_alone(target):
    """Credits do not last all day: such a score is not equal to one that does."""
    steady, burst = work(), replace(work("t3.large"), is_burstable=True)
    small = replace(offer("t4g.large", target), is_burstable=True)
    assert alternatives([steady], [small], NOTHING) == []
    assert alternatives([steady, burst], [small], NOTHING) == []
    assert only([burst], [small]).servers == (("t4g.large", "t4g.large", 3),)


def test_small_machines_share_large_servers_with_a_spare_and_staff():
    """The articles' 3 + 17 servers on one type: 20 × 100 of 500 each, one spare, 10 of staff."""
    works = [work("web", mean=3, peak=3), work("burst", mean=17, peak=17)]
    assumed = Assumptions(moving_cost=600, staff_per_server=10, spares=1)
    one = only(works, [offer("big", Destination.DEDICATED, score=500, ram=64, cost=90)], assumed)
    assert one.servers == (("big", "big", 5),)
    assert one.cost == pytest.approx(5 * (90 + 10))
    assert one.payback_months == pytest.approx(600 / (600 - 500))


def test_cheapest_of_each_target_is_taken_and_one_cloud_does_it_all():
    works = [work("a", score=100), work("b", score=50, ram=4)]
    offers = [
        offer("g1", Destination.CLOUD, provider="gcp", cost=60),
        offer("g2", Destination.CLOUD, provider="gcp", cost=35, score=50, ram=4),
        offer("z1", Destination.CLOUD, provider="azure", cost=59),
        offer("vps", Destination.VPS, provider="ovh", cost=30),
        offer("vps2", Destination.VPS, provider="ovh", cost=29),
    ]
    cloud, vps = alternatives(works, offers, NOTHING)
    assert (cloud.target, vps.target) == (Destination.CLOUD, Destination.VPS)
    # 3 × 60 + 3 × 35 at Google against 3 × 59 + 2 × 59.
    assert cloud.cost == pytest.approx(285)
    assert {slug for slug, _, _ in cloud.servers} == {"g1", "g2"}
    assert vps.servers[0][0] == "vps2"


def test_same_provider_serves_each_bill_line_by_its_own_provider():
    works = [work("m5.large"), work("D2s", provider="azure", cost=400)]
    offers = [
        offer("m7", Destination.SAME_PROVIDER, cost=50),
        offer("D2s v6", Destination.SAME_PROVIDER, provider="azure", cost=40),
        offer("D2s v5", Destination.SAME_PROVIDER, provider="azure", cost=60),
    ]
    one = only(works, offers)
    assert one.cost == pytest.approx(3 * 50 + 3 * 40)
    assert alternatives(works, offers[:1], NOTHING) == []


def test_type_that_stays_the_same_is_not_doubled_by_its_uncertainty():
    same = offer("m5.large", Destination.SAME_PROVIDER, cost=50, spread=0.2)
    one = only([work(spread=0.2)], [same])
    assert (one.p5, one.p95) == (pytest.approx(150), pytest.approx(150))


def test_spread_of_scores_reaches_the_answer():
    """A score ± 10 % moves the servers, and so the cost and how sure it is."""
    works = [work(peak=100, mean=100, cost=8000)]
    sure = only(works, [offer("c", Destination.CLOUD, provider="gcp", cost=80, ram=64)])
    unsure = only(
        works, [offer("c", Destination.CLOUD, provider="gcp", cost=80, ram=64, spread=0.1)]
    )
    assert sure.cost == unsure.cost == pytest.approx(100 * 80)
    assert (sure.p5, sure.p95, sure.probability_cheaper) == (8000, 8000, 0)
    assert unsure.p5 < 7600
    assert unsure.p95 > 8400
    assert 0.35 < unsure.probability_cheaper < 0.6
    assert unsure.payback_months is None


def test_better_score_lowers_the_cost():
    works = [work(peak=100, mean=100, cost=9000)]
    costs = [
        only(
            works, [replace(offer("c", Destination.CLOUD, cost=80, ram=64), score=figure(score))]
        ).cost
        for score in (90, 100, 110)
    ]
    assert costs == [111 * 80, 100 * 80, 90 * 80]


def test_bill_without_work_has_no_alternatives():
    assert alternatives([], [offer("a", Destination.CLOUD)], NOTHING) == []


def test_swings_move_one_input_and_come_in_the_order_of_their_effect():
    """2 servers of 145 ± 20 % hold 285: at 116 it takes 3, at 174 still 2; (100 + 10) each and a spare."""
    assumed = Assumptions(moving_cost=0, staff_per_server=10, spares=1)
    big = offer("big", Destination.DEDICATED, score=145, ram=64, cost=100, spread=0.2)
    one = only([work()], [big], assumed)
    assert one.cost == pytest.approx(3 * 110)
    known = [
        (swing.input, swing.name, swing.low, swing.high, swing.cost_low, swing.cost_high)
        for swing in one.swings
    ]
    assert known == [
        (Input.SPARES, "", 0, 2, pytest.approx(2 * 110), pytest.approx(4 * 110)),
        (Input.SCORE, "big", 116, 174, pytest.approx(4 * 110), pytest.approx(3 * 110)),
        (Input.PRICE, "big", 0.9, 1.1, pytest.approx(3 * 100), pytest.approx(3 * 120)),
        (Input.STAFF, "", 0.5, 1.5, pytest.approx(3 * 105), pytest.approx(3 * 115)),
    ]


def test_score_of_a_type_that_stays_moves_both_sides_and_no_cost():
    same = offer("m5.large", Destination.SAME_PROVIDER, spread=0.3)
    one = only([work(spread=0.3)], [same])
    assert [swing.input for swing in one.swings] == [Input.PRICE]


def test_another_architecture_is_taken_where_programs_may_be_built_anew():
    works = [replace(work(), arch="x86_64")]
    arm = replace(offer("t2a", Destination.CLOUD), arch="arm64")
    unknown = offer("own", Destination.OWN)
    assert [one.target for one in alternatives(works, [arm, unknown], NOTHING)] == [Destination.OWN]
    rebuilt = replace(NOTHING, may_change_arch=True)
    assert only(works, [arm], rebuilt).servers == (("t2a", "t2a", 3),)


def small_and_big(target, **given):
    big = offer("big", target, provider="ovh", score=500, ram=64, cost=90)
    return [
        big,
        replace(offer("small", target, provider="ovh", score=200, ram=32, cost=30), **given),
    ]


@pytest.mark.parametrize("target", [Destination.VPS, Destination.DEDICATED, Destination.OWN])
def test_small_servers_do_the_rest_where_that_is_cheaper(target):
    """20 × 100: 4 big ones are 360, 10 small ones 300, 2 big ones and 5 small ones 330."""
    works = [work("web", mean=20, peak=20)]
    offers = small_and_big(target)
    assert only(works, offers).servers == (("small", "small", 10),)
    # At 45 each: 4 × 90 = 360 of the big ones, 450 of the small ones.
    assert only(works, small_and_big(target, cost_per_month=45)).servers == (("big", "big", 4),)
    # 22 × 100: 5 × 90 = 450 against 4 × 90 + 45 = 405; 3 × 90 + 4 × 45 = 450.
    works = [work("web", mean=22, peak=22)]
    one = only(works, small_and_big(target, cost_per_month=45))
    assert (one.servers, one.cost) == ((("big", "big", 4), ("small", "small", 1)), 405)
    # Of two hosters nothing is mixed, nor of more than a hundred small ones.
    others = small_and_big(target, cost_per_month=45, provider="hetzner")
    assert only(works, others).servers == (("big", "big", 5),)


def test_spare_servers_of_a_mix_are_of_the_larger_type():
    works = [work("web", mean=22, peak=22)]
    assumed = Assumptions(moving_cost=0, staff_per_server=10, spares=1)
    one = only(works, small_and_big(Destination.DEDICATED, cost_per_month=45), assumed)
    assert (one.servers, one.cost) == (
        (("big", "big", 5), ("small", "small", 1)),
        pytest.approx(5 * 100 + 55),
    )


def test_small_servers_stand_for_the_small_machines_alone():
    """A database of 64 GiB and ten small ones: 2 × 200 for 1,400, or 200 and 2 × 20, which do 40 % of
    the small ones as they have 16 of their 40 GiB."""
    works = [work("db", mean=1, peak=1, score=400, ram=64), work("web", mean=10, peak=10, ram=4)]
    big = offer("big", Destination.VPS, score=1000, ram=128, cost=200)
    small = offer("small", Destination.VPS, score=250, ram=8, cost=20)
    one = only(works, [big, small])
    assert (one.servers, one.cost) == ((("big", "big", 1), ("small", "small", 2)), 240)
    assert only(works[1:], [small]).servers == (("small", "small", 5),)
    assert alternatives(works, [small], NOTHING) == []


def test_headroom_is_kept_free_of_servers_that_stand():
    """20 × 100 are 4 of 500 each; with a fifth free 2,500 are needed. Per hour more come at once."""
    works = [work(mean=20, peak=20)]
    room = replace(NOTHING, headroom_percent=20)
    big = offer("big", Destination.DEDICATED, score=500, ram=64, cost=90)
    assert (only(works, [big]).cost, only(works, [big], room).cost) == (360, 450)
    cloud = offer("cloud", Destination.CLOUD)
    assert only(works, [cloud]).cost == only(works, [cloud], room).cost
    # A machine of 8 GiB has no place where 6.4 may be used.
    assert alternatives(works, [offer("same", Destination.VPS)], room) == []


def test_idle_capacity_of_servers_that_stand_is_named_in_money():
    """6 of 20 run on average: of 5 servers of 500 at 100 a month 600 of 2,500 are used."""
    works = [work(mean=6, peak=20)]
    big = offer("big", Destination.DEDICATED, score=500, ram=64, cost=100)
    one = only(works, [big], replace(NOTHING, spares=1))
    assert one.idle_cost == pytest.approx(500 * (1 - 600 / 2500))
    assert only(works, [offer("cloud", Destination.CLOUD)]).idle_cost == 0


def test_machines_that_always_run_cost_their_commitment():
    """The articles' 3 + 17: 3 by commitment at 40, 3.5417 more on average at 70."""
    works = [work(mean=157 / 24, peak=20, provider="aws")]
    same = offer("m7", Destination.SAME_PROVIDER)
    committed = replace(same, committed_per_month=40)
    always = [replace(works[0], base=3)]
    # Nothing always runs, or commitments have no price.
    for of, offered in ((works, committed), (always, same)):
        assert [one.target for one in alternatives(of, [offered], NOTHING)] == ["same_provider"]
    _, one = alternatives(always, [committed], NOTHING)
    assert (one.target, one.servers) == (Destination.COMMITTED, (("m7", "m7", 20),))
    assert one.cost == pytest.approx(3 * 40 + (157 / 24 - 3) * 70)
    price = next(swing for swing in one.swings if swing.input is Input.PRICE)
    assert price.cost_high == pytest.approx(1.1 * one.cost)
    # Types without such a price are bought by the hour beside it.
    mixed = [*always, replace(always[0], name="D2s", provider="azure")]
    offers = [committed, offer("D2s v6", Destination.SAME_PROVIDER, provider="azure", cost=100)]
    _, both = alternatives(mixed, offers, NOTHING)
    assert both.cost == pytest.approx(one.cost + 157 / 24 * 100)
