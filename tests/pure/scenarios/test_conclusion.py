"""The sentence of a scenario: hand-made results with one answer each."""

from typing import Any

from backend.rankings.calc.conclusions import Certainty
from backend.scenarios.calc.conclusion import conclude


def option(name: str, cost: str, unmet: float = 0.0, **given: Any) -> dict[str, Any]:
    return {
        "name": name, "cost_total": cost, "unserved_share": unmet,
        "may_be_cheapest": unmet <= 0.001, "p_cheapest": None, "interval": None, **given,
    }  # fmt: skip


def drawn(name: str, cost: str, odds: float, unmet: float = 0.0, **more: Any) -> dict[str, Any]:
    interval = {"p5": "978.17", "p95": "2304.62"}
    return option(name, cost, unmet, p_cheapest=odds, interval=interval, **more)


def said(*options: dict[str, Any], price: str | None = None) -> Any:
    result = {"options": list(options), "demand": {"unit_hours": 1000.0}}
    return conclude(result, "USD", "30 days", price)


def test_conclusion_names_the_cheapest_and_by_how_much() -> None:
    one = said(drawn("cloud", "1884.00", 0.0), drawn("hybrid", "1320.00", 1.0))
    assert one.certainty is Certainty.CLEAR
    assert one.sentence == ("“hybrid” is the cheapest, 30% below “cloud”: 1,320 USD in 30 days.")
    assert one.detail == (
        "Where it serves the demand, “hybrid” is the cheapest in 100% of the simulations "
        "(90% range: 978 to 2,300 USD)."
    )


def test_conclusion_names_those_whose_costs_overlap() -> None:
    one = said(
        drawn("a", "100", 0.4, distinguishable=False),
        drawn("b", "101", 0.57, distinguishable=False, p_serves=0.59, launches=0, peak_servers=23),
        drawn("c", "150", 0.03, distinguishable=True, p_serves=0.1),
    )
    assert one.certainty is Certainty.TIE
    assert one.detail.endswith(
        "In 41% of the simulations the demand grows beyond what “b” can serve."
    )
    assert "“c”" not in one.detail
    assert one.sentence == (
        "“a” is most likely the cheapest: 100 USD in 30 days. “b” (cannot grow past 23 servers) could"
        " also be: their costs overlap."
    )


def test_conclusion_is_clear_where_costs_do_not_overlap() -> None:
    """24,746 stood beside 98,064 EUR under “too close to call”, as half of the draws outgrew it."""
    one = said(
        drawn(
            "own", "24746", 0.51, distinguishable=False, p_serves=0.51, launches=0, peak_servers=14
        ),
        drawn("cloud", "98064", 0.49, distinguishable=True, p_serves=1.0, launches=900),
    )
    assert one.certainty is Certainty.CLEAR
    assert one.sentence == (
        "“own” is the cheapest, 75% below “cloud”, but cannot grow past 14 servers: 24,700 USD in 30 days."
    )
    assert one.detail.startswith("Where it serves the demand, “own” is the cheapest in 100%")
    assert one.detail.endswith(
        "In 49% of the simulations the demand grows beyond what “own” can serve."
    )


def test_conclusion_says_that_what_launches_may_not_keep_up() -> None:
    one = said(
        drawn("cloud", "600", 0.6, p_serves=0.6, launches=900, peak_servers=14),
        drawn("own", "1000", 0.4, distinguishable=True, p_serves=1.0, launches=0),
    )
    assert one.sentence == (
        "“cloud” is the cheapest, 40% below “own”, but may not keep up with growth: 600 USD in 30 days."
    )


def test_conclusion_waits_for_prices_that_are_still_examples() -> None:
    result = {"options": [option("a", "1"), option("b", "2")], "demand": {"unit_hours": 1.0}}
    one = conclude(result, "USD", "30 days", examples=["a"])
    assert one.certainty is Certainty.UNKNOWN
    assert one.sentence == (
        "No answer yet: the prices of “a” are examples. Open the editor and enter the prices that you "
        "would pay."
    )


def test_conclusion_leaves_out_what_drops_demand_and_says_so() -> None:
    one = said(option("lossy", "10", 0.2), option("whole", "100", 0.0005))
    assert one.sentence == (
        "“whole” is the only option that serves the demand: 100 USD in 30 days. "
        "It leaves under 0.1% of the demand unmet."
    )
    assert one.detail == (
        "Inputs as stated: no uncertainty is calculated. "
        "Not counted, for they leave demand unmet: “lossy” (20%)."
    )


def test_conclusion_says_when_no_option_serves() -> None:
    one = said(option("a", "10", 0.2), option("b", "20", 0.1))
    assert one.certainty is Certainty.UNKNOWN
    assert one.sentence == (
        "No option serves the demand: “b” leaves the least of it unmet, 10%, for 20.0 USD in 30 days."
    )


def test_conclusion_counts_unmet_demand_at_its_price() -> None:
    # 10 + 0.2 × 1,000 unit-hours × 1 = 210 against 100
    lossy = option("lossy", "10", 0.2, may_be_cheapest=True)
    one = said(lossy, option("whole", "100"), price="1")
    assert one.sentence.startswith("“whole” is the cheapest, 52% below")
    assert one.detail.endswith("Unmet demand counts at the price that is stated for it.")


def test_conclusion_says_when_two_cost_the_same() -> None:
    one = said(drawn("a", "100", 0.94), drawn("b", "100", 0.02))
    assert one.sentence == "“a” and “b” cost the same: 100 USD in 30 days."


def test_conclusion_goes_by_expected_cost_when_the_project_may_end() -> None:
    bound = {"contract": {"expected_cost": "1402.66", "active_months": 9.2}}
    free = {"contract": {"expected_cost": "920.23", "active_months": 9.202}}
    one = said(option("a year", "2400", **bound), option("by the month", "2400", **free))
    assert one.sentence == (
        "“by the month” has the lowest expected cost: 920 USD, as the project may end within the "
        "30 days and runs 9.2 months on average; “a year” follows, and “by the month” is 34% below it."
    )
    assert one.detail.startswith("Prices as stated")
    alone = said(option("by the month", "2400", **free))
    assert alone.sentence.endswith("runs 9.2 months on average.")
