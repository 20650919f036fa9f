"""Worked figures: each sum stands beside it."""

from decimal import Decimal
from typing import Any

import pytest

from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup


def costs(document: Document) -> list[Decimal]:
    return [Decimal(option["cost_total"]) for option in simulate(document)["options"]]


def only(document: Document) -> dict[str, Any]:
    (option,) = simulate(document)["options"]
    return dict(option)


def nightly(start: str, end: str, option: Document, **given: Any) -> Document:
    window = {"from": start, "to": end, "level": 1}
    demand = {"unit": "servers", "kind": "daily", "base": 0, "windows": [window]}
    return startup(option, demand=demand, **given)


def always(days: str, given: Document) -> Document:
    """One server from the first to the last moment."""
    horizon = {"start": "2026-01-01T00:00:00+00:00", "days": days, "step_s": 3600}
    return startup(all_of("one", given, count=1), horizon=horizon)


@pytest.mark.parametrize(
    ("amount", "days", "total"),
    [
        ("1.64", "30", "1180.80"),  # 1.64 × 720
        ("1.98", "30", "1425.60"),  # 1.98 × 720
        ("1.64", "31", "1220.16"),  # 1.64 × 744
        ("1.64", "365", "14366.40"),  # 1.64 × 8,760
    ],
)
def test_hourly_price_over_days(amount: str, days: str, total: str) -> None:
    assert costs(always(days, price(amount))) == [Decimal(total)]


def test_month_of_730_hours() -> None:
    found = only(always("365", price("1.64")))
    assert Decimal(found["cost_per_month"]) == Decimal("1197.20")  # 1.64 × 730


@pytest.mark.parametrize(
    ("days", "given", "month"),
    [
        (1, price("100", "monthly"), "100"),
        (40, price("100", "monthly"), "100"),  # two months begun, 200 in all
        (45, price("100", "monthly", month_convention="30d"), "100"),
        (1, price("100", "monthly", month_convention=730), "100"),
        (1, price("100", "dedicated", setup="50", minimum_months=3), "100"),
        (1, price("1"), "730"),
        (1, price("1", "hour_ceil"), "730"),
    ],
)
def test_month_of_a_horizon_in_days(days: int, given: Document, month: str) -> None:
    """W12, rule 20: a monthly price was taken for the hours of the horizon."""
    found = only(always(str(days), given))
    assert Decimal(found["cost_per_month"]) == Decimal(month)
    assert found["cost_one_off"] == found["breakdown"]["setup"]


def test_month_of_a_horizon_in_months_leaves_out_the_setup() -> None:
    document = always("1", price("100", "dedicated", setup="50"))
    document["horizon"] = {"start": "2026-01-01T00:00:00+00:00", "months": 2, "step_s": 3600}
    found = only(document)
    assert (Decimal(found["cost_total"]), Decimal(found["cost_per_month"])) == (250, 100)
    assert Decimal(found["cost_one_off"]) == 50


@pytest.mark.parametrize(("convention", "month"), [("calendar", 10), ("30d", 10), (365, 20)])
def test_month_of_extras_is_their_monthly_amount(convention: Any, month: int) -> None:
    document = always("1", price("1"))
    document["extras"] = {"fixed_per_month": "10", "month_convention": convention}
    assert Decimal(only(document)["cost_per_month"]) == 730 + month


# --- B: three servers all day, 20 for five hours ------------------------------------------------


def startup_at(amount: str, count: Any = "optimal") -> Document:
    return startup(
        all_of("all cloud", price(amount)),
        all_of("all dedicated", price("100", "monthly"), count="peak"),
        hybrid("hybrid", price("100", "monthly"), price(amount), count),
    )


@pytest.mark.parametrize(
    ("amount", "count", "expected"),
    [
        # cloud: 157 h × 30 × p; dedicated: 20 × 100; hybrid: 3 × 100 + 17 × 5 × 30 × p
        ("0.4", "optimal", [1884, 2000, 1320]),
        ("0.2", "optimal", [942, 2000, 810]),
        ("0.8", 3, [3768, 2000, 2340]),
        ("0.8", "optimal", [3768, 2000, 2000]),  # all 20 dedicated
        ("1.64", "optimal", ["7724.40", 2000, 2000]),
    ],
)
def test_startup_has_three_regimes(amount: str, count: Any, expected: list[Any]) -> None:
    assert costs(startup_at(amount, count)) == [Decimal(one) for one in expected]


@pytest.mark.parametrize(
    ("amount", "base"),
    [
        # three servers run 720 h: reserve from 100/720 = .138889 on; 17 run 150 h: from .666667 on
        ("0.138888", 0),
        ("0.138890", 3),
        ("0.666666", 3),
        ("0.666667", 20),
    ],
)
def test_best_base_changes_where_its_servers_pay_for_themselves(amount: str, base: int) -> None:
    hybrid_option = simulate(startup_at(amount))["options"][2]
    assert hybrid_option["base_servers"] == base


def test_startup_runs_157_of_480_server_hours_a_day() -> None:
    found = simulate(startup_at("0.4"))["options"]
    assert found[0]["server_hours"] == 157 * 30  # 3 × 24 + 17 × 5
    assert found[1]["server_hours"] == 480 * 30  # 20 × 24
    assert found[1]["utilisation"] == pytest.approx(157 / 480)  # .32708
    assert found[0]["launches"] == 3 + 17 * 30
    assert [one["unserved_share"] for one in found] == [0, 0, 0]


def test_twenty_always_on_at_an_hourly_price() -> None:
    option = all_of("always", price("1.64"), count="peak")
    assert costs(startup(option)) == [Decimal("23616.00")]  # 20 × 720 × 1.64


def test_quota_leaves_what_is_above_it_unserved() -> None:
    demand = {
        "unit": "servers",
        "kind": "daily",
        "base": 3,
        "windows": [{"from": "10:00", "to": "15:00", "level": 30}],
    }
    document = startup(
        all_of("free", price("1")),
        demand=demand,
        horizon={"start": "2026-01-01T00:00:00+00:00", "days": 1, "step_s": 60},
    )
    assert only(document)["server_hours"] == 207  # 3 × 24 + 27 × 5
    found = only(document | {"policy": {"kind": "perfect", "quota": 20}})
    assert found["server_hours"] == 157  # 3 × 24 + 17 × 5
    assert found["unserved_share"] * 207 == pytest.approx(50)  # 10 × 5 server-hours
    assert (found["unserved_minutes"], found["worst_minute_unserved"]) == (300, 10)


# --- C, D, F: terms, events, nights -------------------------------------------------------------


def test_school_year_runs_a_quarter_of_the_year() -> None:
    window = {"from": "08:00", "to": "20:00", "level": 1, "weekdays": [0, 1, 2, 3, 4]}
    document = startup(
        all_of("class", price("1")),
        horizon={"start": "2026-01-05T00:00:00+00:00", "days": 273, "step_s": 3600},
        demand={"unit": "servers", "kind": "daily", "base": 0, "windows": [window]},
    )
    assert only(document)["server_hours"] == 2340  # 12 h × 5 d × 39 weeks


def event(**policy: Any) -> Document:
    points = [["2026-01-01T00:00:00+00:00", 2], ["2026-01-01T12:00:00+00:00", 20]]
    return startup(
        all_of("event", price("1")),
        horizon={"start": "2026-01-01T00:00:00+00:00", "days": 1, "step_s": 60},
        demand={"unit": "servers", "kind": "trace", "points": points},
        policy=policy,
    )


def test_event_is_short_of_servers_for_lag_and_warm_up() -> None:
    found = only(event(kind="perfect", warmup_s=180, lag_s=60))
    asked = 2 * 720 + 20 * 720
    assert found["unserved_share"] * asked == pytest.approx(72)  # 18 servers × (3 + 1) minutes
    assert found["unserved_minutes"] == 4


def test_event_known_an_hour_ahead_costs_18_server_hours_more() -> None:
    late = only(event(kind="perfect", warmup_s=180))
    ahead = only(event(kind="predictive", warmup_s=180, lead_s=3600))
    assert ahead["unserved_share"] == 0
    assert ahead["server_hours"] - late["server_hours"] == 18


@pytest.mark.parametrize(
    ("end", "billing", "billed", "run"),
    [
        ("01:00", "per_second", 90, 90),  # 3 h × 30; the first night began the evening before
        ("01:10", "per_second", 95, 95),  # 3 h 10 × 30
        # 70 min of the first night: 2 h; 29 nights of 3 h 10: 4 h each; 2 h of the last one
        ("01:10", "hour_ceil", 120, 95),
    ],
)
def test_game_night_runs_over_midnight(end: str, billing: str, billed: int, run: int) -> None:
    document = nightly("22:00", end, all_of("game", price("1", billing)))
    assert costs(document) == [billed]
    assert only(document)["server_hours"] == run


def test_game_night_costs_90_hours_at_list_price_and_no_sustained_use() -> None:
    options = [price("1.64"), price("1.64", "sustained_use")]
    for given in options:  # 90 of 744 hours: 12 %, below the first quarter of the month
        assert costs(nightly("22:00", "01:00", all_of("g", given))) == [Decimal("147.60")]


# --- G: egress ----------------------------------------------------------------------------------

AWS_TIERS = [["10240", "0.09"], ["51200", "0.085"], ["153600", "0.07"], [None, "0.05"]]


@pytest.mark.parametrize(
    ("volume", "tiers", "total"),
    [
        ("48600", [[None, "0.12"]], "5832.00"),  # 150 Mbit/s × 30 d = 48,600 GB
        ("14580", [[None, "0.12"]], "1749.60"),  # 30 % of it
        ("48600", AWS_TIERS, "4182.20"),  # 10,240 × .09 + 38,360 × .085
        ("157000", AWS_TIERS, "11741.20"),  # 921.60 + 3,481.60 + 7,168 + 170
    ],
)
def test_egress_is_billed_by_tiers(volume: str, tiers: list[Any], total: str) -> None:
    extras = {"egress_gb_per_month": volume, "egress_tiers": tiers}
    document = startup(all_of("c", price("0.4")), extras=extras)
    assert only(document)["breakdown"]["egress"] == f"{Decimal(total):.6f}"


# --- billing rules ------------------------------------------------------------------------------


def lives(*minutes: int) -> Document:
    """One server after another, each for so many minutes, with pauses of an hour."""
    at, points = 0, []
    for length in minutes:
        points += [[at, 1], [at + length * 60, 0]]
        at += length * 60 + 3600
    rows = "\n".join(f"{1767225600 + second},{level}" for second, level in points)
    return {"unit": "servers", "kind": "trace", "csv": rows}


@pytest.mark.parametrize(
    ("billing", "given", "total"),
    [
        ("per_minute", {}, "6.75"),  # 16 × 20 + 15 + 70 = 405 minutes
        ("hour_ceil", {}, "19"),  # 16 + 1 + 2 hours begun
        ("per_second", {}, "6.75"),
    ],
)
def test_short_lives_under_each_rule(billing: str, given: Document, total: str) -> None:
    demand = lives(*[20] * 16, 15, 70)
    document = startup(all_of("vm", price("1", billing, **given)), demand=demand)
    assert costs(document) == [Decimal(total)]


def test_ten_minute_minimum_counts_a_short_life_as_ten_minutes() -> None:
    document = startup(all_of("vm", price("6", "per_minute")), demand=lives(3))
    assert costs(document) == [Decimal(1)]


@pytest.mark.parametrize(
    ("hours", "total"), [("90", "0.54"), ("631", "3.786"), ("632", "3.79"), ("744", "3.79")]
)
def test_cap_holds_from_632_hours_on(hours: str, total: str) -> None:
    given = price("0.006", "hour_ceil_cap", cap="3.79")
    document = startup(all_of("vm", given), demand=lives(int(hours) * 60))
    horizon = {"start": "2026-01-01T00:00:00+00:00", "days": 31, "step_s": 60}
    assert costs(document | {"horizon": horizon}) == [Decimal(total)]


@pytest.mark.parametrize(
    ("share", "billed"), [("0.125", "0.125"), ("0.25", "0.25"), ("0.5", "0.45"), ("0.75", "0.6")]
)
def test_sustained_use_bills_less_the_longer_a_server_runs(share: str, billed: str) -> None:
    demand = lives(int(Decimal(share) * 43_200))
    given = price("1", "sustained_use", month_convention="30d")
    document = startup(all_of("vm", given), demand=demand)
    assert costs(document) == [Decimal(billed) * 720]


@pytest.mark.parametrize(
    ("tiers", "total"),
    [
        (None, "0.7"),  # a quarter each at 1, .8, .6, .4
        ([["0.25", "1"], ["0.5", "0.8678"], ["0.75", "0.733"], ["1", "0.6"]], "0.8002"),
    ],
)
def test_whole_month_of_sustained_use(tiers: Any, total: str) -> None:
    given = {"month_convention": "30d"} | ({"tiers": tiers} if tiers else {})
    document = startup(all_of("vm", price("1", "sustained_use", **given), count=1))
    assert costs(document) == [Decimal(total) * 720]


def test_startup_under_sustained_use_costs_86_percent_of_the_list() -> None:
    document = startup(all_of("gcp", price("1", "sustained_use", month_convention="30d")))
    # three servers at .7 of 720 h, 17 at 1.0 of 150 h: (1,512 + 2,550) / 4,710 = .8624
    assert costs(document) == [Decimal(1512 + 2550)]


@pytest.mark.parametrize(
    ("servers", "minutes", "rest_hours"),
    [
        (4, 60, 3),  # four servers for an hour: one reservation covers one of them
        (4, 15, 0),  # four for a quarter: one hour in all, covered second by second
    ],
)
def test_reservation_covers_an_hour_of_any_servers(
    servers: int, minutes: int, rest_hours: int
) -> None:
    points = f"1767225600,{servers}\n{1767225600 + minutes * 60},0"
    document = startup(
        hybrid("ri", price("0.1", "reserved"), price("1"), 1),
        demand={"unit": "servers", "kind": "trace", "csv": points},
        horizon={"start": "2026-01-01T00:00:00+00:00", "days": 1, "step_s": 60},
    )
    assert costs(document) == [Decimal("2.4") + rest_hours]  # 24 h of the fee, used or not


# --- whatever is decided, the sums agree --------------------------------------------------------


def test_months_add_up_to_the_year() -> None:
    year = startup_at("0.4") | {
        "horizon": {"start": "2026-01-01T00:00:00+00:00", "months": 12, "step_s": 900}
    }
    each = []
    for month in range(1, 13):
        horizon = {"start": f"2026-{month:02d}-01T00:00:00+00:00", "months": 1, "step_s": 900}
        each.append(costs(startup_at("0.4", 3) | {"horizon": horizon}))
    whole = costs(startup_at("0.4", 3) | {"horizon": year["horizon"]})
    assert [sum(parts) for parts in zip(*each, strict=True)] == whole


@pytest.mark.parametrize("quota", [None, 10])
def test_cost_never_comes_without_what_is_unserved(quota: int | None) -> None:
    for option in simulate(startup_at("0.4") | {"policy": {"kind": "perfect", "quota": quota}})[
        "options"
    ]:
        for name in ("unserved_share", "unserved_minutes", "worst_minute_unserved"):
            assert option[name] is not None
