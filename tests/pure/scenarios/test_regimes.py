"""The break-even map: which option is the cheapest at other prices and shapes of the demand."""

from fractions import Fraction

import pytest

from backend.scenarios.calc.regimes import PRICES, SHAPES, RegimeCell, regimes
from tests.pure.scenarios.documents import all_of, hybrid, price, startup

SPOT, MONTH = price("0.4"), price("100", "monthly")
OPTIONS = (
    all_of("all cloud", SPOT),
    all_of("all dedicated", MONTH, count="peak"),
    hybrid("hybrid", MONTH, SPOT),
)


def test_map_has_the_three_regimes_of_the_startup() -> None:
    # Below .138889 an hour all cloud, up to .666667 three dedicated servers and cloud, above it
    # all dedicated (an optimal base of 20 costs the same and stands later).
    row = next(row for row in regimes(startup(*OPTIONS)) if row.is_stated)
    amounts = [0.4 * float(factor) for factor in PRICES]
    expected = [
        "all cloud" if p < 0.138889 else "hybrid" if p < 0.666667 else "all dedicated"
        for p in amounts
    ]
    assert [cell.option for cell in row.cells] == expected
    assert {"all cloud", "hybrid", "all dedicated"} == set(expected)
    # 17 × 150 h × .4 + 3 × 100
    assert row.cells[PRICES.index(1)] == RegimeCell("hybrid", 1320, 0.0)


def test_map_keeps_the_mean_and_moves_the_peak_when_the_shape_changes() -> None:
    rows = regimes(startup(*OPTIONS))
    assert [row.is_stated for row in rows] == [shape == 1 for shape in SHAPES]
    peaks = [row.peak_to_mean for row in rows]
    assert peaks == sorted(peaks)
    assert peaks[0] == pytest.approx(1)
    assert peaks[2] == pytest.approx(20 / (157 / 24))
    # Flat at 6.54: seven servers all month, 7 × 100 against 7 × 720 h × .4
    assert rows[0].cells[PRICES.index(1)].cost == 700


def test_map_moves_caps_with_their_price() -> None:
    capped = price("0.006", "hour_ceil_cap", cap="3.79")
    row = regimes(startup(all_of("capped", capped, count=1)))[2]
    # 720 hours begun at .006 are 4.32, so the cap of 3.79 holds at every factor.
    assert [cell.cost for cell in row.cells] == [factor * Fraction("3.79") for factor in PRICES]


def test_map_gives_the_unmet_demand_of_the_cheapest() -> None:
    document = startup(*OPTIONS, policy={"kind": "perfect", "quota": 10})
    document["tolerated_unserved_share"] = "0.5"
    row = next(row for row in regimes(document) if row.is_stated)
    # 10 of 20 for 5 of 24 hours: 50 of 157 unit-hours a day
    assert row.cells[0].option == "all cloud"
    assert row.cells[0].unserved_share == pytest.approx(50 / 157)


def test_map_leaves_out_what_drops_load() -> None:
    """S9: an option that leaves a third of the demand unserved was the cheapest."""
    document = startup(*OPTIONS, policy={"kind": "perfect", "quota": 10})
    row = next(row for row in regimes(document) if row.is_stated)
    assert {cell.unserved_share for cell in row.cells} == {0}
    only = startup(OPTIONS[0], policy={"kind": "perfect", "quota": 10})
    row = next(row for row in regimes(only) if row.is_stated)
    assert row.cells[0].unserved_share == pytest.approx(50 / 157)  # the best there is


def test_map_is_flat_when_there_is_no_demand() -> None:
    document = startup(*OPTIONS)
    document["demand"] = {"kind": "daily", "unit": "servers", "base": 0}
    assert {row.peak_to_mean for row in regimes(document)} == {0.0}
