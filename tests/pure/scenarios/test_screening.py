"""Many offers under one load, against the full simulation of each; fleets for the peak."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.model import ScenarioInput
from backend.scenarios.calc.peak_mix import peak_mix
from backend.scenarios.calc.results import outcome
from backend.scenarios.calc.screening import LeastCosts, Screening, least_rate, screen
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, price, startup

MONTH = {"start": "2026-01-20T05:00:00+00:00", "days": 20, "step_s": 3600}
PRICES = (
    price,
    lambda amount: price(amount, minimum_s=0),
    lambda amount: price(amount, "per_minute"),
    lambda amount: price(amount, "hour_ceil"),
    lambda amount: price(amount, "hour_ceil_cap", cap=str(Decimal(amount) * 100)),
    lambda amount: price(amount, "spot", interruptions_per_month="3"),
    lambda amount: price(amount, "sustained_use"),
    lambda amount: price(str(Decimal(amount) * 300), "monthly"),
    lambda amount: price(str(Decimal(amount) * 300), "monthly", month_convention="30d"),
    lambda amount: price(str(Decimal(amount) * 300), "monthly", month_convention=730),
    lambda amount: price(str(Decimal(amount) * 300), "dedicated", setup="7", minimum_months=2),
    lambda amount: price(amount, "savings", commit_per_hour="0.5", discount="0.3"),
)


def loaded(*options: Document, **given: Any) -> Document:
    return startup(*options, horizon=MONTH, **given)


def screened_of(document: Document, limit: int = 100) -> tuple[ScenarioInput, Screening]:
    scenario = scenario_from(document)
    return scenario, screen(scenario, scenario.options, limit=limit)


def names(screening: Screening) -> list[str]:
    return [row.option.name for row in screening.rows]


elastic = st.tuples(
    st.integers(0, len(PRICES) - 1), st.integers(1, 400), st.sampled_from(["1", "1.5", "4", "7"])
)
offers = st.lists(elastic, min_size=1, max_size=8)
policies = st.sampled_from(
    [
        {"kind": "perfect"},
        {"kind": "hpa", "warmup_s": 3600},
        {"kind": "perfect", "quota": 4},
        {"kind": "perfect", "min": 2},
    ]
)
losses = st.sampled_from(
    [{}, {"tolerated_unserved_share": "0.2"}, {"price_per_unserved_unit_hour": "0.05"}]
)


@settings(max_examples=60)
@given(offers, policies, losses, st.sampled_from([None, "peak", 3]), st.integers(1, 8))
def test_screening_says_of_each_offer_what_its_simulation_says(
    made: list[tuple[int, int, str]], policy: Document, loss: Document, count: Any, limit: int
) -> None:
    options = [
        all_of(f"{n}", PRICES[rule](f"{cents / 100:.2f}"), capacity=units)
        for n, (rule, cents, units) in enumerate(made)
    ]
    # The last one always runs: what is committed cannot be ended.
    options[-1]["parts"][0] |= {} if count is None else {"count": count}
    document = loaded(*options, policy=policy, extras={"fixed_per_month": "3"}, **loss)
    scenario, every = screened_of(document)
    assert sorted(names(every)) == sorted(option["name"] for option in options)
    full = {option["name"]: option for option in simulate(document)["options"]}
    for row in every.rows:
        assert full[row.option.name].items() >= row.result.items()
        assert (row.rank is not None) == row.result["may_be_cheapest"]
        if row.rank is not None and not loss.get("price_per_unserved_unit_hour"):
            assert LeastCosts(scenario).of(row.option) <= outcome(scenario, row.option).total
    serving = [row for row in every.rows if row.rank is not None]
    assert every.rows[: len(serving)] == tuple(serving)
    if "price_per_unserved_unit_hour" not in loss:
        costs = [Decimal(row.result["cost_total"]) for row in serving]
        assert costs == sorted(costs)
    # What is not run at all would not have been among the cheapest.
    assert screened_of(document, limit)[1].rows == every.rows[:limit]


def test_screening_ranks_equal_costs_alike_and_counts_on() -> None:
    _, screening = screened_of(
        loaded(
            all_of("b", price("0.4")),
            all_of("a", price("0.4")),
            all_of("dear", price("0.5")),
        )
    )
    assert [(row.option.name, row.rank) for row in screening.rows] == [
        ("a", 1),
        ("b", 1),
        ("dear", 3),
    ]


def test_screening_puts_what_serves_too_little_behind_all_that_serve() -> None:
    _, screening = screened_of(
        loaded(
            all_of("small", price("0.01")),
            all_of("large", price("9"), capacity="5"),
            all_of("middle", price("0.01"), capacity="2"),
            policy={"kind": "perfect", "quota": 5},
        )
    )
    # 5 small ones carry 5 and 5 middle ones 10 of the 20 in the busy hours.
    assert [(row.option.name, row.rank) for row in screening.rows] == [
        ("large", 1),
        ("middle", None),
        ("small", None),
    ]


def test_unserved_demand_at_a_price_decides_which_offer_is_cheaper() -> None:
    document = loaded(
        all_of("small", price("0.01")),
        all_of("large", price("0.2"), capacity="5"),
        policy={"kind": "perfect", "quota": 5},
    )
    # 157 unit-hours a day, of which small ones leave 75 in the five busy hours: 7.50 a day at 0.10
    # each beside 0.82; large ones serve all with 19 and 4 × 5 server-hours, 7.80.
    for lost, order in (("0.10", ["large", "small"]), ("0.01", ["small", "large"])):
        assert names(screened_of({**document, "price_per_unserved_unit_hour": lost})[1]) == order


def test_screening_names_what_cannot_be_calculated() -> None:
    document = loaded(all_of("o", price("1")), all_of("tiny", price("1"), count="peak"))
    scenario = scenario_from(document)
    good, tiny = scenario.options
    grain = Fraction(1, 10**6)
    parts = [(replace(one.parts[0], units_per_server=grain),) for one in (good, tiny)]
    options = [good, replace(good, name="dust", parts=parts[0]), replace(tiny, parts=parts[1])]
    screening = screen(scenario, options, limit=5)
    assert names(screening) == ["o"]
    assert set(screening.faults) == {"dust", "tiny"}
    assert all("at most 1000000 are possible" in why for why in screening.faults.values())


def test_screening_of_no_offers_is_empty() -> None:
    scenario = scenario_from(loaded(all_of("o", price("1"))))
    assert screen(scenario, [], limit=5).rows == ()


# --- fleets for the peak ------------------------------------------------------------------------

LARGE = all_of("large", price("1.0"), capacity="3")
SMALL = all_of("small", price("0.4"), capacity="1")


def mixed(*options: Document, **given: Any) -> Any:
    scenario = scenario_from(startup(*options, **given))
    return peak_mix(scenario, scenario.options)


def test_peak_mix_takes_the_cheapest_cover_of_the_peak() -> None:
    # 20 units: 6 large and 2 small at 6.8 an hour; 7 large cost 7.0, 20 small 8.0
    mix = mixed(LARGE, SMALL)
    assert [(option.name, count) for option, count in mix.servers] == [("large", 6), ("small", 2)]
    assert (mix.peak, mix.carried, mix.floor) == (20, 20, None)
    assert (mix.cost, mix.cost_per_month) == (Fraction("6.8") * 720, Fraction("6.8") * 730)


def test_peak_mix_counts_setup_extras_and_the_months_of_the_horizon() -> None:
    fee = price("100", "dedicated", setup="50")
    horizon = {"start": "2026-01-01T00:00:00+00:00", "months": 2, "step_s": 3600}
    extras = {"fixed_per_month": "9"}
    mix = mixed(all_of("d", fee, capacity="10"), horizon=horizon, extras=extras)
    # 2 servers: 2 × 2 months of 100, 2 × 50 once, 2 months of 9 beside
    assert (mix.cost, mix.cost_per_month) == (400 + 100 + 18, 209)


def test_peak_mix_keeps_the_target_utilisation_and_the_quota() -> None:
    capacity = {"units_per_server": "1", "target_utilisation": "0.5"}
    mix = mixed(LARGE, SMALL, capacity=capacity)
    # 40 units at half use: 13 large and 1 small
    assert [count for _, count in mix.servers] == [13, 1]
    assert (mix.carried, mix.peak) == (20, 20)
    quota = {"kind": "perfect", "quota": 7}
    assert [count for _, count in mixed(LARGE, SMALL, policy=quota).servers] == [7]
    assert mixed(LARGE, SMALL, policy={"kind": "perfect", "quota": 6}) is None


@pytest.mark.parametrize("base", [0, 20])
def test_peak_mix_of_nothing_is_none(base: int) -> None:
    scenario = scenario_from(startup(LARGE, demand={"kind": "daily", "unit": "u", "base": base}))
    assert peak_mix(scenario, scenario.options if not base else []) is None


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 99)), min_size=1, max_size=3))
def test_peak_mix_is_the_cheapest_of_all_counts(types: list[tuple[int, int]]) -> None:
    options = [
        all_of(f"{n}", price(f"{cents / 100:.2f}"), capacity=str(units))
        for n, (units, cents) in enumerate(types)
    ]
    mix = mixed(*options)
    fleets = product(*(range(-(-20 // units) + 1) for units, _ in types))
    cheapest = min(
        sum(n * cents for n, (_, cents) in zip(fleet, types, strict=True))
        for fleet in fleets
        if sum(n * units for n, (units, _) in zip(fleet, types, strict=True)) >= 20
    )
    assert mix.cost == Fraction(cheapest, 100) * 720
    assert mix.carried >= mix.peak


def test_least_rate_of_a_month_is_that_of_all_its_hours() -> None:
    monthly, capped = (
        scenario_from(loaded(all_of("x", given))).options[0].parts[0].price
        for given in (
            price("73", "monthly", month_convention=730),
            price("0.4", "hour_ceil_cap", cap="40", month_convention=730),
        )
    )
    assert least_rate(monthly) == Fraction(1, 10)
    # 40 for the 730 hours of a month and the one that reaches into the next: less than 0.4.
    assert least_rate(capped) == Fraction(40, 731)
