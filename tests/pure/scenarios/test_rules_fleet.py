"""The rules of demand, servers and parts, one by one; each sum stands beside it."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from backend.scenarios.calc.results import quotient
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from tests.pure.scenarios.short import (
    CLOUD,
    JANUARY,
    at,
    daily,
    demand,
    first,
    missing,
    ran,
    refused,
    running,
    serving,
    steps,
    total,
)

# --- time and demand ----------------------------------------------------------------------------


def test_rule_01_step_has_the_demand_of_its_start_in_whole_steps() -> None:
    points = [[at(0), 1], [at(30), 9], [at(60), 2]]  # nobody looks at half past
    hours = {"start": JANUARY.isoformat(), "days": "0.125", "step_s": 3600}
    asked = {"unit": "u", "kind": "trace", "points": points}
    document = startup(CLOUD, demand=asked, horizon=hours)
    assert demand(document) == [1, 2, 2]
    assert any("not seen" in one["source"] for one in simulate(document)["assumptions"])
    february = {"start": "2026-02-01T00:00:00+00:00", "months": 1, "step_s": 86_400}
    assert len(demand(document | {"horizon": february})) == 28
    for wrong in ({"days": "0.05"}, {"months": 1, "start": at(60)}, {"months": 1, "step_s": 7}):
        horizon = {"start": JANUARY.isoformat(), "step_s": 3600} | wrong
        assert refused(document | {"horizon": horizon})


def test_rule_02_windows_follow_the_wall_clock_through_its_changes() -> None:
    window = {"from": "01:00", "to": "02:00", "level": 1}
    zone = {"time_zone": "Europe/Dublin"}
    spring = demand(daily("2026-03-29T00:00:00+00:00", [window], **zone))
    autumn = demand(daily("2026-10-25T00:00:00+00:00", [window], **zone))
    assert sum(spring) == 0  # from 01:00 the clock shows 02:00
    assert autumn[:5] == [1, 1, 1, 1, 0]  # summer's hour from 00:00 UTC, winter's from 01:00
    summer = demand(daily("2026-07-01T00:00:00+01:00", [window], **zone))
    assert summer[:5] == [0, 0, 1, 1, 0]  # the horizon starts at midnight in Dublin
    assert demand(daily("2026-07-01T00:00:00+00:00", [window]))[2:4] == [1, 1]  # UTC by default


def test_rule_03_windows_cross_midnight_and_replace_the_base() -> None:
    monday, tuesday = "2026-01-05T00:00:00+00:00", "2026-01-06T00:00:00+00:00"
    night = [{"from": "22:00", "to": "02:00", "level": 1, "weekdays": [0]}]
    assert demand(daily(monday, night, base=5)) == [5] * 44 + [1] * 4  # lower than the base
    assert demand(daily(tuesday, night, base=5)) == [1] * 4 + [5] * 44
    whole = [{"from": "06:00", "to": "06:00", "level": 2, "weekdays": [0]}]
    assert sum(demand(daily(monday, whole)) + demand(daily(tuesday, whole))) == 2 * 48
    late = [
        {"from": "23:00", "to": "24:00", "level": 1},
        {"from": "23:30", "to": "24:00", "level": 3},
    ]
    assert demand(daily(monday, late))[45:] == [0, 1, 3]
    early = [{"from": "24:00", "to": "02:00", "level": 1}]
    assert refused(daily(monday, early)) == {"/demand/windows/0/from"}


def test_rule_04_trace_is_zero_before_its_first_point_and_keeps_its_last() -> None:
    asked: Document = {"unit": "u", "kind": "trace", "points": [[at(2), 3], [at(3), 4]]}
    assert demand(steps([0]) | {"demand": asked})[:5] == [0, 0, 3, 4, 4]
    epoch = int(JANUARY.timestamp())
    csv = f"time,value\n{epoch + 120},3\n{at(3)},4\n"
    by_csv = {"unit": "u", "kind": "trace", "csv": csv}
    assert demand(steps([0]) | {"demand": by_csv})[:5] == [0, 0, 3, 4, 4]
    for points in ([[at(2), 3], [at(2), 4]], [[at(2), 3], [at(1), 4]]):
        assert refused(steps([0]) | {"demand": asked | {"points": points}}) == {"/demand/points/1"}


# --- servers and policy -------------------------------------------------------------------------


def test_rule_05_need_is_exact_and_unmet_demand_ignores_the_target() -> None:
    edge = [3.0, 3.000000001, 3.000000002, 0.0, 1e-10]
    assert running(steps(edge)) == [3, 3, 4, 0, 0]
    half = {"units_per_server": "1", "target_utilisation": "0.5"}
    assert running(steps([2.0, 2.1], capacity=half)) == [4, 5]
    two = {"kind": "fixed", "count": 2}
    assert missing(steps([2.0, 2.5], capacity=half, policy=two)) == [0, 0.5]
    # 7 × 0.7 is 4.9, though not in binary fractions
    exact = steps([4.9, 4.2], capacity={"units_per_server": "0.7"})
    assert first(exact)["unserved_minutes"] == 0
    assert missing(exact) == [0, 0]


def test_rule_06_durations_cover_whole_steps_and_have_defaults() -> None:
    late = [1.0, 1, 4, 4, 4, 4]
    assert serving(steps(late, policy={"kind": "perfect"})) == [1, 1, 4, 4, 4, 4]
    for warmup_s, served in ((1, [1, 1, 1, 4]), (60, [1, 1, 1, 4]), (61, [1, 1, 1, 1])):
        assert serving(steps(late, policy={"warmup_s": warmup_s}))[:4] == served
    # 300 s of waiting before servers end, none before they start, nothing bounded
    once = [1.0, 4, 1, 1, 1, 1, 1, 1]
    assert running(steps(once, policy={"kind": "hpa"})) == [1, 4, 4, 4, 4, 4, 1, 1]


def test_rule_07_before_the_horizon_everything_was_as_in_its_first_step() -> None:
    policy = {"kind": "hpa", "warmup_s": 600, "lag_s": 120, "out_window_s": 300}
    document = steps([3.0, 3, 3, 3], policy=policy)
    assert serving(document) == [3, 3, 3, 3]
    assert serving(steps([3.0, 5, 5, 5], policy={"lag_s": 120})) == [3, 3, 3, 5]


def test_rule_08_lag_shows_an_earlier_need_within_the_bounds() -> None:
    levels = [1.0, 5, 2, 0, 3]
    seen = {"lag_s": 60, "min": 1, "max": 4}
    assert running(steps(levels, policy=seen)) == [1, 1, 4, 2, 1]
    hpa = seen | {"kind": "hpa", "in_window_s": 0}
    assert running(steps(levels, policy=hpa)) == [1, 1, 4, 2, 1]
    window = {"from": "00:01", "to": "00:02", "level": 3}
    at_once = {"kind": "scheduled", "base": 1, "windows": [window], "lag_s": 60}
    assert running(steps(levels, policy=at_once)) == [1, 3, 1, 1, 1]
    assert running(steps(levels, policy={"kind": "fixed", "count": 2, "lag_s": 60})) == [2] * 5


def test_rule_09_perfect_is_hpa_without_windows() -> None:
    levels = [1.0, 5, 2, 0, 3, 3, 9, 1]
    common = {"lag_s": 120, "warmup_s": 60, "max": 7}
    perfect = steps(levels, policy=common | {"kind": "perfect"})
    hpa = steps(levels, policy=common | {"kind": "hpa", "out_window_s": 0, "in_window_s": 0})
    assert running(perfect) == running(hpa) == [1, 1, 1, 5, 2, 0, 3, 3]
    assert serving(perfect) == serving(hpa)


def test_rule_10_hpa_stays_between_the_least_and_the_most_of_its_windows() -> None:
    levels = [2.0, 4, 4, 2, 2, 2, 6, 2, 2, 2]
    policy = {"kind": "hpa", "out_window_s": 120, "in_window_s": 180}
    # least of 2 steps:  2 2 4 2 2 2 2 2 2 2
    # most of 3 steps:   2 4 4 4 4 2 6 6 6 2
    assert running(steps(levels, policy=policy)) == [2, 2, 4, 4, 4, 2, 2, 2, 2, 2]


def test_rule_11_fixed_and_scheduled_servers_stay_within_min_and_max() -> None:
    def of(**policy: Any) -> list[int]:
        return running(steps([1.0] * 3, policy=policy))

    assert of(kind="fixed", count=5, max=3) == [3, 3, 3]
    assert of(kind="fixed", count=1, min=2) == [2, 2, 2]
    window = {"from": "02:01", "to": "02:02", "level": 5}
    local = {"kind": "scheduled", "base": 1, "windows": [window], "time_zone": "Europe/Athens"}
    assert of(**local) == [1, 5, 1]
    assert of(**local, min=2, max=4) == [2, 4, 2]


def test_rule_12_min_and_max_limit_the_fleet_and_quota_the_burst() -> None:
    levels = [1.0, 9, 3]
    option = hybrid("h", price("1"), price("1"), 2)
    bounds = steps(levels, option, policy={"min": 3, "max": 7})
    assert running(bounds) == [1, 5, 1]  # 3, 7, 3 less the two that are always on
    quota = steps(levels, option, policy={"quota": 4})
    assert running(quota) == [0, 4, 1]
    assert missing(quota) == [0, 3, 0]  # 9 − 2 − 4, and nobody asks again
    assert running(steps(levels, policy={"min": 5, "quota": 4})) == [4, 4, 4]  # applied last
    assert refused(steps(levels, policy={"min": 4, "max": 3})) == {"/policy/min"}


def test_rule_13_warm_up_delays_service_and_neither_bill_nor_policy() -> None:
    levels = [1.0, 3, 3, 3, 3, 1]
    document = steps(levels, policy={"warmup_s": 120})
    assert running(document) == [1, 3, 3, 3, 3, 1]
    assert serving(document) == [1, 1, 1, 3, 3, 1]  # least of the last 3 steps
    assert missing(document) == [0, 2, 2, 0, 0, 0]
    assert total(document) == Fraction(6 + 2 * 4, 60)


def test_rule_14_the_newest_server_ends_first_or_with_the_horizon() -> None:
    lives = ran(steps([1.0, 3, 2, 3])).fleet.lives
    start = int(JANUARY.timestamp())
    begins, ends = (lives.start_s - start).tolist(), (lives.end_s - start).tolist()
    assert list(zip(lives.slot.tolist(), begins, ends, strict=True)) == [
        (1, 0, 240), (2, 60, 240), (3, 60, 120), (3, 180, 240),
    ]  # fmt: skip
    # the third server ends while it warms up, the first two go on warming
    assert serving(steps([1.0, 3, 2, 2, 2], policy={"warmup_s": 120})) == [1, 1, 1, 2, 2]
    # lives of 240, 180, 60 and 60 s, cut at the end: an hour begun each
    assert total(steps([1.0, 3, 2, 3], all_of("h", price("1", "hour_ceil")))) == 4
    assert total(steps([1.0, 3, 2, 3], all_of("m", price("60", "per_minute")))) == 4 * 10


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ([("base", 1)], "parts"),
        ([("burst", None)], "parts"),
        ([("all", None), ("burst", None)], "parts"),
        ([("base", 1), ("base", 1)], "parts"),
        ([("all", "optimal")], "parts/0/count"),
        ([("base", None), ("burst", None)], "parts/0/count"),
        ([("base", 1), ("burst", 1)], "parts/1/count"),
        ([("base", 1), ("burst", "peak")], "parts/1/count"),
    ],
)
def test_rule_15_an_option_is_one_part_or_a_base_and_a_burst(parts: Any, field: str) -> None:
    told = [{"role": role, "count": count, "price": price("1")} for role, count in parts]
    assert refused(steps([1.0], {"name": "o", "parts": told})) == {f"/options/0/{field}"}


def test_rule_15_an_option_may_state_its_parts_in_any_order() -> None:
    option = hybrid("h", price("1"), price("2"), 1)
    backwards = option | {"parts": option["parts"][::-1]}
    assert total(steps([3.0, 1], option)) == total(steps([3.0, 1], backwards)) == Fraction(6, 60)


def test_rule_16_peak_stays_within_min_and_max_and_a_number_does_not() -> None:
    levels, peak = [1.0, 6, 2], all_of("p", price("1"), count="peak")
    for policy, count in (({}, 6), ({"max": 4}, 4), ({"min": 8}, 8), ({"quota": 1}, 6)):
        assert ran(steps(levels, peak, policy=policy)).fleet.always_on == count
    nine = all_of("n", price("1"), count=9)
    assert ran(steps(levels, nine, policy={"max": 4})).fleet.always_on == 9
    # without load: no server is needed
    assert ran(steps([0.0], peak)).fleet.always_on == 0


def test_rule_17_elastic_servers_take_what_the_base_leaves_at_the_target() -> None:
    levels = [1.0, 6, 3, 3, 2]
    policy = {"kind": "hpa", "in_window_s": 120, "max": 5}
    alone = running(steps(levels, policy=policy))
    beside = running(steps(levels, hybrid("h", price("1"), price("1"), 2), policy=policy))
    assert beside == [max(0, n - 2) for n in alone]
    # one base server of 2 units at a target of half carries 1 of 3; 2 are left for 1 × 0.5 each
    option = hybrid("two sizes", price("1"), price("1"), 1)
    option["parts"][0]["capacity"] = "2"
    half = {"units_per_server": "1", "target_utilisation": "0.5"}
    assert running(steps([3.0, 1.0], option, capacity=half)) == [4, 0]
    assert running(steps([3.0], option, policy={"kind": "fixed", "count": 5})) == [4]
    window = {"from": "00:01", "to": "00:02", "level": 5}
    plan = {"kind": "scheduled", "base": 1, "windows": [window]}
    two = hybrid("h", price("1"), price("1"), 2)
    assert running(steps([1.0] * 3, two, policy=plan)) == [0, 3, 0]


def test_rule_18_optimal_is_the_smallest_of_the_cheapest_bases() -> None:
    def base(amount: str, **policy: Any) -> int | None:
        option = hybrid("h", price(amount, "monthly"), price("0.1"))
        return ran(startup(option, policy=policy)).fleet.base

    # a server of 720 h costs 72 in the cloud, one of 150 h 15
    assert [base(amount) for amount in ("72", "71.99", "15", "14.99")] == [0, 3, 3, 20]
    assert base("14.99", quota=5) == 20
    # hours begun: slots 2 and 3 live 20 minutes twice and once; by the hour 2 and 1
    levels = [1.0] + [3] * 20 + [1] * 19 + [2] * 20
    option = hybrid("h", price("1.5", "monthly"), price("1", "hour_ceil"))
    found = ran(steps(levels, option))
    assert (found.fleet.base, found.total) == (0, 4)  # 1 + 2 + 1 beside 1.5 a server
    cheap = hybrid("h", price("1.4", "monthly"), price("1", "hour_ceil"))
    # k = 0: 4; 1: 1.4 + 3; 2: 2.8 + 1; 3: 4.2 — no single server pays, two do
    assert ran(steps(levels, cheap)).fleet.base == 2


def test_rule_18_optimal_counts_the_setup_of_each_server() -> None:
    for setup, base in (("0", 3), ("1.99", 3), ("2", 0)):
        option = hybrid("h", price("70", "dedicated", setup=setup), price("0.1"))
        assert ran(startup(option)).fleet.base == base  # 70 + setup against 72


def test_rule_19_hours_launches_and_peak_count_warming_servers() -> None:
    levels = [1.0, 4, 1, 3]
    found = first(steps(levels, policy={"warmup_s": 600}))
    assert found["server_hours"] == pytest.approx(9 / 60)
    assert (found["launches"], found["peak_servers"]) == (1 + 3 + 2, 4)
    found = first(steps(levels, hybrid("h", price("1"), price("1"), 2)))
    assert (found["launches"], found["peak_servers"]) == (2 + 1, 4)
    assert found["server_hours"] == pytest.approx((4 * 2 + 2 + 1) / 60)
    assert first(steps(levels, all_of("n", price("1"), count=5)))["launches"] == 0


def test_rule_20_figures_of_a_result() -> None:
    levels = [2.0, 5, 2, 3]
    document = steps(levels, all_of("h", price("6", "hour_ceil")), policy={"max": 3})
    found = first(document)
    assert found["unserved_share"] == pytest.approx(2 / 12)
    assert (found["unserved_minutes"], found["worst_minute_unserved"]) == (1, 2)
    assert found["utilisation"] == pytest.approx(10 / 10)  # 2 + 3 + 2 + 3 servers, all full
    # slots 1, 2: one life each; slot 3: two → 4 hours begun against 10 minutes at 6/60
    assert (found["cost_total"], found["billing_overhead_ratio"]) == ("24.000000", 24)
    assert found["base_servers"] is None
    assert found["cost_per_demand_unit_hour"] == "144.000000"  # 24 / (10 units × 1/60 h)
    assert Decimal(found["cost_per_month"]) == 24 * 730 * 15  # the horizon is 1/15 h
    month = {"start": JANUARY.isoformat(), "months": 2, "step_s": 86_400}
    two = first(startup(all_of("o", price("1"), count=1), horizon=month))
    assert two["cost_per_month"] == "708.000000"  # 59 × 24 / 2
    monthly = first(steps(levels, hybrid("h", price("9", "monthly"), price("1"), 1)))
    assert (monthly["billing_overhead_ratio"], monthly["base_servers"]) == (None, 1)
    idle = first(steps([0.0, 0]))
    assert (idle["unserved_share"], idle["utilisation"]) == (0, None)
    assert idle["cost_per_demand_unit_hour"] is None


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (Fraction(438, 10**8), "0.00000438"),
        (Fraction(1, 3 * 10**6), "0.00000033333333333333333333"),
        (Fraction(200, 3), "66.666666666666666667"),
        (Fraction(24), "24.000000"),
        (Fraction(0), "0.000000"),
    ],
)
def test_cost_of_a_unit_keeps_its_digits_when_it_is_small(amount: Fraction, shown: str) -> None:
    assert quotient(amount) == shown
