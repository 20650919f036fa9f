"""Sentences against cases worked by hand: a clear winner, a tie, and what is not known."""

from dataclasses import replace
from decimal import Decimal

import pytest

from backend.domain.conclusions import (
    Certainty,
    Contender,
    FleetChoice,
    best_value,
    cheapest_fleet,
    head_of_ranking,
    listed,
    percent,
    server_cost,
)


def exact(name: str, price: str, value: float) -> Contender:
    return Contender(name, Decimal(price), (value, value, value))


def test_best_value_names_the_winner_and_its_lead_when_all_is_exact():
    said = best_value([exact("B", "10", 100.0), exact("A", "20", 125.0)])
    assert said.certainty == Certainty.CLEAR
    assert said.sentence == (
        "A gives the most performance for the money: 25% more than B, the next best."
    )
    assert said.detail == ""


def test_best_value_states_the_interval_of_the_lead():
    # 200 within a factor of 1.03 over 100 within a factor of 1.04: by hand
    # exp(√(ln² 1.03 + ln² 1.04)) = 1.0504, so 2 / 1.0504 − 1 = 90.4% to 2 · 1.0504 − 1 = 110%.
    best = Contender("A", Decimal(1), (200.0, 200 / 1.03, 206.0))
    other = Contender("B", Decimal(1), (100.0, 100 / 1.04, 104.0))
    said = best_value([other, best, Contender("C", None, None)])
    assert said.sentence.endswith("100% more than B, the next best (95 % interval: 90% to 110%).")
    assert said.detail == "Not part of this, for want of a price or a measurement: C."


def test_best_value_is_too_close_to_call_when_intervals_explain_the_lead():
    wide = [Contender(name, Decimal(price), (v, v * 0.8, v * 1.25)) for name, price, v in
            (("A", "3", 101.0), ("B", "2", 100.0), ("D", "9", 1000.0), ("E", "9", 990.0))]  # fmt: skip
    said = best_value(wide)
    assert said.certainty == Certainty.TIE
    assert said.sentence.startswith("Too close to call between D and E: ")
    assert "costs least" not in said.sentence
    assert best_value(wide[:2]).sentence.endswith(" B costs least of them.")


def test_ranking_comes_to_its_first_tie_group_and_the_best_behind_it():
    first, second, third = exact("A", "20", 125.0), exact("B", "10", 100.0), exact("C", "1", 99.0)
    clear = head_of_ranking([first], second)
    assert (clear.certainty, clear.sentence) == (
        "clear", "A gives the most performance for the money: 25% more than B, the next best.",
    )  # fmt: skip
    tie = head_of_ranking([first, second], third)
    assert tie.certainty == "tie"
    assert tie.sentence.startswith("Too close to call between A and B: ")
    assert tie.sentence.endswith(" B costs least of them.")
    assert head_of_ranking([first], None).sentence == (
        "A is the only offer here with both a price and a figure."
    )
    assert head_of_ranking([], None).certainty == "unknown"


@pytest.mark.parametrize(
    ("contenders", "sentence"),
    [
        (
            [exact("A", "49", 1.0), Contender("B", Decimal(70), None)],
            "A costs least, 30% less than B; which of them gives more performance for the money "
            "is not known.",
        ),
        (
            [exact("A", "49", 1.0), Contender("B", None, None)],
            "Performance for the money cannot be compared yet: that needs a price and a "
            "measurement of at least two offers.",
        ),
    ],
)
def test_best_value_is_unknown_with_fewer_than_two_figures(
    contenders: list[Contender], sentence: str
):
    said = best_value(contenders)
    assert (said.certainty, said.sentence) == (Certainty.UNKNOWN, sentence)


def test_listed_joins_names_and_counts_those_beyond():
    assert listed(["A"]) == "A"
    assert listed(["A", "B", "C"]) == "A, B and C"
    assert listed(["A", "B", "C", "D", "E"]) == "A, B, C and 2 more"


def test_percent_keeps_a_decimal_below_ten():
    assert [percent(r) for r in (0.25, 0.0123, -0.0123, 0.0996, 0)] == [
        "25%", "1.2%", "-1.2%", "10%", "0%",
    ]  # fmt: skip


def fleet(name: str, cost: str, *, holds: bool | None) -> FleetChoice:
    return FleetChoice(name, Decimal(cost), holds, "Memory", 0.25)


SURE, DEARER = fleet("4 × A", "160", holds=True), fleet("2 × B", "200", holds=True)
SHORT, OPEN = fleet("3 × C", "120", holds=False), fleet("3 × D", "120", holds=None)


@pytest.mark.parametrize(
    ("fleets", "certainty", "sentence"),
    [
        ([], "unknown", "No fleet reaches what you need."),
        ([SURE], "clear", "4 × A costs least: 160 USD a month."),
        ([SURE, DEARER], "clear", "4 × A costs least: 160 USD a month, 20% less than 2 × B."),
        ([SHORT, fleet("9 × E", "120", holds=True)], "clear",
         "9 × E costs least: 120 USD a month, as 3 × C."),
        ([SHORT, SURE], "tie",
         "3 × C costs least: 120 USD a month. At the worse ends of its 95 % intervals "
         "it falls short; 4 × A is sure to be enough, for 160 USD a month."),
        ([SHORT], "tie",
         "3 × C costs least: 120 USD a month. At the worse ends of its 95 % intervals "
         "it falls short; none of the fleets below is sure to be enough."),
        ([OPEN, SURE], "unknown",
         "3 × D costs least: 120 USD a month. How surely it reaches what you need is not known; "
         "4 × A is sure to be enough, for 160 USD a month."),
        ([OPEN], "unknown",
         "3 × D costs least: 120 USD a month. How surely it reaches what you need is not known; "
         "none of the fleets below is sure to be enough."),
    ],
)  # fmt: skip
def test_cheapest_fleet_says_how_surely_it_is_enough(
    fleets: list[FleetChoice], certainty: str, sentence: str
):
    said = cheapest_fleet(fleets, "USD")
    assert (said.certainty, said.sentence) == (certainty, sentence)


def test_cheapest_fleet_names_its_limit_and_what_was_not_tried():
    said = cheapest_fleet([SURE], "EUR", is_proven=False)
    assert said.sentence == "4 × A costs least of those tried: 160 EUR a month."
    assert said.detail == "Memory limits 4 × A: 25% to spare."
    barely = cheapest_fleet([replace(SURE, spare=0.0004)], "EUR")
    assert barely.detail == "Memory limits 4 × A: just enough."


def test_server_cost_lists_the_shares_from_the_largest():
    parts = [("staff", Decimal(20)), ("purchase", Decimal(70)), ("space", Decimal(0)),
             ("energy", Decimal(10))]  # fmt: skip
    assert server_cost(parts, "EUR").sentence == (
        "One server costs 100 EUR a month, of it purchase 70%, staff 20% and energy 10%."
    )
    assert server_cost([("staff", Decimal(0))], "EUR").sentence == (
        "One server costs 0.00 EUR a month."
    )
