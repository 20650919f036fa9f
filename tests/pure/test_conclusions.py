"""Sentences against cases worked by hand: a clear winner, a tie, and what is not known."""

from dataclasses import replace
from decimal import Decimal

import pytest

from backend.rankings.calc.conclusions import (
    Certainty,
    Contender,
    FleetChoice,
    best_value,
    cheapest_fleet,
    lead_words,
    name_list,
    percent,
    percent_chance,
    price_words,
    server_cost,
)


def exact(name: str, price: str, value: float) -> Contender:
    return Contender(name, Decimal(price), (value, value, value))


def around(name: str, price: str, value: float, spread: float) -> Contender:
    """A value whose 95 % interval reaches from value / spread to value × spread."""
    return Contender(name, Decimal(price), (value, value / spread, value * spread))


def test_best_value_names_the_winner_and_its_lead_when_all_is_exact():
    said = best_value([exact("B", "10", 100.0), exact("A", "20", 125.0)])
    assert said.certainty == Certainty.CLEAR
    assert said.sentence == (
        "A is most likely the best value (chance over 99%). "
        "It gives 25% more performance for the money than B."
    )
    assert said.detail == ""


def test_best_value_states_the_interval_of_the_lead():
    # 200 within a factor of 1.03 over 100 within a factor of 1.04: by hand
    # exp(√(ln² 1.03 + ln² 1.04)) = 1.0504, so 2 / 1.0504 = 1.9 to 2 · 1.0504 = 2.1.
    said = best_value([around("B", "1", 100.0, 1.04), around("A", "1", 200.0, 1.03)])
    assert said.sentence.endswith("It gives 2× the performance for the money of B (1.9× to 2.1×).")


def test_lead_of_exact_figures_has_no_interval():
    assert lead_words("B", (240.0,) * 3, (100.0,) * 3) == (
        "It gives 2.4× the performance for the money of B."
    )
    assert lead_words("B", (150.0,) * 3, (100.0,) * 3) == (
        "It gives 50% more performance for the money than B."
    )


def test_best_value_names_who_could_also_be_the_best():
    # σ of a factor of 1.25 is ln(1.5625) / 3.92 = 0.114; D leads E by ln(1000 / 990) = 0.01.
    wide = [around(name, price, value, 1.25) for name, price, value in
            (("A", "3", 101.0), ("D", "9", 1000.0), ("E", "9", 990.0))]  # fmt: skip
    said = best_value(wide)
    assert said.certainty == Certainty.TIE
    assert said.sentence.startswith(
        "No clear winner: D measures best for its price, with a chance of 5"
    )
    assert said.sentence.endswith(" E could also be.")


@pytest.mark.parametrize("third", [50.0, 80.0, 85.0])
def test_statement_on_two_stays_when_a_third_below_is_added(third: float):
    # B lies 14% below A, each within 5%: ln(1 / 0.86) = 0.151 > 1.96 · √2 · 0.0249 = 0.069.
    two = [around("A", "1", 100.0, 1.05), around("B", "1", 86.0, 1.05)]
    three = best_value([*two, around("C", "1", third, 1.05)])
    assert best_value(two).sentence == three.sentence
    assert three.certainty == Certainty.CLEAR


def test_best_value_crowns_nobody_without_saying_who_is_missing():
    known = [exact("B", "10", 100.0), exact("A", "20", 125.0)]
    said = best_value([*known, Contender("C", Decimal(60), None, "no score yet")])
    assert said.certainty == Certainty.UNKNOWN
    assert said.sentence == (
        "2 of 3 can be compared. A is most likely the best value (chance over 99%). "
        "Without a value: C (no score yet)."
    )
    assert "measure it or import a result" in said.detail


@pytest.mark.parametrize(
    ("contenders", "sentence"),
    [
        (
            [exact("A", "49", 1.0), Contender("B", Decimal(70), None, "no score yet")],
            "A costs 30% less than B. Which of them is the better value is not known. "
            "Without a value: B (no score yet).",
        ),
        (
            [exact("A", "49", 1.0), Contender("B", None, None, "no price")],
            "Value for money cannot be compared yet. Without a value: B (no price).",
        ),
        ([exact("A", "49", 1.0)], "A is the only offer here."),
        ([], "There is nothing to compare here."),
    ],
)
def test_best_value_is_unknown_with_fewer_than_two_figures(
    contenders: list[Contender], sentence: str
):
    said = best_value(contenders)
    assert (said.certainty, said.sentence) == (Certainty.UNKNOWN, sentence)


@pytest.mark.parametrize(
    ("amount", "words"),
    [("10.82", "10.8"), ("9.996", "10.0"), ("1234.5", "1,230"), ("0.0042", "0.00420"),
     ("73", "73.0"), ("0", "0"), ("99.96", "100"), ("2628", "2,630")],
)  # fmt: skip
def test_price_in_a_sentence_has_three_significant_digits(amount: str, words: str):
    assert price_words(Decimal(amount), "EUR", "month") == f"{words} EUR/month"


@pytest.mark.parametrize(
    ("probability", "words"),
    [(1.0, "over 99%"), (0.915, "92%"), (0.085, "8%"), (0.001, "under 1%")],
)
def test_chance_is_whole_percent_and_never_certain(probability: float, words: str):
    assert percent_chance(probability) == words


def test_listed_joins_names_and_counts_those_beyond():
    assert name_list(["A"]) == "A"
    assert name_list(["A", "B", "C"]) == "A, B and C"
    assert name_list(["A", "B", "C", "D", "E"]) == "A, B, C and 2 more"


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
        ([SURE], "clear", "4 × A is the cheapest: 160 USD/month."),
        ([SURE, DEARER], "clear", "4 × A is the cheapest: 160 USD/month, 20% less than 2 × B."),
        ([SHORT, fleet("9 × E", "120", holds=True)], "clear",
         "9 × E is the cheapest: 120 USD/month, the same as 3 × C."),
        ([SHORT, SURE], "tie",
         "3 × C is the cheapest: 120 USD/month. In the worst case of its scores "
         "it falls short. 4 × A is the safe choice, at 160 USD/month."),
        ([SHORT], "tie",
         "3 × C is the cheapest: 120 USD/month. In the worst case of its scores "
         "it falls short. No fleet below is sure to be enough."),
        ([OPEN, SURE], "unknown",
         "3 × D is the cheapest: 120 USD/month. How sure its scores are is not known. "
         "4 × A is the safe choice, at 160 USD/month."),
        ([OPEN], "unknown",
         "3 × D is the cheapest: 120 USD/month. How sure its scores are is not known. "
         "No fleet below is sure to be enough."),
    ],
)  # fmt: skip
def test_cheapest_fleet_says_how_surely_it_is_enough(
    fleets: list[FleetChoice], certainty: str, sentence: str
):
    said = cheapest_fleet(fleets, "USD")
    assert (said.certainty, said.sentence) == (certainty, sentence)


def test_cheapest_fleet_names_its_limit_and_what_was_not_tried():
    said = cheapest_fleet([SURE], "EUR", is_proven=False)
    assert said.sentence == "4 × A is the cheapest of those tried: 160 EUR/month."
    assert said.detail == "Bottleneck of 4 × A: Memory, 25% to spare."
    barely = cheapest_fleet([replace(SURE, spare=0.0004)], "EUR")
    assert barely.detail == "Bottleneck of 4 × A: Memory, just enough."


def test_server_cost_lists_the_shares_from_the_largest():
    parts = [("staff", Decimal(20)), ("purchase", Decimal(70)), ("space", Decimal(0)),
             ("energy", Decimal(10))]  # fmt: skip
    assert server_cost(parts, "EUR").sentence == (
        "One server costs 100 EUR/month: purchase 70%, staff 20% and energy 10%."
    )
    assert server_cost([("staff", Decimal(0))], "EUR").sentence == ("One server costs 0 EUR/month.")
