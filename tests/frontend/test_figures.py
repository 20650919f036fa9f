"""Numbers and words as people read them."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from backend.web.shared import figures, lines, words

# The tests of the scripts read the same cases: charts and tables must write a number alike.
CASES = json.loads((Path(__file__).parents[2] / "frontend/tests/figure_cases.json").read_text())


@pytest.mark.parametrize(("value", "shown"), [*CASES, (None, ""), (Decimal(16608), "16,608")])
def test_figure_shows_about_four_digits(value, shown):
    assert figures.figure(value) == shown


def test_money_has_four_decimals_an_hour_and_two_a_month():
    assert figures.money(Decimal("0.0475"), "hour") == "0.0475"
    assert figures.money(Decimal("1234.5"), "month") == "1,234.50"
    assert figures.money(None, "hour") == ""


@pytest.mark.parametrize(
    ("cup", "shown"),
    [
        ("0.00000196", "0.000001960"),
        ("0.00000204", "0.000002040"),
        ("0.0000000123456", "0.00000001235"),
        ("0.0014", "0.0014000"),
    ],
)
def test_cup_keeps_four_significant_digits(cup, shown):
    assert figures.unit_cost(Decimal(cup)) == shown


def test_plain_keeps_every_digit():
    assert figures.plain(Decimal("0.04750000001000")) == "0.04750000001"
    assert figures.plain(Decimal("1E+3")) == "1000"
    assert figures.plain(1000.0) == "1000"


@pytest.mark.parametrize(
    ("unit", "values", "factor", "shown"),
    [
        ("bytes/s", [9.4e9, 1e9, 12e9], 1e9, "GB/s"),
        ("bits/s", [9.4e8], 1e6, "Mbit/s"),
        ("ns", [85.0], 1, "ns"),
        ("ns", [2.5e6], 1e6, "ms"),
        ("CMIPS", [1e9], 1, "CMIPS"),
        ("bytes/s", [], 1, "B/s"),
    ],
)
def test_scale_fits_the_middle_value(unit, values, factor, shown):
    scale = figures.scale(unit, values)
    assert (scale.factor, scale.unit) == (factor, shown)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([817, 203, 49, 1427], ["817.0", "203.0", "49.0", "1,427.0"]),
        ([2238.4, 203.1], ["2,238", "203"]),
        ([0.0274, 3.2, 1.9], ["0.0274", "3.2000", "1.9000"]),
        # The least is far below the others and keeps its own digits.
        ([5000, 6000, 0.004], ["5,000", "6,000", "0.0040"]),
        ([1000.5], ["1,000"]),
        ([], []),
    ],
)
def test_figures_of_a_column_have_one_number_of_decimals(values, shown):
    scale = figures.scale("it/s", values)
    assert [scale.text(value) for value in values] == shown
    assert scale.text(None) == ""


def test_value_scale_follows_the_direction_of_the_metric():
    # 10e9 B/s at 2 USD = 5e9 B/s per USD, shown as 5 GB/s per USD.
    higher = figures.value_scale(figures.UnitScale(1e9, "GB/s"), "higher", "USD/hour")
    assert higher.shown(5e9) == pytest.approx(5)
    # 2e6 ns at 0.5 USD: 1 / (2e6 × 0.5) = 1e-6; in ms: 1 / (2 ms × 0.5) = 1.
    lower = figures.value_scale(figures.UnitScale(1e6, "ms"), "lower", "USD/hour")
    assert lower.shown(1e-6) == pytest.approx(1)
    assert lower.unit == "1 / (ms × USD/hour)"


def test_facts_are_ordered_words_and_leave_out_the_unknown():
    found = {"zone": "b", "steal_ratio": 0.25, "memory_bytes": 8 * 2**30, "arch": None, "dimms": []}
    assert lines.facts(found) == [
        ("Memory", "8.00 GiB"),
        ("CPU taken by the hypervisor (steal)", "25.0 %"),
        ("Zone", "b"),
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ram_gib__gte", ("ram_gib", "RAM (GiB)", "≥ ")),
        ("arch!", ("arch", "Architecture", "≠ ")),
        ("q", ("q", "Search", "")),
    ],
)
def test_parameter_names_column_and_sign(name, told):
    assert words.parameter(name) == told


def test_duration_and_size_read_naturally():
    assert figures.duration(65.4) == "1 min 05 s"
    assert figures.duration(9) == "9 s"
    assert figures.duration(7_500) == "2 h 05 min"
    assert [figures.interval(s) for s in (90, 3600, 172_800)] == ["90 s", "1 hour", "2 days"]
    assert figures.size(512) == "512 B"
    assert figures.size(12_300_000) == "12.3 MB"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("file_bytes", 2**30, ("File of dd", "1,024 MiB")),
        ("udp_bits_per_s", 50_000_000, ("UDP rate", "50 Mbit/s")),
        ("repeats", 7, ("Repeats of each series", "7")),
        ("seconds", 2.5, ("One CPU repeat", "2.5 s")),
        ("matrix_depths", [1, 8], ("Queue depths of the fio matrix", "1, 8")),
        ("install_tools", True, ("Missing tools are installed", "yes")),
        ("directory", "/mnt/a", ("Directory of the disk tests", "/mnt/a")),
    ],
)
def test_parameter_of_a_run_reads_with_its_unit(name, value, told):
    assert (words.run_parameter(name), words.run_value(name, value)) == told
