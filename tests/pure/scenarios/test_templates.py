"""The templates open with the figures that their sentences tell."""

import copy
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from backend.foundation.facts import DNS, EBS, Fact
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.templates import TEMPLATES, is_as_template
from backend.scenarios.calc.work import check_map_work, check_work

# WORK_ANONYMOUS_STEPS, as it is by default.
STRANGERS_STEPS = 30_000_000


@cache
def result(key: str) -> Mapping[str, Any]:
    return simulate(TEMPLATES[key].document)


def costs(key: str) -> list[Decimal]:
    return [Decimal(option["cost_total"]) for option in result(key)["options"]]


@pytest.mark.parametrize("key", TEMPLATES)
def test_template_has_a_result_with_intervals_and_unserved_demand(key: str) -> None:
    document = TEMPLATES[key].document
    assert check_work(document) + check_map_work(document) < STRANGERS_STEPS
    for option in result(key)["options"]:
        assert option["unserved_share"] is not None
        assert option["interval"] is not None
    assert TEMPLATES[key].sentence.endswith(".")


def test_templates_are_the_families_of_the_design_in_their_order() -> None:
    assert list(TEMPLATES) == [
        "project_may_fail", "startup", "e_learning", "events", "proximity",
        "game_night", "content", "enterprise", "own_rack", "shared_or_local_disks", "hybrid",
    ]  # fmt: skip


def test_startup_is_cheapest_with_a_base_of_three() -> None:
    assert costs("startup") == [1884, 2000, 1320]
    assert result("startup")["options"][2]["base_servers"] == 3


def test_contract_of_a_project_that_may_fail_costs_half_as_much_again() -> None:
    free, bound, monthly = (o["contract"] for o in result("project_may_fail")["options"])
    # Σ .9^t over 24 months = 9.2023; twelve months are paid in any case: 14.0266 / 9.2023
    assert bound["active_months"] == pytest.approx(9.2023, abs=1e-4)
    assert bound["ratio"] == pytest.approx(1.5242, abs=1e-4)
    assert Decimal(bound["expected_cost"]) == pytest.approx(Decimal("1402.66"), abs=1)
    assert monthly["ratio"] == free["ratio"] == 1


def test_lessons_run_27_percent_of_a_year() -> None:
    first = result("e_learning")["options"][0]
    assert first["server_hours"] == 10 * 2340  # 12 h × 5 d × 39 weeks, for ten classes
    assert first["server_hours"] / 10 / 8760 == pytest.approx(0.2671, abs=1e-4)


def test_lessons_are_compared_with_a_year_of_dedicated_servers() -> None:
    """W20: the sentence speaks of a year, and ten of twelve months were paid."""
    # 2,340 h × 10 × 0.4; 8,760 h × 10 × 0.4; 12 × 10 × 100
    assert costs("e_learning") == [9360, 35_040, 12_000]


@pytest.mark.parametrize(
    ("key", "option", "month"), [("events", 2, 2000), ("startup", 1, 2000), ("content", 0, 5852)]
)
def test_month_of_a_template_is_the_monthly_bill(key: str, option: int, month: int) -> None:
    """W12: a month of 20 dedicated servers was 60,833 in the template of events."""
    found = result(key)["options"][option]
    assert Decimal(found["cost_per_month"]) == month


def test_event_leaves_72_server_minutes_unserved() -> None:
    late, waiting, _ = result("events")["options"]
    asked = 2 * 21 * 60 + 20 * 3 * 60  # server-minutes of the day
    assert late["unserved_share"] * asked == pytest.approx(72)  # 18 servers × (3 + 1) minutes
    assert waiting["unserved_share"] == 0
    assert Decimal(waiting["cost_total"]) > Decimal(late["cost_total"])


def test_three_regions_take_six_servers_and_a_pool_four() -> None:
    assert [o["peak_servers"] for o in result("proximity")["options"]] == [4, 6, 6]


def test_game_night_costs_90_hours() -> None:
    # 3 h × 30 × 1.64; capped at 3.79 in the month
    assert costs("game_night") == [Decimal("147.60"), Decimal("147.60"), Decimal("3.79"), 100]


def test_content_costs_its_traffic() -> None:
    # 20 + 48,600 × .12; 20 + 10,240 × .09 + 38,360 × .085; the flat port
    assert costs("content") == [5852, Decimal("4202.20"), 100]


def test_managed_service_pays_from_ten_hours_saved_on() -> None:
    managed, own, _ = costs("enterprise")
    # twenty hours saved at 60, less 600, for twelve months
    assert own - managed == (20 * 60 - 600) * 12


def test_own_rack_is_owed_to_the_end_of_its_life() -> None:
    rack, rented, _ = result("own_rack")["options"]
    assert Decimal(rack["committed_after_horizon"]) > 0
    assert Decimal(rented["committed_after_horizon"]) == 0


def test_nas_leaves_three_quarters_of_the_reading_unserved() -> None:
    nas, local = result("shared_or_local_disks")["options"]
    # of 7 MB/s all day and 500 more for 4 h: 507 asked for, 100 delivered
    assert nas["unserved_share"] == pytest.approx(407 * 4 / (7 * 24 + 500 * 4))
    assert local["unserved_share"] == 0
    options = TEMPLATES["shared_or_local_disks"].document["options"]
    sets = [option["parts"][0]["price"]["hardware"] for option in options]
    bought = [sum(item["count"] * int(item["unit_price"]) for item in one["items"]) for one in sets]
    assert bought == [60_000, 60_000]
    assert {one["currency"] for one in sets} == {"EUR"}
    assert sets[0]["items"][0]["unit_price"] == "30000"


@pytest.mark.parametrize(("key", "facts"), [("events", DNS), ("shared_or_local_disks", EBS)])
def test_template_states_limits_that_somebody_met(key: str, facts: tuple[Fact, ...]) -> None:
    assert TEMPLATES[key].facts == facts


def test_hybrid_beats_the_pure_options() -> None:
    cloud, dedicated, both, _ = costs("hybrid")
    assert both < min(cloud, dedicated)


# --- what is still as the template asks it --------------------------------------------------------


def changed(key: str, **given: Any) -> dict[str, Any]:
    return {**copy.deepcopy(dict(TEMPLATES[key].document)), **given}


@pytest.mark.parametrize("key", TEMPLATES)
def test_template_under_another_name_is_as_the_template(key: str) -> None:
    assert is_as_template(TEMPLATES[key], changed(key, name="mine"))
    other = next(one for one in TEMPLATES if one != key)
    assert not is_as_template(TEMPLATES[key], changed(other))


def test_recording_as_lines_is_that_of_its_points() -> None:
    demand = TEMPLATES["events"].document["demand"]
    lines = "".join(f"{time},{value}\n" for time, value in demand["points"])
    stated = {name: value for name, value in demand.items() if name != "points"}
    as_lines = changed("events", demand={**stated, "csv": lines})
    assert is_as_template(TEMPLATES["events"], as_lines)
    more = changed("events", demand={**stated, "csv": lines.replace(",20", ",21")})
    assert not is_as_template(TEMPLATES["events"], more)


def test_unit_that_follows_and_name_of_hardware_do_not_count() -> None:
    document = changed("own_rack")
    for option in document["options"]:
        for part in option["parts"]:
            part["price"].pop("unit", None)
            if "hardware" in part["price"]:
                part["price"]["hardware"]["name"] = "ours"
    assert is_as_template(TEMPLATES["own_rack"], document)
    document["options"][1]["parts"][0]["price"]["amount"] = "99"
    assert not is_as_template(TEMPLATES["own_rack"], document)


def test_document_with_faults_is_not_as_the_template() -> None:
    assert not is_as_template(TEMPLATES["events"], changed("events", horizon={}))
