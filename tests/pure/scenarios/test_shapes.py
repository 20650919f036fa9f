"""Shapes of a load: each names itself, keeps unit and levels, and has an outline."""

import pytest

from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.ready_options import (
    READY_OPTIONS,
    hourly,
    is_example,
    options_with_examples,
    own_rack,
    with_option,
)
from backend.scenarios.calc.shapes import SHAPES, outline, reshape, shape_of
from backend.scenarios.calc.templates import TEMPLATES

STARTUP = TEMPLATES["startup"].document


@pytest.mark.parametrize("key", SHAPES)
def test_shape_names_itself_and_is_a_sound_demand(key: str) -> None:
    document = reshape(STARTUP, SHAPES[key])
    assert shape_of(document["demand"]) is SHAPES[key]
    demand = scenario_from(document).demand
    assert demand.unit == "servers"
    assert demand.highest >= 3


def test_shape_keeps_the_levels_and_the_zone_of_the_demand_before() -> None:
    before = {**STARTUP["demand"], "time_zone": "Europe/Madrid", "base": "1.50"}
    demand = reshape({**STARTUP, "demand": before}, SHAPES["office"])["demand"]
    assert (demand["base"], demand["windows"][0]["level"]) == ("1.50", "20")
    assert demand["time_zone"] == "Europe/Madrid"


def test_shape_begins_from_levels_of_its_own_where_none_are_stated() -> None:
    document = reshape({"demand": {"kind": "trace"}}, SHAPES["event"])
    assert document["demand"]["level"] == "3"
    assert document["demand"]["events"][0]["at"] == "2026-01-05T18:00:00+00:00"


def test_shape_is_none_for_a_kind_that_is_not_known() -> None:
    assert shape_of({"kind": "x"}) is None


def test_outline_has_the_level_of_each_hour_of_a_week() -> None:
    levels = outline(STARTUP, 7)
    assert len(levels) == 168
    assert levels[9:16] == [3, 20, 20, 20, 20, 20, 3]


def test_outline_is_empty_where_the_demand_has_faults() -> None:
    assert outline({"demand": {"kind": "daily", "base": "-1"}}, 7) == []


@pytest.mark.parametrize("key", READY_OPTIONS)
def test_ready_option_serves_a_scenario_in_its_currency(key: str) -> None:
    one = READY_OPTIONS[key]
    document = with_option({**STARTUP, "options": []}, one.title, one.parts, "CHF")
    document = with_option(document, one.title, one.parts, "CHF")
    scenario = scenario_from(document)
    assert [option.name for option in scenario.options] == [one.title, f"{one.title} 2"]


def test_option_of_an_offer_gets_no_price() -> None:
    part = {"role": "all", "price": {"offer": "acme-small"}}
    document = with_option({}, "acme", (part,), "EUR")
    assert document == {"options": [{"name": "acme", "parts": [part]}]}


@pytest.mark.parametrize("key", READY_OPTIONS)
def test_prices_of_ready_options_are_examples(key: str) -> None:
    assert all(is_example(part["price"]) for part in READY_OPTIONS[key].parts)


def test_price_is_no_example_once_it_is_another() -> None:
    assert is_example({**hourly("0.4"), "amount": "0.40"})
    assert not is_example({**hourly("0.4"), "amount": "0.41"})
    assert not is_example({"amount": "0.4", "billing": "per_second"})
    assert not is_example({**hourly("0.4"), "amount": "much"})


def test_own_servers_are_an_example_by_the_price_of_the_first() -> None:
    bought = own_rack(20)
    dearer = {**bought["hardware"]["items"][0], "unit_price": "3001"}
    assert not is_example({**bought, "hardware": {**bought["hardware"], "items": [dearer]}})
    assert not is_example({**bought, "hardware": None})


def test_options_are_named_of_which_a_price_is_an_example() -> None:
    document = with_option({}, "cloud", READY_OPTIONS["cloud"].parts, "USD")
    document = with_option(document, "mixed", READY_OPTIONS["mixed"].parts, "USD")
    assert options_with_examples(document) == ["cloud", "mixed"]
    document["options"][0]["parts"][0]["price"]["amount"] = "0.5"
    document["options"][1]["parts"][0]["price"]["amount"] = "90"
    assert options_with_examples(document) == ["mixed"]
