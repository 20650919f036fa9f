"""The rules of bills, money and shared links, one by one; each sum stands beside it."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import pytest

from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from tests.pure.scenarios.short import (
    CLOUD,
    first,
    ran,
    refused,
    running,
    steps,
    total,
)
from tests.pure.storage_documents import faults, flow, link, shared

# --- billing ------------------------------------------------------------------------------------


def test_rule_21_units_belong_to_their_rules() -> None:
    for billing in ("per_second", "per_minute", "hour_ceil", "sustained_use", "spot"):
        wrong = price("1", billing) | {"unit": "month"}
        assert refused(steps([1.0], all_of("o", wrong))) == {"/options/0/parts/0/price/unit"}
    wrong = price("1", "monthly") | {"unit": "hour"}
    assert refused(steps([1.0], all_of("o", wrong))) == {"/options/0/parts/0/price/unit"}


@pytest.mark.parametrize(
    ("given", "cost"),
    [
        (price("3600"), 60 + 90 + 60),  # lives of 30, 90 and 60 s
        (price("3600", minimum_s=0), 180),
        (price("60", "per_minute"), 30),
        (price("60", "per_minute", minimum_minutes=1), 1 + 2 + 1),
        (price("1", "hour_ceil"), 3),
        (price("3600", "spot"), 210),
    ],
)
def test_rule_22_time_is_billed_for_each_life(given: Document, cost: int) -> None:
    levels = [1.0, 0, 1, 1, 1, 0, 1, 1]
    assert total(steps(levels, all_of("o", given), step_s=30)) == cost


def test_rule_23_hours_count_from_launch_and_the_cap_is_per_month() -> None:
    start = dt.datetime(2026, 1, 31, 22, 30, tzinfo=dt.UTC)
    capped = all_of("o", price("1", "hour_ceil_cap", cap="1.5"))
    # hours from 22:30 and 23:30 in January (2, capped at 1.5), from 00:30 in February
    assert total(steps([1.0] * 6, capped, step_s=1800, start=start)) == Fraction("2.5")
    # launched anew: hours from 22:30 and 23:30 again, but of two servers
    assert total(steps([1.0, 0, 1], capped, step_s=1800, start=start)) == 2


def test_rule_24_a_started_month_is_paid_per_slot_and_used_again() -> None:
    monthly = all_of("o", price("10", "monthly"))
    assert total(steps([2.0, 0, 1, 0, 2], monthly)) == 20
    over = dt.datetime(2026, 1, 31, 23, 58, tzinfo=dt.UTC)
    assert (
        total(steps([2.0, 0, 1, 0], monthly, start=over)) == 30
    )  # two in January, one in February
    by_hours = all_of("o", price("10", "monthly", month_convention=100))
    assert total(steps([2.0, 0, 1, 0, 2], by_hours)) == Fraction(10 * 5, 60 * 100)


def test_rule_25_months_are_calendar_months_or_run_from_the_start() -> None:
    start = dt.datetime(2026, 1, 20, tzinfo=dt.UTC)
    for convention, months in (("calendar", 2), ("30d", 1), (24 * 7, 3)):
        given = price("1", "hour_ceil_cap", cap="5", month_convention=convention)
        # 20 days: in January and February, in one of 30 days, in three of 7 days
        document = steps([1.0] * 20, all_of("o", given), step_s=86_400, start=start)
        assert total(document) == 5 * months


def test_rule_26_sustained_use_is_a_share_of_the_whole_month() -> None:
    document = steps([1.0] * 10, all_of("o", price("1", "sustained_use")), step_s=86_400)
    # 10 of 31 days: a quarter (186 h) in full, the other 54 h at 0.8
    assert total(document) == 186 + 54 * Fraction("0.8")
    n2 = [["0.25", "1"], ["0.5", "0.8678"], ["0.75", "0.733"], ["1", "0.6"]]
    document = steps([1.0] * 10, all_of("o", price("1", "sustained_use", tiers=n2)), step_s=86_400)
    assert total(document) == 186 + 54 * Fraction("0.8678")


def test_rule_27_reservations_cover_each_clock_hour_of_any_server() -> None:
    start = dt.datetime(2026, 1, 1, 0, 30, tzinfo=dt.UTC)
    option = hybrid("ri", price("0.5", "reserved", upfront="876"), price("1"), 1)
    # half an hour from 00:30: 2 servers, 1 covered; an hour of 3 for 20 min: all of it covered
    levels = [2.0] * 3 + [3, 3, 0, 0, 0, 0]
    found = ran(steps(levels, option, step_s=600, start=start, policy={"quota": 3}))
    fee = Fraction(3, 2) * (Fraction("0.5") + Fraction(876, 8760))
    assert (found.total, found.fleet.base) == (fee + Fraction(1, 2), 1)
    assert found.fleet.always_on == 0
    assert max(running(steps(levels, option, step_s=600, start=start, policy={"quota": 1}))) == 1
    always = all_of("ri", price("0.5", "reserved"), count=2)
    assert total(steps([5.0], always, step_s=3600)) == 1
    elastic = all_of("ri", price("0.5", "reserved"))
    assert refused(steps([1.0], elastic)) == {"/options/0/parts/0/price/billing"}
    for billing in ("hour_ceil", "spot", "per_minute"):
        wrong = hybrid("ri", price("1", "reserved"), price("1", billing), 1)
        assert refused(steps([1.0], wrong)) == {"/options/0/parts/1/price/billing"}


def test_rule_28_a_savings_plan_discounts_use_up_to_its_commitment() -> None:
    plan = price("1", "savings", commit_per_hour="1", discount="0.3")
    # three server-hours in one hour: 1 + (3 × 0.7 − 1) / 0.7
    three = steps([3.0, 0], all_of("o", plan), step_s=3600)
    assert total(three) == 2 + Fraction(11, 7)
    start = dt.datetime(2026, 1, 1, 0, 45, tzinfo=dt.UTC)
    # a quarter of an hour commits a quarter: nothing used
    assert total(steps([0.0], all_of("o", plan), step_s=900, start=start)) == Fraction(1, 4)


def test_rule_29_commitments_count_a_short_life_as_the_minimum() -> None:
    levels = [1.0] * 10 + [0] * 50
    burst = price("3600", minimum_s=60)
    uncovered = hybrid("ri", price("1", "reserved"), burst, 0)
    assert total(steps(levels, uncovered, step_s=1)) == 60
    own = hybrid("ri", price("1", "reserved", minimum_s=20), burst, 0)
    assert total(steps(levels, own, step_s=1)) == 20
    plan = price("3600", "savings", commit_per_hour="0", discount="0")
    assert total(steps(levels, all_of("o", plan), step_s=1)) == 60
    short = plan | {"minimum_s": 0}
    assert total(steps(levels, all_of("o", short), step_s=1)) == 10


# --- extras and money ---------------------------------------------------------------------------


def test_rule_30_extras_are_paid_per_started_month_and_options_win() -> None:
    start = dt.datetime(2026, 1, 31, tzinfo=dt.UTC)
    common = {
        "storage_gb": "100",
        "storage_usd_per_gb_month": "0.08",
        "staff_hours_per_month": "2",
        "staff_usd_per_hour": "50",
        "fixed_per_month": "7",
    }
    document = steps([0.0, 0], step_s=86_400, start=start, extras=common)  # 31 January, 1 February
    found = first(document)["breakdown"]
    assert [Decimal(found[name]) for name in ("storage", "staff", "fixed")] == [16, 200, 14]
    own = CLOUD | {"extras": {"fixed_per_month": "1", "month_convention": "30d"}}
    found = first(document | {"options": [own]})["breakdown"]
    assert [Decimal(found[name]) for name in ("storage", "staff", "fixed")] == [8, 100, 1]
    hours = common | {"month_convention": 480}
    found = first(document | {"extras": hours})["breakdown"]
    assert [Decimal(found[name]) for name in ("storage", "staff")] == [Decimal("0.8"), 10]  # 48/480


def test_rule_31_egress_has_cumulative_tiers_without_an_end() -> None:
    tiers = [["10", "0"], ["30", "0.1"], [None, "0.05"]]
    extras: Document = {"egress_gb_per_month": "100", "egress_tiers": tiers}
    found = first(steps([0.0], extras=extras))
    assert Decimal(found["breakdown"]["egress"]) == 20 * Decimal("0.1") + 70 * Decimal("0.05")
    assert refused(steps([0.0], extras={"egress_gb_per_month": "1"})) == {"/extras/egress_tiers"}
    bounded = extras | {"egress_tiers": [["10", "1"]]}
    assert "/extras/egress_tiers/0" in refused(steps([0.0], extras=bounded))


def test_rule_32_money_is_exact_and_rounded_once_half_to_even() -> None:
    for amount, rounded in (("0.0000005", "0.000000"), ("0.0000015", "0.000002")):
        hour = steps([1.0], all_of("o", price(amount)), step_s=3600)
        assert first(hour)["cost_total"] == rounded
    # three lives of 1,200 s at a millionth an hour are a third each, and one in all
    thirds = steps([1.0, 0, 1, 0, 1], all_of("o", price("0.000001")), step_s=1200)
    assert first(thirds)["cost_total"] == "0.000001"
    mixed = startup(all_of("a", price("1")), all_of("b", price("1") | {"currency": "EUR"}))
    assert refused(mixed) == {"/options/1/parts/0/price/currency"}


# --- contention ---------------------------------------------------------------------------------


def test_rule_33_a_flow_has_its_rate_or_is_limited_by_a_full_link() -> None:
    links = [link("up", 0.3), link("disk", 0.3)]
    found = shared(links, [flow("a", 3, 0.1, ("disk", "up"))])
    # three times 0.1 fill both links, and each has what it asks
    assert (found.flows[0].rate_bytes_per_s, found.flows[0].bottleneck) == (0.1, None)
    found = shared(links, [flow("a", 3, 0.2, ("disk", "up"))])
    assert (found.flows[0].rate_bytes_per_s, found.flows[0].bottleneck) == (0.1, "disk")


def test_rule_34_impossible_flows_are_refused_and_no_rate_has_no_time() -> None:
    a = [link("a", 10)]
    for impossible in (
        flow("f", 0, 1, ("a",)),
        flow("f", 1, 1, ("a", "a")),
        flow("f", 1, 1, ("b",)),
        flow("f", 1, None, ()),
    ):
        assert all(pointer.startswith("/flows/0/") for pointer in faults(shared, a, [impossible]))
    still = [flow("f", 1, 0, ("a",))]
    assert shared(a, still, transfer_bytes=5).flows[0].transfer_s is None
    assert shared(a, [flow("f", 1, 5, ("a",))]).flows[0].transfer_s is None
