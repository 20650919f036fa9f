"""Figures that the articles behind this project print, calculated again from their own inputs.

Where a text's figure does not follow from its inputs, the calculated one is expected.
"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from backend.calculators.calc.arrays import ArrayDocument, estimate
from backend.calculators.calc.presets import EFFICIENCIES, PRESETS
from backend.foundation.units import gib
from backend.measure import cmips
from backend.measure.metrics import metric
from backend.measure.readers import dd
from backend.money.pricing import price_per_period
from backend.rankings.calc.comparison import delta_ratio
from backend.rankings.calc.ranking import value_per_cost
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, price, startup
from tests.pure.storage_documents import array_of, flow, link, segment, shared

MB, GB, TB, GIB, TIB = 10**6, 10**9, 10**12, 2**30, 2**40
GIGABIT = PRESETS["gigabit"].bytes_per_s


def only(document: Document) -> dict[str, Any]:
    (option,) = simulate(document)["options"]
    return dict(option)


def rate(count: int, seconds: str) -> float:
    """Bytes per second of a copy as dd tells it."""
    (copied,) = dd.copies(
        f"1+0 records in\n1+0 records out\n{count} bytes copied, {seconds} s, x\n"
    )
    return copied.bytes / copied.seconds


# --- prices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hour", "month"), [("1.64", "1180.80"), ("1.98", "1425.60")])
def test_month_of_720_hours(hour: str, month: str) -> None:
    assert price_per_period(Decimal(hour), "hour", "month", Decimal(720)) == Decimal(month)


def test_desktop_processor_costs_as_much_as_a_week_in_the_cloud() -> None:
    def week(hours: int) -> Decimal:
        horizon = {"start": "2026-01-01T00:00:00+00:00", "days": 8, "step_s": 3600}
        points = [["2026-01-01T00:00:00Z", 1], [f"2026-01-08T{hours - 168:02d}:00:00Z", 0]]
        asked = {"unit": "servers", "kind": "trace", "points": points}
        document = startup(all_of("o", price("1.64")), horizon=horizon, demand=asked)
        return Decimal(only(document)["cost_total"])

    # 300 / 1.64 = 182.9 h = 7.6 days
    assert week(182) < 300 < week(183)
    assert round(Decimal(300) / Decimal("1.64") / 24, 1) == Decimal("7.6")


def test_dedicated_server_costs_a_twelfth_of_the_large_instance() -> None:
    cloud = only(startup(all_of("o", price("1.64"), count=1)))["cost_total"]
    dedicated = only(startup(all_of("o", price("100", "monthly"), count=1)))["cost_total"]
    # 1,180.80 / 100 = 11.81
    assert round(Decimal(cloud) / Decimal(dedicated), 2) == Decimal("11.81")


@pytest.mark.parametrize(("peak", "hours_short"), [(20, 0), (30, 50)])
def test_limit_of_twenty_servers_is_enough_for_twenty(peak: int, hours_short: int) -> None:
    window = {"from": "10:00", "to": "15:00", "level": peak}
    asked = {"unit": "servers", "kind": "daily", "base": 3, "windows": [window]}
    day = {"start": "2026-01-01T00:00:00+00:00", "days": 1, "step_s": 60}
    document = startup(all_of("o", price("1")), demand=asked, horizon=day, policy={"quota": 20})
    found, asked_h = only(document), 3 * 19 + peak * 5
    # (30 − 20) × 5 h
    assert found["unserved_share"] * asked_h == pytest.approx(hours_short)
    assert found["unserved_minutes"] == (300 if hours_short else 0)


def test_game_server_runs_an_eighth_of_the_day() -> None:
    window = {"from": "22:00", "to": "01:00", "level": 1}
    asked = {"unit": "servers", "kind": "daily", "base": 0, "windows": [window]}
    found = only(startup(all_of("o", price("1")), demand=asked))
    # 3 h of 24 = 12.5 %, 90 h of 30 days
    assert (found["server_hours"], found["server_hours"] / 720) == (90, 0.125)


def test_sixty_three_millions_a_year_are_four_thousand_large_instances() -> None:
    hour = price_per_period(Decimal(63_000_000), "year", "hour", Decimal(730))
    # / 8,760 h; / 1.64
    assert (round(hour, 2), round(hour / Decimal("1.64"), 1)) == (
        Decimal("7191.78"), Decimal("4385.2"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("score", "euros", "dollars", "expected"),
    [
        # the cheapest per point is the G3420
        (3459, 55, 74, ("62.89", "46.74")),
        (4827, 94, 124, ("51.35", "38.93")),
        (9459, 216, 279, ("43.79", "33.90")),
    ],
)
def test_points_per_price(score: int, euros: int, dollars: int, expected: tuple[str, str]) -> None:
    found = [
        round(value_per_cost(score, Decimal(amount), metric("passmark_score")), 2)
        for amount in (euros, dollars)
    ]
    assert found == [Decimal(one) for one in expected]


# --- links --------------------------------------------------------------------------------------


def test_gigabit_links_alone_and_together() -> None:
    # 10^9 / 8 = 125 MB/s, of which about 100 are seen
    assert GIGABIT == 125 * MB
    assert PRESETS["gigabit_usable"].bytes_per_s / GIGABIT == 0.8
    ten = PRESETS["10_gigabit"].bytes_per_s
    assert segment(GIGABIT, 2, "bond").total_bytes_per_s == 250 * MB
    assert segment(ten, 2, "bond").total_bytes_per_s == 2500 * MB
    assert PRESETS["2_5_gigabit"].bytes_per_s == 312.5 * MB


def test_four_paths_of_two_controllers() -> None:
    # 4 × 125 = 500 raw, 350 seen: 70 %
    assert segment(GIGABIT, 4, "bond").total_bytes_per_s == 500 * MB
    paths = segment(GIGABIT, 4, "multipath").total_bytes_per_s
    assert paths == pytest.approx(350 * MB)
    assert paths / (4 * GIGABIT) == pytest.approx(0.7)
    # 30,000 × 1 MiB = 31,457,280,000 B; / 350 MB/s = 89.9 s
    (found,) = shared(
        [link("paths", 350 * MB)], [flow("dd", 1, None, ("paths",))], transfer_bytes=30_000 * 2**20
    ).flows
    assert (30_000 * 2**20, round(found.transfer_s or 0, 1)) == (31_457_280_000, 89.9)


def test_hosted_storage_sees_six_of_ten_gigabits() -> None:
    # 60 % of 10 Gbit/s = 6 Gbit/s = 750 MB/s
    assert 0.6 * PRESETS["10_gigabit"].bytes_per_s == pytest.approx(750 * MB)


@pytest.mark.parametrize(
    ("capacity_mb", "light_mb", "heavy_mb"),
    [
        (125, 0, 12.5),  # 125 / 10, nobody else there
        (100, 0.1, 9.3),  # (100 − 70 × 0.1) / 10
        (100, 1, 3.0),  # (100 − 70) / 10
        (100, 2, 1.25),  # 100 / 80: all are held back
    ],
)
def test_ten_heavy_machines_share_what_seventy_light_ones_leave(
    capacity_mb: float, light_mb: float, heavy_mb: float
) -> None:
    # 16 blades of 5 machines
    flows = [flow("light", 70, light_mb * MB, ("nas",)), flow("heavy", 10, None, ("nas",))]
    assert sum(each["count"] for each in flows) == 16 * 5
    found = shared([link("nas", capacity_mb * MB)], flows, transfer_bytes=1000 * MB).flows[1]
    assert found.rate_bytes_per_s == pytest.approx(heavy_mb * MB)
    # the text cuts 107.53 s down to 107, 1:47
    assert found.transfer_s == pytest.approx(1000 / heavy_mb)


@pytest.mark.parametrize(
    ("disk", "times", "seconds"),
    [("sata", 5.4, 20), ("ssd", 59, 1.82), ("raid5_ssd", 97, 1.11)],
)
def test_local_disk_is_many_times_the_share_of_the_network(
    disk: str, times: float, seconds: float
) -> None:
    speed = PRESETS[disk].bytes_per_s
    # 50, 550 and 900 MB/s against 9.3; 1000 MB of it
    assert speed / (9.3 * MB) == pytest.approx(times, abs=0.5)
    assert round(1000 * MB / speed, 2) == seconds


def test_volume_over_the_network_is_slower_than_a_file() -> None:
    # 280 / 70 = 4; 70 of 125 = 56 %; of 5,000 = 1.4 %
    volume, file = EFFICIENCIES["iscsi_volume"], EFFICIENCIES["iscsi_file"]
    assert file.measured_bytes_per_s / volume.measured_bytes_per_s == 4
    assert volume.measured_bytes_per_s / GIGABIT == 0.56
    assert (volume.ratio, volume.expected_bytes_per_s) == (0.014, PRESETS["40_gigabit"].bytes_per_s)


# --- disks --------------------------------------------------------------------------------------


def disks(count: int, size: int, speed_mb: float, **given: Any) -> ArrayDocument:
    return array_of("raid0", count, {"bytes": size, "read_bytes_per_s": speed_mb * MB}, **given)


def test_fifteen_drives_are_the_limit_and_not_their_controller() -> None:
    controller = PRESETS["sas_controller"].bytes_per_s
    assert 4 * controller == 24 * GB
    outer, inner = (
        estimate(disks(15, 14 * TB, speed, controller_bytes_per_s=controller)).throughput
        for speed in (265, 145)
    )
    # 15 × 265 = 3,975 MB/s, below 6,000; inner tracks 15 × 145 = 2,175
    assert outer.read_bytes_per_s == pytest.approx(3.975 * GB)
    assert inner.read_bytes_per_s == pytest.approx(2.175 * GB)


@pytest.mark.parametrize(
    ("seconds", "gb_per_s"),
    [
        ("66.4922", 1.577),  # ashift 12, written; dd prints 1.6
        ("42.0371", 2.494),  # read
        ("97.4231", 1.076),  # ashift 9, written
        ("42.3805", 2.474),  # read
    ],
)
def test_rates_of_the_pool_of_24_disks(seconds: str, gb_per_s: float) -> None:
    assert round(rate(104_857_600_000, seconds) / GB, 3) == gb_per_s


def test_wrong_sectors_lose_about_a_third_of_the_writing() -> None:
    change = delta_ratio(
        Decimal(rate(104_857_600_000, "97.4231")),
        Decimal(rate(104_857_600_000, "66.4922")),
    )
    # 66.4922 / 97.4231 − 1 = −31.75 %
    assert round(change or 0, 4) == Decimal("-0.3175")


def test_raw_capacities() -> None:
    def raw(count: int, size: int) -> int:
        return estimate(disks(count, size, 100)).capacity.raw_bytes

    # the text has 21 × 3.6 = 75 TiB; 3.6 is rounded down: 21 × 4 TB = 76.40 TiB
    assert (round(21 * 3.6, 1), round(raw(21, 4 * TB) / TIB, 2)) == (75.6, 76.4)
    assert raw(14, 4 * TB) == 56 * TB
    assert raw(45, 300 * GB) == 13.5 * TB


def test_sixteen_drives_give_nine_tenths_of_their_sum() -> None:
    expected = estimate(disks(16, 4 * TB, 160)).throughput.read_bytes_per_s
    measured = rate(1_048_576_000_000, "453.155")
    assert (expected, round(measured / GB, 3)) == (2560 * MB, 2.314)
    assert round(measured / expected, 3) == 0.904
    # the text says that they saturate two 10 Gb links: 92.6 % of 2,500 MB/s, not quite
    dual = segment(PRESETS["10_gigabit"].bytes_per_s, 2, "bond").total_bytes_per_s
    assert round(measured / dual, 3) == 0.926


@pytest.mark.parametrize(
    ("size_bytes", "size_gib"),
    [
        (421 * TIB * 3 // 4, 323_328),  # files of 1 GiB that fill 75 % of 421 TiB
        (352 * TIB * 3 // 4, 270_336),
        (590 * TIB * 3 // 4, 453_120),  # the files of the script fit 590 TiB
        (10_485_760 * 1024, 10),  # a RAM disk stated in KiB
    ],
)
def test_sizes_in_binary_units(size_bytes: int, size_gib: int) -> None:
    assert gib(size_bytes) == size_gib


# --- times --------------------------------------------------------------------------------------


def test_twenty_thousand_are_a_quarter_more_than_sixteen() -> None:
    before, after = (math.trunc(cmips.score(2_048_000_000_000, seconds)) for seconds in (125, 100))
    assert (before, after) == (16_000, 20_000)
    assert delta_ratio(Decimal(after), Decimal(before)) == Decimal("0.25")


@pytest.mark.parametrize(
    ("seconds", "base_s", "times"),
    [
        # a kernel unpacked over the network: 3:23 without a log device
        ("90", "203", "2.26"),
        ("75", "203", "2.71"),
        ("76", "203", "2.67"),
        ("56", "203", "3.63"),
        # 6:26 on the old server, 54 s without flushes, 5.5 s locally, 2:30 without the cache
        ("54", "386", "7.15"),
        ("5.5", "54", "9.82"),
        ("54", "150", "2.78"),
    ],
)
def test_ratios_of_times(seconds: str, base_s: str, times: str) -> None:
    more = delta_ratio(Decimal(base_s), Decimal(seconds))
    assert abs(1 + (more or 0) - Decimal(times)) <= Decimal("0.005")


def test_files_of_a_week() -> None:
    # 5 million files and 2.5 GB in 604,800 s: 8.27 files/s, 4.1 kB/s
    week_s = 7 * 86_400
    (found,) = shared(
        [link("line", float(Fraction(2_500_000_000, week_s)))],
        [flow("all", 1, None, ("line",))],
        transfer_bytes=2_500_000_000,
    ).flows
    assert found.transfer_s == pytest.approx(week_s)
    assert (round(found.rate_bytes_per_s / 1000, 1), round(5_000_000 / week_s, 2)) == (4.1, 8.27)
