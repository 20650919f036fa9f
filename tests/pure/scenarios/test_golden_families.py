"""Worked figures of the families of scenarios that one document each can tell."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from backend.foundation.errors import InvalidValue
from backend.scenarios.calc.simulate import simulate
from tests.oracles.scenarios.mixed import Candidate, mixed
from tests.oracles.scenarios.plans import Plan, cheapest_plans, time_shares
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from tests.pure.scenarios.short import ran, scenario_of, steps

MONTH = {"start": "2026-01-01T00:00:00+00:00", "days": 30, "step_s": 3600}


def options(document: Document) -> list[dict[str, Any]]:
    return list(simulate(document)["options"])


def costs(document: Document) -> list[Decimal]:
    return [Decimal(option["cost_total"]) for option in options(document)]


# --- B: the figures beside the bill -------------------------------------------------------------


def test_startup_uses_a_third_of_twenty_servers() -> None:
    cloud, always = options(
        startup(all_of("cloud", price("1.64")), all_of("always", price("1.64"), count="peak"))
    )
    # 157 against 480 server-hours a day, 4,710 against 14,400 in 30 days: 67.29 % less
    assert (cloud["server_hours"], always["server_hours"]) == (4710, 14_400)
    assert round(1 - cloud["server_hours"] / always["server_hours"], 4) == 0.6729
    # a day: 157 × 1.64 = 257.48 against 480 × 1.64 = 787.20
    assert Decimal(cloud["cost_total"]) / 30 == Decimal("257.48")
    assert Decimal(always["cost_total"]) / 30 == Decimal("787.20")
    assert Decimal(cloud["cost_total"]) == Decimal("7724.40")


def test_startup_has_its_peak_for_five_of_twenty_four_hours() -> None:
    shares = time_shares(ran(startup(all_of("c", price("1")))).fleet.running)
    # the text says 20 % of the hours; 10:00 to 15:00 are 5/24 = 20.83 %
    assert shares == [1] * 3 + [Fraction(5, 24)] * 17


def test_three_plans_share_the_load_where_their_costs_cross() -> None:
    plans = [
        Plan("owned", Fraction(100), Fraction(0)),
        Plan("reserved", Fraction(40), Fraction(90)),
        Plan("on demand", Fraction(0), Fraction(200)),
    ]
    # 40 + 90 u = 200 u at u = 40/110 = .3636; 100 = 40 + 90 u at u = 60/90 = .6667
    for share, name in (
        (363, "on demand"), (364, "reserved"), (666, "reserved"), (667, "owned"),
    ):  # fmt: skip
        running = ran(steps([1.0] * share + [0.0] * (1000 - share))).fleet.running
        assert [plan.name for plan, _ in cheapest_plans(running, plans)] == [name]
    # B: three servers all the time at 100, 17 for 5/24 of it at 200 · 5/24 = 41.667
    chosen = cheapest_plans(ran(startup(all_of("c", price("1")))).fleet.running, plans)
    assert [plan.name for plan, _ in chosen] == ["owned"] * 3 + ["on demand"] * 17
    assert sum(cost for _, cost in chosen) == 300 + 17 * Fraction(1000, 24)  # 1,008.33


def test_optimal_base_is_the_split_by_time_shares() -> None:
    # 100 a month against 200 for a month of hours (200 / 720 an hour): 300 + 17 × 41.667
    document = startup(hybrid("h", price("100", "monthly"), price("0.2777777777777777777778")))
    (option,) = options(document)
    assert option["base_servers"] == 3
    assert round(Decimal(option["cost_total"]), 2) == Decimal("1008.33")


# --- D, E: events and regions -------------------------------------------------------------------


def test_event_costs_eighteen_server_hours_to_be_ready_an_hour_before() -> None:
    window = {"from": "12:00", "to": "18:00", "level": 20}
    asked = {"unit": "u", "kind": "daily", "base": 2, "windows": [window]}
    ready = {
        "kind": "scheduled",
        "base": 2,
        "windows": [window | {"from": "11:00"}],
        "warmup_s": 180,
    }
    day = MONTH | {"days": 1, "step_s": 60}
    late = startup(all_of("o", price("1")), demand=asked, horizon=day, policy={"warmup_s": 180})
    early = startup(all_of("o", price("1")), demand=asked, horizon=day, policy=ready)
    (a,), (b,) = options(late), options(early)
    assert (a["unserved_minutes"], b["unserved_minutes"]) == (3, 0)
    assert Decimal(b["cost_total"]) - Decimal(a["cost_total"]) == 18  # 18 × 1 h × 1


def test_regions_need_two_servers_each_and_four_together() -> None:
    def servers(load: str) -> int:
        asked = {"unit": "servers", "kind": "daily", "base": load}
        return int(options(startup(all_of("o", price("1")), demand=asked))[0]["peak_servers"])

    # three regions of 1.2 servers' load: 3 × 2 = 6; pooled 3.6: 4
    assert (3 * servers("1.2"), servers("3.6")) == (6, 4)


# --- F: stop or delete --------------------------------------------------------------------------


def test_stopped_server_is_paid_all_month_and_a_deleted_one_for_its_hours() -> None:
    window = {"from": "22:00", "to": "01:00", "level": 1}
    night = {"unit": "servers", "kind": "daily", "base": 0, "windows": [window]}
    stop, delete = costs(
        startup(
            all_of("stop", price("1", "hour_ceil"), count=1),
            all_of("delete", price("1", "hour_ceil")),
            demand=night,
        )
    )
    # 30 days of 24 h; 29 nights of 3 h, one hour of the night before and two of the last
    assert (stop, delete) == (720, 90)


# --- G: flat or by the gigabyte -----------------------------------------------------------------


@pytest.mark.parametrize(("volume", "is_flat_cheaper"), [("666.66", False), ("666.67", True)])
def test_flat_port_pays_from_667_gigabytes_on(volume: str, is_flat_cheaper: bool) -> None:
    # 100 against 20 + .12 a GB: 80 / .12 = 666.67 GB a month = 2.058 Mbit/s in the mean
    tiers = {"egress_gb_per_month": volume, "egress_tiers": [[None, "0.12"]]}
    flat, metered = costs(
        startup(
            all_of("flat", price("100", "monthly"), count=1),
            all_of("metered", price("20", "monthly"), count=1) | {"extras": tiers},
        )
    )
    assert (flat < metered) == is_flat_cheaper
    assert round(666.67e9 * 8 / (30 * 86_400) / 1e6, 3) == 2.058


def test_twenty_dollars_and_a_full_line_cost_5852() -> None:
    # 150 Mbit/s = 18.75 MB/s; × 2,592,000 s = 48,600 GB; 20 + 48,600 × .12
    volume = Decimal(150) / 8 * 2_592_000 / 1000
    tiers = {"egress_gb_per_month": str(volume), "egress_tiers": [[None, "0.12"]]}
    document = startup(all_of("o", price("20", "monthly"), count=1) | {"extras": tiers})
    assert (volume, costs(document)) == (48_600, [5852])


# --- H: managed or by one's own staff -----------------------------------------------------------


@pytest.mark.parametrize(("hours", "is_managed_cheaper"), [("4.9", False), ("5.1", True)])
def test_managed_service_pays_from_its_premium_over_the_wage_on(
    hours: str, is_managed_cheaper: bool
) -> None:
    # (500 − 200) / 60 = 5 hours saved a month
    staff = {"staff_hours_per_month": hours, "staff_usd_per_hour": "60"}
    own, managed = costs(
        startup(
            all_of("own", price("200", "monthly"), count=1) | {"extras": staff},
            all_of("managed", price("500", "monthly"), count=1),
        )
    )
    assert (managed < own) == is_managed_cheaper


# --- buying, renting, caps ----------------------------------------------------------------------


def test_ninety_days_of_renting_are_a_server_bought() -> None:
    # 3,542.40 / 1.64 = 2,160 h = 90 d
    document = startup(all_of("o", price("1.64"), count=1), horizon=MONTH | {"days": 90})
    assert costs(document) == [Decimal("3542.40")]


@pytest.mark.parametrize(("hours", "is_rent_cheaper"), [(60, True), (61, False)])
def test_rent_by_the_hour_pays_up_to_61_hours_a_month(hours: int, is_rent_cheaper: bool) -> None:
    # 100 / 1.64 = 60.98 h = 8.47 % of 720
    points = [[MONTH["start"], 1], [f"2026-01-{1 + hours // 24:02d}T{hours % 24:02d}:00:00Z", 0]]
    rent, month = costs(
        startup(
            all_of("rent", price("1.64")),
            all_of("month", price("100", "monthly"), count=1),
            demand={"unit": "servers", "kind": "trace", "points": points},
            horizon=MONTH,
        )
    )
    assert (rent < month) == is_rent_cheaper
    assert round(100 / 1.64 / 720, 4) == 0.0847


@pytest.mark.parametrize(("days", "total"), [("14", "5"), ("28", "10"), ("30", "10")])
def test_droplet_is_capped_at_672_hours(days: str, total: str) -> None:
    # 10 a month of 672 h: 336 h cost 5, 672 h and 720 h (the text has 700) cost 10
    given = price("0.014880952380952380952381", "hour_ceil_cap", cap="10")
    document = startup(all_of("o", given, count=1), horizon=MONTH | {"days": days})
    assert costs(document) == [Decimal(total)]


# --- many offers, mixed fleets ------------------------------------------------------------------


def candidates(*given: tuple[str, str, str]) -> list[Candidate]:
    return [Candidate(name, Fraction(units), Fraction(cost)) for name, units, cost in given]


def test_mixed_fleet_takes_the_cheapest_cover_of_every_level() -> None:
    # 3 units: one large (1.0) beats three small (1.2); 20 units: 6 large and 2 small, 6.8
    large_small = candidates(("large", "3", "1.0"), ("small", "1", "0.4"))
    found = mixed(scenario_of(startup(all_of("o", price("1")))), large_small)
    assert (found.at_peak, found.is_exact) == ({"large": 6, "small": 2}, True)
    assert found.cost == 30 * (19 * 1 + 5 * Fraction("6.8"))


def test_mixed_fleet_is_approximate_without_a_coarse_common_measure() -> None:
    odd = candidates(("a", "1.0001", "1.0"), ("b", "0.9999", "1.0"))
    found = mixed(scenario_of(startup(all_of("o", price("1")))), odd)
    assert not found.is_exact
    assert sum(found.at_peak.values()) in {20, 21}


def test_mixed_fleet_of_no_offers_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one offer"):
        mixed(scenario_of(startup(all_of("o", price("1")))), [])
