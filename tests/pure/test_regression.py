import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backend.benchmarks.calc.regression import (
    HARDWARE,
    SOFTWARE,
    Band,
    Departure,
    band,
    changes,
    departure,
    environment,
    is_same_hardware,
)

QUIET = [100.0, 101.0, 99.0, 100.0, 100.0]
NOISY = [100.0, 110.0, 90.0, 105.0, 95.0]


def test_band_is_five_percent_wide_when_the_past_is_quiet():
    # median 100; deviations 0 1 1 0 0, MAD 0; 5 % of 100
    assert band(QUIET) == Band(100.0, 95.0, 105.0, 5)


def test_band_follows_the_spread_when_that_is_wider():
    # median 100; deviations 0 10 10 5 5, MAD 5; of five runs 14.4 × 1.4826 × 5 = 106.7472
    found = band(NOISY)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((-6.7472, 206.7472))


@pytest.mark.parametrize("runs", [5, 6, 9, 10, 14, 20])
def test_band_has_one_false_alarm_in_a_hundred_whatever_its_runs(runs):
    draw = random.Random(43)
    # 10 % of noise: the floor of 5 % decides almost nothing.
    series = [[draw.gauss(100, 10) for _ in range(runs + 1)] for _ in range(8_000)]
    alarms = sum(
        departure(values[-1], values[:-1], is_higher_better=True) is not None for values in series
    )
    # Three standard errors of 1 % among 8,000 are 0.33 %; between two listed numbers it is less.
    assert 0.004 < alarms / len(series) < 0.0134


@pytest.mark.parametrize("values", [[], QUIET[:4], [0.0] * 6, [-1.0] * 6])
def test_band_is_unknown_when_runs_are_few_or_shares_have_no_meaning(values):
    assert band(values) is None
    assert departure(1.0, values, is_higher_better=True) is None


@pytest.mark.parametrize(
    ("value", "is_higher_better", "found"),
    [
        (95.0, True, None),
        (105.0, False, None),
        (94.0, True, Departure("regression", pytest.approx(-0.06), 1)),
        (94.0, False, Departure("improvement", pytest.approx(-0.06), 1)),
        (112.0, True, Departure("improvement", pytest.approx(0.12), 1)),
        (112.0, False, Departure("regression", pytest.approx(0.12), 1)),
    ],
)
def test_departure_is_judged_by_the_better_direction(value, is_higher_better, found):
    assert departure(value, QUIET, is_higher_better=is_higher_better) == found


def test_departure_counts_how_often_in_a_row():
    # median 100 of nine, MAD 0; the last two lie below 95, the one before does not
    earlier = [*QUIET, 80.0, 100.0, 80.0, 81.0]
    found = departure(82.0, earlier, is_higher_better=True)
    assert found is not None
    assert found.streak == 3
    above = departure(120.0, [*QUIET, 80.0, 119.0], is_higher_better=True)
    assert above is not None
    assert above.streak == 2


@given(st.lists(st.floats(1, 1e6), min_size=5, max_size=30), st.floats(0.5, 2))
def test_departure_does_not_depend_on_the_unit(values, scale):
    found = band(values)
    other = band([value * scale for value in values])
    assert found is not None
    assert other is not None
    assert found.low <= found.median <= found.high
    assert other.low == pytest.approx(found.low * scale, rel=1e-6, abs=1e-6)
    assert other.high == pytest.approx(found.high * scale, rel=1e-6)


@given(st.lists(st.floats(99, 101), min_size=7, max_size=21), st.floats(1, 1e9))
def test_band_stays_when_fewer_than_half_of_the_runs_went_wrong(values, wild):
    assume(wild > 200)
    spoilt = [*values, *[wild] * (len(values) // 3)]
    found = band(spoilt)
    assert found is not None
    assert found.high < 120


# --- environments -----------------------------------------------------------------------------------

FACTS = {
    "cpu_model": "Xeon",
    "vcpu_count": 8,
    "usable_cpu_count": 8,
    "threads_per_core": 2,
    "memory_bytes": 64 * 2**30,
    "kernel": "6.1",
    "os_name": "Debian",
    "microcode": "0x1",
    "governor": "performance",
    "virtualization": "none",
    "disk_kinds": "nvme ssd, sata hdd",
}
DISKS = [
    {"transport": "sata", "is_rotational": True},
    {"transport": "nvme", "is_rotational": False},
    {"transport": "nvme", "is_rotational": False},
    {"transport": None, "is_rotational": None},
]


def test_environment_is_what_identifies_the_machine():
    found = environment({**FACTS, "dimms": [], "disks": DISKS})
    assert found == FACTS
    assert set(found) == {*HARDWARE, *SOFTWARE}


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({}, True),
        ({"kernel": "6.2", "microcode": "0x2"}, True),
        ({"memory_bytes": 63 * 2**30}, True),
        ({"memory_bytes": 60 * 2**30}, False),
        ({"memory_bytes": "64 GiB"}, False),
        ({"cpu_model": "EPYC"}, False),
        ({"virtualization": "kvm"}, False),
        ({"disk_kinds": "sata hdd"}, False),
        ({"vcpu_count": None}, True),
    ],
)
def test_hardware_is_the_same_when_no_common_field_differs(changed, is_same):
    assert is_same_hardware(FACTS, {**FACTS, **changed}) is is_same
    assert is_same_hardware(FACTS, {})


def test_changes_name_what_was_and_what_is():
    assert changes(FACTS, {**FACTS, "kernel": "6.2"}, SOFTWARE) == ["kernel: 6.1 → 6.2"]
