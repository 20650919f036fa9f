"""What holds for every demand, policy and price."""

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.results import outcome
from backend.scenarios.calc.series import series
from tests.oracles.scenarios.mixed import Candidate, mixed
from tests.oracles.scenarios.plans import Plan, cheapest_plans
from tests.pure.scenarios.documents import Document, all_of, hybrid, price
from tests.pure.scenarios.short import ran, running, scenario_of, steps, total

levels = st.lists(st.integers(0, 40).map(lambda n: n / 4), min_size=2, max_size=48)
amounts = st.integers(1, 400).map(lambda cents: f"{cents / 100:.2f}")
windows = st.sampled_from([0, 900, 1800, 3600])


def of(demand: list[float], option: Document, **given: Any) -> Document:
    return steps(demand, option, step_s=900, **given)


policies = st.fixed_dictionaries(
    {"kind": st.just("hpa"), "warmup_s": windows},
    optional={"out_window_s": windows, "in_window_s": windows, "lag_s": windows},
)


@given(levels, st.randoms(use_true_random=False), amounts)
def test_elastic_bill_does_not_depend_on_the_order_of_the_steps(
    demand: list[float], random: Any, amount: str
) -> None:
    other = demand.copy()
    random.shuffle(other)
    option = all_of("o", price(amount, minimum_s=0))
    assert total(of(demand, option)) == total(of(other, option))
    plans = [Plan("a", Fraction(amount), Fraction(0)), Plan("b", Fraction(0), Fraction(1))]
    split = [cheapest_plans(ran(of(d, option)).fleet.running, plans) for d in (demand, other)]
    assert split[0] == split[1]


@given(levels, policies, amounts)
def test_no_policy_that_serves_everything_costs_less_than_perfect(
    demand: list[float], policy: Document, amount: str
) -> None:
    option = all_of("o", price(amount, minimum_s=0))
    found = ran(of(demand, option, policy=policy))
    if found.service.worst == 0:
        assert total(of(demand, option)) <= found.total


@given(levels, policies, amounts)
def test_finer_clocks_and_caps_never_cost_more(
    demand: list[float], policy: Document, amount: str
) -> None:
    bills = [
        total(of(demand, all_of("o", given), policy=policy))
        for given in (
            price(amount),
            price(amount, "per_minute"),
            price(amount, "hour_ceil"),
            price(amount, "hour_ceil_cap", cap="2.5"),
        )
    ]
    assert bills[0] <= bills[1] <= bills[2]
    assert bills[3] <= bills[2]


@given(levels, amounts, amounts, st.sampled_from(["per_second", "hour_ceil", "sustained_use"]))
def test_best_hybrid_never_costs_more_than_either_alone(
    demand: list[float], month: str, hour: str, billing: str
) -> None:
    base, burst = price(month, "monthly"), price(hour, billing)
    both = total(of(demand, hybrid("h", base, burst)))
    assert both <= total(of(demand, all_of("cloud", burst)))
    assert both <= total(of(demand, all_of("dedicated", base, count="peak")))


@given(levels, st.integers(0, 900), st.integers(0, 900))
def test_windows_of_one_step_are_perfect_elasticity(
    demand: list[float], out_s: int, in_s: int
) -> None:
    policy = {"kind": "hpa", "out_window_s": out_s, "in_window_s": in_s}
    option = all_of("o", price("1"))
    assert running(of(demand, option, policy=policy)) == running(of(demand, option))


@given(levels, policies, st.sampled_from(["0.5", "2", "4", "0.125"]))
def test_larger_units_change_nothing_when_demand_and_capacity_share_them(
    demand: list[float], policy: Document, factor: str
) -> None:
    scaled = [level * float(factor) for level in demand]
    one = ran(of(demand, all_of("o", price("1")), policy=policy))
    other = ran(
        of(scaled, all_of("o", price("1")), policy=policy, capacity={"units_per_server": factor})
    )
    assert one.fleet.running.tolist() == other.fleet.running.tolist()
    assert one.total == other.total
    assert one.service.minutes == other.service.minutes
    assert one.service.share == other.service.share


RULES = st.one_of(
    st.builds(price, amounts, st.sampled_from(["per_second", "per_minute", "hour_ceil"])),
    st.builds(price, amounts, st.just("hour_ceil_cap"), cap=amounts),
    st.builds(price, amounts, st.just("sustained_use")),
    st.builds(price, amounts, st.just("savings"), commit_per_hour=amounts, discount=st.just("0.3")),
    st.builds(price, amounts, st.just("monthly")),
    st.builds(price, amounts, st.just("dedicated"), setup=amounts, minimum_months=st.just(2)),
)


@given(RULES, st.integers(0, 6), st.sampled_from([None, 4]))
def test_months_are_never_negative_and_add_up_to_the_whole(
    given_price: Document, base: int, quota: int | None
) -> None:
    window = {"from": "09:00", "to": "17:00", "level": 6, "weekdays": [0, 1, 2, 3, 4]}
    document = {
        "schema": 1,
        "horizon": {"start": "2026-01-20T07:00:00+00:00", "days": 60, "step_s": 3600},
        "demand": {"unit": "u", "kind": "daily", "base": base, "windows": [window]},
        "capacity": {"units_per_server": "1"},
        "policy": {"quota": quota},
        "options": [all_of("o", given_price)],
        "extras": {"fixed_per_month": "3"},
    }
    rows = [Fraction(row["options"][0]["cost"]) for row in series(document)["months"]]
    scenario = scenario_from(document)
    whole = outcome(scenario, scenario.options[0]).total
    assert min(rows) >= 0
    assert abs(sum(rows) - whole) <= Fraction(len(rows) + 1, 2_000_000)  # each rounded once


@given(
    levels,
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 400)), min_size=1, max_size=5),
)
def test_mixed_fleet_is_never_dearer_than_one_type(
    demand: list[float], types: list[tuple[int, int]]
) -> None:
    scenario = scenario_of(of(demand, all_of("o", price("1"))))
    offers = [
        Candidate(f"{n}", Fraction(units, 2), Fraction(cents, 100))
        for n, (units, cents) in enumerate(types)
    ]
    found = mixed(scenario, offers)
    assert found.is_exact
    alone = [
        total(
            of(demand, all_of("o", price(f"{cents / 100}", minimum_s=0), capacity=f"{units / 2}"))
        )
        for units, cents in types
    ]
    assert found.cost <= min(alone)
    if len(offers) == 1:
        assert found.cost == alone[0]
    given_units = sum(
        count * next(o.units_per_server for o in offers if o.name == name)
        for name, count in found.at_peak.items()
    )
    assert given_units >= Fraction(max(demand))
