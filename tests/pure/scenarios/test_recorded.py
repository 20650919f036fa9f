"""Recorded demand as a scenario: its time, its points, and what is told of its gaps."""

import pytest

from backend.foundation.errors import InvalidValue
from backend.scenarios.calc.recorded import gap_lines, steps_of, with_recorded_demand
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.steps import MAX_STEPS
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.calc.trace_files import import_trace
from backend.scenarios.calc.traces import DemandTrace

START = 1767225600  # 2026-01-01


def trace(*rows: tuple[int, float], unit: str = "requests/s") -> DemandTrace:
    lines = [f"time,{unit}", *(f"{START + at},{value}" for at, value in rows)]
    return import_trace(lines)


def test_time_is_whole_days_in_steps_of_the_usual_distance() -> None:
    found = steps_of(trace((0, 1), (300, 2), (600, 3)))
    assert (found.start_s, found.step_s, found.count) == (START, 300, 288)


def test_step_divides_the_day_where_the_distance_does_not() -> None:
    assert steps_of(trace((0, 1), (420, 2))).step_s == 400
    assert steps_of(trace((0, 1))).step_s == 60


def test_recording_that_begins_within_a_step_keeps_its_first_point() -> None:
    found = steps_of(trace((90, 1), (390, 2), (690, 2)))
    assert found.start_s == START
    assert found.count * found.step_s == 86_400


@pytest.mark.parametrize("step_s", [0, 7, 90_000])
def test_step_that_does_not_divide_a_day_is_refused(step_s: int) -> None:
    with pytest.raises(InvalidValue, match="step_s"):
        steps_of(trace((0, 1)), step_s)


def test_more_steps_than_possible_are_refused() -> None:
    with pytest.raises(InvalidValue, match=str(MAX_STEPS)):
        steps_of(trace((0, 1), (86_400 * 365, 1)), 1)


def test_recorded_demand_replaces_that_of_the_templates() -> None:
    found = trace((0, 0), (300, 50), (600, 20))
    document = with_recorded_demand(
        found, steps_of(found), TEMPLATES["startup"].document, name="Shop"
    )
    assert document["horizon"] == {
        "start": "2026-01-01T00:00:00+00:00",
        "days": 1,
        "step_s": 300,
    }
    assert document["capacity"]["units_per_server"] == "5.000"  # ten servers carry the peak
    result = simulate(document)
    assert result["demand"]["peak"] == 50
    assert result["options"][0]["peak_servers"] == 10
    assert TEMPLATES["startup"].document["name"] != "Shop"


def test_demand_of_nothing_still_has_a_size_of_server() -> None:
    found = trace((0, 0), unit="value")
    document = with_recorded_demand(
        found, steps_of(found), TEMPLATES["startup"].document, name="Idle"
    )
    assert document["capacity"]["units_per_server"] == "0.001"
    assert simulate(document)["demand"]["peak"] == 0


def test_gaps_are_listed_and_filled_with_the_value_before() -> None:
    rows = [(n * 60, 1.0) for n in range(10)]
    found = trace(*rows, (1200, 2.0), (1260, 2.0))
    (told,) = gap_lines(found)
    assert told.startswith("2026-01-01 00:09 to 2026-01-01 00:20: 10 points missing")
    assert gap_lines(trace(*rows)) == []


def test_many_gaps_are_counted() -> None:
    rows = [(n * 60, 1.0) for n in range(50)]
    holes = [(10_000 + n * 1000, 1.0) for n in range(8)]
    told = gap_lines(trace(*rows, *holes))
    assert len(told) == 6
    assert told[-1] == "and 3 more gaps"
