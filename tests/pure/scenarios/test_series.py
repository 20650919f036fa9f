"""The series behind charts and tables."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.scenarios.calc.series import series
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup

QUARTER = {"start": "2026-01-01T00:00:00+00:00", "months": 3, "step_s": 900}


def three(**given: Any) -> Document:
    return startup(
        all_of("cloud", price("0.4")),
        all_of("dedicated", price("100", "dedicated", setup="50", minimum_months=6), count=20),
        hybrid("hybrid", price("0.05", "reserved", upfront="876"), price("0.4"), 3),
        **given,
    )


def test_series_have_a_value_for_each_point_and_keep_the_peak() -> None:
    short = three(policy={"kind": "perfect", "quota": 12})
    whole, thin = series(short, most_points=10**6), series(short, most_points=100)
    assert len(whole["t"]) == len(whole["demand"]) == 43_200
    assert whole["t"][1] == "2026-01-01T00:01:00+00:00"
    # 43,200 steps in 100 points of 432; every point touches five of 7.2 hours, some the peak
    assert (len(thin["t"]), thin["point_s"]) == (100, 432 * 60)
    for name in ("running", "serving", "carried", "unserved"):
        values = [one[name] for one in thin["options"]]
        assert [len(one) for one in values] == [100] * 3
        assert [max(one) for one in values] == [max(one[name]) for one in whole["options"]]
    assert max(thin["demand"]) == 20
    assert [max(one["unserved"]) for one in thin["options"]] == [8, 0, 8]  # 20 − 12; 20 are there


def test_carried_units_are_those_of_the_servers_in_service() -> None:
    document = startup(hybrid("two sizes", price("100", "monthly"), price("0.4"), 2), capacity={})
    for part, units in zip(document["options"][0]["parts"], ("2", "0.5"), strict=True):
        part["capacity"] = units
    (option,) = series(document)["options"]
    # night: 2 × 2 carry the 3 units; day: 16 of the 20 units are left for 32 servers of a half
    assert (min(option["running"]), max(option["running"])) == (2, 34)
    assert (min(option["carried"]), max(option["carried"])) == (4, 20)


def test_load_duration_falls_and_its_bands_add_up_to_what_runs() -> None:
    found = series(three(), most_points=1000)["load_duration"]
    assert found["share"][0] == 0
    assert found["demand"] == sorted(found["demand"], reverse=True)
    kinds = [option["base_kind"] for option in found["options"]]
    assert kinds == [None, "servers", "reservations"]
    cloud, dedicated, reserved = found["options"]
    assert (set(cloud["base"]), max(cloud["burst"])) == ({0}, 20)
    assert (set(dedicated["base"]), set(dedicated["burst"])) == ({20}, {0})
    assert (set(reserved["base"]), max(reserved["burst"])) == ({3}, 17)
    # five of 24 hours: the burst band is 17 high for 20.83 % of the time
    on = sum(1 for height in reserved["burst"] if height == 17) / len(found["share"])
    assert on == pytest.approx(5 / 24, abs=0.002)


def test_months_add_up_to_the_bill_and_stand_beside_what_is_unserved() -> None:
    document = three(horizon=QUARTER, policy={"kind": "perfect", "quota": 12})
    months, total = series(document)["months"], simulate(document)["options"]
    assert [row["month"] for row in months] == ["2026-01", "2026-02", "2026-03"]
    for place, option in enumerate(total):
        each = [row["options"][place] for row in months]
        assert sum(Decimal(one["cost"]) for one in each) == Decimal(option["cost_total"])
        for name, amount in option["breakdown"].items():
            assert sum(Decimal(one["breakdown"][name]) for one in each) == Decimal(amount)
        for one in each:
            assert one["unserved_share"] == pytest.approx(option["unserved_share"])
    # January: 31 × (3 × 24 + 9 × 5) × 0.4
    assert Decimal(months[0]["options"][0]["cost"]) == Decimal("1450.8")


def test_cash_is_paid_when_due_and_exit_costs_the_rest_of_the_term() -> None:
    cash = series(three(horizon=QUARTER))["cash"]
    first, last = cash[0]["options"], cash[-1]["options"]
    assert first[0]["exit"] == "0.000000"
    # dedicated: 20 × (50 set-up + 100 a month); of 6 months 5 are owed, then 3
    assert [Decimal(one["options"][1]["paid"]) for one in cash] == [3000, 5000, 7000]
    assert [Decimal(one["options"][1]["exit"]) for one in cash] == [10_000, 8000, 6000]
    # three reservations: 876 each at once, .05 an hour of 8,760, and 31 days of 17 × 5 h at .4
    burst = 31 * 85 * Decimal("0.4")
    assert Decimal(first[2]["paid"]) == 3 * (876 + Decimal("0.05") * 744) + burst
    assert Decimal(first[2]["exit"]) == 3 * Decimal("0.05") * (8760 - 744)
    assert Decimal(last[2]["exit"]) == 3 * Decimal("0.05") * (8760 - 90 * 24)


def test_own_hardware_is_paid_at_the_start() -> None:
    hardware = {
        "name": "rack",
        "currency": "USD",
        "servers": 1,
        "items": [{"name": "server", "count": 1, "unit_price": "3600", "watts": "0"}],
        "life_months": 36,
        "residual_ratio": "0",
        "discount_rate_per_year": "0",
        "annual_failure_rate": "0",
        "rack_price_per_unit_month": "0",
        "support_ratio_per_year": "0",
        "staff_hours_per_month": "0",
        "network_price_per_month": "0",
    }
    own = {"billing": "purchase", "unit": "month", "currency": "USD", "hardware": hardware}
    horizon = {"start": "2026-01-01T00:00:00+00:00", "days": "365", "step_s": 86_400}
    document = startup(all_of("own", own, count=1), horizon=horizon)
    cash = [row["options"][0] for row in series(document)["cash"]]
    assert {(Decimal(one["paid"]), Decimal(one["exit"])) for one in cash} == {(3600, 0)}
    # 12 of 36 months of 730 hours
    assert Decimal(simulate(document)["options"][0]["cost_total"]) == 1200


@given(st.integers(1, 400), st.integers(1, 100))
def test_points_never_exceed_what_is_asked_for(count: int, most: int) -> None:
    horizon = {"start": "2026-01-31T22:00:00+00:00", "days": count, "step_s": 86_400}
    found = series(three(horizon=horizon), most_points=most)
    assert 1 <= len(found["t"]) <= most
    assert len(found["load_duration"]["share"]) == len(found["t"])
