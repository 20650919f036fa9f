"""Numbers and words as people read them."""

import json
import re
from contextvars import copy_context
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.site import figures, lines, words
from backend.site.language import _language

# The tests of the scripts read the same cases: charts and tables must write a number alike.
CASES = json.loads((Path(__file__).parents[2] / "frontend/tests/figure_cases.json").read_text())


def _in_german(write, *given):
    """What a function writes for a reader of German."""
    reader = copy_context()
    reader.run(_language.set, "de")
    return reader.run(write, *given)


@pytest.mark.parametrize(("value", "shown"), [*CASES, (None, ""), (Decimal(16608), "16,610")])
def test_figure_shows_at_most_four_digits(value, shown):
    assert figures.figure(value) == shown


def test_money_has_the_decimals_of_its_period():
    assert figures.money(Decimal("0.0475"), "hour") == "0.0475"
    assert figures.money(Decimal("98.5"), "month") == "98.50"
    assert figures.money(Decimal("99.999"), "month") == "100"
    assert figures.money(Decimal("1234.5"), "month") == "1,234"
    assert figures.money(None, "hour") == ""


@pytest.mark.parametrize(
    ("amount", "period", "english", "german"),
    [
        ("3.07", "month", "$3.07/mo", "3,07 $/Monat"),
        ("0.0749900000", "hour", "$0.075/h", "0,075 $/h"),
        # 4.740e-05 and 0.0031 stood on the page of a campaign.
        ("0.0000474", "", "< $0.01", "< 0,01 $"),
        ("0.0031", "", "< $0.01", "< 0,01 $"),
        ("188517.84", "", "$188,500", "188.500 $"),
        ("-5.5", "year", "−$5.50/yr", "−5,50 $/Jahr"),
        ("0", "", "$0.00", "0,00 $"),
    ],
)
def test_price_names_currency_and_period_as_the_language_does(amount, period, english, german):
    assert figures.price(Decimal(amount), "USD", period) == english
    assert _in_german(figures.price, Decimal(amount), "USD", period) == german


def test_price_of_a_currency_without_a_sign_has_its_code():
    assert figures.price(Decimal(189), "CHF", "month") == "CHF 189/mo"
    assert _in_german(figures.price, Decimal(189), "CHF", "month") == "189 CHF/Monat"


def test_quote_keeps_every_digit_and_the_cents():
    assert figures.quote(Decimal("1249.9"), "EUR", "month") == "€1,249.90/mo"
    assert figures.quote(Decimal("0.00012"), "USD", "hour") == "$0.00012/h"


@pytest.mark.parametrize(
    ("ratio", "english", "german"),
    [
        (0.95, "95%", "95\u00a0%"),
        (0.989, "98.9%", "98,9\u00a0%"),
        (10.789, "1,079%", "1.079\u00a0%"),
    ],
)
def test_percent_is_written_as_the_language_does(ratio, english, german):
    assert figures.percent(ratio) == english
    assert _in_german(figures.percent, ratio) == german


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [("5", "+500%"), ("-0.14", "−14%"), ("0", "±0%"), ("10.789", "11.8×"), ("0.00001", "±0%")],
)
def test_signed_percent_turns_into_a_factor_where_percents_get_long(ratio, shown):
    assert figures.percent_change(Decimal(ratio)) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1_635_141_493.54, "bytes/s", "1.64 GB/s"),
        (26_730_149_852.0, "bytes/s", "26.7 GB/s"),
        (388_123.0, "ns", "388 µs"),
        (4_145_152.0, "ns", "4.15 ms"),
        (64_952.03, "operations/s", "65k operations/s"),
        (1473.83, "CMIPS", "1,474 CMIPS"),
    ],
)
def test_measure_scales_the_unit(value, unit, shown):
    assert figures.measure(value, unit) == shown


@given(st.floats(min_value=-1e15, max_value=1e15, allow_nan=False))
def test_no_figure_has_more_than_four_digits_or_an_exponent(value):
    for text in (figures.figure(value), figures.money(value), figures.percent(value)):
        digits = re.sub(r"[^0-9]", "", text).strip("0")
        assert len(digits) <= 4
        assert "e" not in text.lower()


@given(st.floats(min_value=1e-9, max_value=1e15))
def test_figure_is_within_half_a_unit_of_its_fourth_digit(value):
    # Four digits: at most 5 parts in 10,000 off.
    assert abs(float(figures.figure(value).replace(",", "")) - value) <= 5.001e-4 * value


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
        ([817, 203, 49, 1427], ["817.0", "203.0", "49.0", "1,427"]),
        ([2238.4, 203.1], ["2,238", "203"]),
        ([0.0274, 3.2, 1.9], ["0.0274", "3.200", "1.900"]),
        # The least is far below the others and keeps its own digits.
        ([5000, 6000, 0.004], ["5,000", "6,000", "0.004"]),
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
        ("Memory", "8 GiB"),
        ("CPU taken by the hypervisor (steal)", "25%"),
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
