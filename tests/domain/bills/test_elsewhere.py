"""The machines of a bill as equal capacity elsewhere, against figures worked by hand."""

from dataclasses import replace

import pytest

from backend.domain.bills.elsewhere import (
    Assumptions,
    Destination,
    Figure,
    Input,
    Replacement,
    Work,
    alternatives,
)

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
    """3 × 100 asked, 95 % of it counts: 285 of 145 each are 2 servers; of 142 each 3."""
    works = [work()]
    assert only(works, [offer("a", Destination.DEDICATED, score=145, ram=64)]).servers[0][2] == 2
    assert only(works, [offer("a", Destination.DEDICATED, score=142, ram=64)]).servers[0][2] == 3


@pytest.mark.parametrize("target", Destination)
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
    works = [work(peak=100, mean=100, cost=7600)]
    sure = only(works, [offer("c", Destination.CLOUD, provider="gcp", cost=80, ram=64)])
    unsure = only(
        works, [offer("c", Destination.CLOUD, provider="gcp", cost=80, ram=64, spread=0.1)]
    )
    assert sure.cost == unsure.cost == pytest.approx(95 * 80)
    assert (sure.p5, sure.p95, sure.probability_cheaper) == (7600, 7600, 0)
    assert unsure.p5 < 7300
    assert unsure.p95 > 7900
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
    assert costs == sorted(costs, reverse=True)
    assert costs[0] / costs[1] == pytest.approx(106 / 95)


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
