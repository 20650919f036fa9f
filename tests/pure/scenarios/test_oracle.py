"""The engine against the slow way, over random documents."""

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from backend.scenarios.calc.contracts import contract_result
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.policy_document import POLICIES
from backend.scenarios.calc.results import money, outcome
from backend.scenarios.calc.service import unserved_units
from tests.conftest import IS_DEEP
from tests.pure.scenarios.documents import Document, all_of, hybrid, price
from tests.pure.scenarios.oracle import Oracle

DOCUMENTS = max(settings().max_examples, 5_000 if IS_DEEP else 0)
START = dt.datetime(2026, 3, 28, 22, tzinfo=dt.UTC)  # the night before summer time begins
amounts = st.integers(1, 400).map(lambda cents: f"{cents / 100:.2f}")
hourly = st.one_of(
    st.builds(price, amounts, st.just("per_second"), minimum_s=st.sampled_from([0, 60, 3600])),
    st.builds(price, amounts, st.just("per_minute")),
    st.builds(price, amounts, st.just("hour_ceil")),
    st.builds(price, amounts, st.just("hour_ceil_cap"), cap=amounts),
    st.builds(price, amounts, st.just("sustained_use")),
    st.builds(
        price,
        amounts,
        st.just("savings"),
        commit_per_hour=amounts,
        discount=st.sampled_from(["0", "0.3"]),
        term_months=st.sampled_from([1, 2, 12]),
    ),
    st.builds(
        price,
        amounts,
        st.just("savings"),
        commit_per_hour=amounts,
        discount=st.just("0.3"),
        term_months=st.just(1),
        renews=st.just(False),
        after=amounts,
    ),
    st.builds(
        price,
        amounts,
        st.just("spot"),
        minimum_s=st.sampled_from([0, 60, 3600]),
        interruptions_per_month=st.sampled_from(["0", "0.5", "20", "100000"]),
    ),
)
conventions = st.sampled_from(["calendar", "30d", 730])
monthly = st.one_of(
    st.builds(price, amounts, st.just("monthly"), month_convention=conventions),
    st.builds(
        price,
        amounts,
        st.just("dedicated"),
        setup=amounts,
        minimum_months=st.integers(1, 4),
        month_convention=st.sampled_from(["calendar", "30d", 7]),
    ),
)
reserved = st.builds(
    price, amounts, st.just("reserved"), upfront=amounts, term_months=st.sampled_from([1, 2, 12])
) | st.builds(
    price,
    amounts,
    st.just("reserved"),
    upfront=amounts,
    term_months=st.sampled_from([1, 2]),
    renews=st.just(False),
    after=amounts,
)
NOTHING = (
    "discount_rate_per_year",
    "energy_price_per_kwh",
    "rack_price_per_unit_month",
    "support_ratio_per_year",
    "annual_failure_rate",
)


@st.composite
def bought(draw: st.DrawFn) -> Document:
    """Own hardware whose life or lease may end within the horizon."""
    own: Document = {
        "name": "own",
        "currency": "USD",
        "servers": 1,
        "items": [{"name": "server", "count": 1, "unit_price": draw(amounts)}],
        "life_months": draw(st.sampled_from([1, 2, 60])),
        "residual_ratio": draw(st.sampled_from(["0", "0.1"])),
        "resale_ratio_at_start": draw(st.sampled_from(["0.1", "0.6", "1"])),
        "staff_hours_per_month": draw(st.sampled_from(["0", "2"])),
        "staff_price_per_hour": draw(amounts),
        "installation_price": draw(st.sampled_from(["0", "7"])),
        **dict.fromkeys(NOTHING, "0"),
    }
    if draw(st.booleans()):
        # Of the same length: one-off work is spread over the life.
        own["lease"] = {"price_per_month": draw(amounts), "term_months": own["life_months"]}
    given: Document = {"billing": "purchase", "hardware": own}
    return given | (draw(st.just({}) | st.just({"renews": False, "after": "9.5"})))


seconds = st.sampled_from([0, 60, 300, 900, 1800, 4000])
clocks = st.integers(0, 23).map(lambda hour: f"{hour:02d}:00")
windows = st.lists(
    st.fixed_dictionaries(
        {"from": clocks, "to": clocks, "level": st.integers(0, 6)},
        optional={"weekdays": st.lists(st.integers(0, 6), min_size=1, max_size=7, unique=True)},
    ),
    max_size=3,
)
zones = st.sampled_from(["UTC", "Europe/Dublin", "America/New_York"])
daily = st.fixed_dictionaries(
    {
        "unit": st.just("units"),
        "kind": st.just("daily"),
        "base": st.integers(0, 5),
        "windows": windows,
        "time_zone": zones,
    }
)


@st.composite
def traces(draw: st.DrawFn) -> Document:
    gaps = draw(st.lists(st.integers(1, 200), min_size=1, max_size=25))
    at, points = START - dt.timedelta(minutes=draw(st.integers(0, 300))), []
    for gap in gaps:
        points.append([at.isoformat(), draw(st.integers(0, 600).map(lambda n: n / 100))])
        at += dt.timedelta(minutes=gap)
    return {"unit": "units", "kind": "trace", "points": points}


@st.composite
def policies(draw: st.DrawFn) -> Document:
    kind = draw(st.sampled_from(tuple(POLICIES)))
    low = draw(st.integers(0, 3))
    found: Document = {
        "kind": kind,
        "min": low,
        "max": draw(st.none() | st.integers(low, 8)),
        "quota": draw(st.none() | st.integers(0, 5)),
        "warmup_s": draw(seconds),
        "lag_s": draw(seconds),
    }
    if kind == "hpa":
        found |= {"out_window_s": draw(seconds), "in_window_s": draw(seconds)}
    if kind == "cluster_autoscaler":
        found |= {"out_delay_s": draw(seconds), "in_delay_s": draw(seconds)}
    if kind == "predictive":
        found |= {"lead_s": draw(seconds)}
    if kind in {"target_tracking", "step"}:
        found |= {"cooldown_s": draw(seconds), "target": draw(st.sampled_from(["0.5", "0.8"]))}
    if kind == "step":
        found |= {"in_below": draw(st.sampled_from(["0.25", "0.5"]))}
    if kind == "fixed":
        found |= {"count": draw(st.integers(0, 6))}
    if kind == "scheduled":
        found |= {"base": draw(st.integers(0, 4)), "windows": draw(windows), "time_zone": "UTC"}
    return found


@st.composite
def options(draw: st.DrawFn) -> Document:
    kind = draw(st.sampled_from(["elastic", "always", "hybrid", "commitment"]))
    if kind == "elastic":
        return all_of("o", draw(hourly | monthly))
    if kind == "always":
        count: int | str = draw(st.just("peak") | st.integers(0, 5))
        return all_of("o", draw(hourly | monthly | reserved | bought()), count=count)
    count = draw(st.sampled_from(["optimal", "peak", 0, 1, 3]))
    if kind == "commitment":
        burst = price(draw(amounts), minimum_s=draw(st.sampled_from([0, 60, 3600])))
        return hybrid("o", draw(reserved), burst, count)
    found = hybrid("o", draw(hourly | monthly | bought()), draw(hourly | monthly), count)
    if draw(st.booleans()):
        found["parts"][0]["capacity"] = draw(st.sampled_from(["0.5", "2", "1.5"]))
    return found


extras = st.fixed_dictionaries(
    {
        "fixed_per_month": amounts,
        "staff_hours_per_server_month": amounts,
        "hardware_hours_per_server_month": amounts,
        "staff_usd_per_hour": amounts,
        "storage_gb": amounts,
        "storage_usd_per_gb_month": amounts,
        "egress_gb_per_month": amounts,
        "egress_tiers": st.just([["1.5", "0.3"], ["2", "0.2"], [None, "0.1"]]),
        "month_convention": conventions,
    }
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    day = {"start": START.isoformat(), "days": 1, "step_s": draw(st.sampled_from([300, 900]))}
    months = {"start": "2026-03-01T00:00:00+00:00", "months": 2, "step_s": 21_600}
    return {
        "schema": 1,
        "horizon": draw(st.sampled_from([day, day, months])),
        "demand": draw(daily | traces()),
        "capacity": {
            "units_per_server": draw(st.sampled_from(["1", "0.7", "2.5"])),
            "target_utilisation": draw(st.sampled_from(["1", "0.7"])),
        },
        "policy": draw(policies()),
        "options": [draw(options())],
        "extras": draw(st.just({}) | extras),
        "hazard_per_month": draw(st.sampled_from(["0.1", "0.9", "1"])),
        "contract": {
            "minimum_months": draw(st.integers(0, 4)),
            "notice_days": draw(st.sampled_from([0, 14, 30, 90])),
        },
    }


@settings(max_examples=DOCUMENTS)
@given(documents())
def test_engine_agrees_with_the_slow_calculation(document: Document) -> None:
    scenario = scenario_from(document)
    found = outcome(scenario, scenario.options[0])
    oracle = Oracle(document)
    told = oracle.option(document["options"][0])
    note(f"{told.running} {found.fleet.running.tolist()}")
    assert scenario.demand.values.tolist() == [float(d) for d in oracle.demand]
    assert found.fleet.running.tolist() == told.running
    assert found.fleet.serving.tolist() == told.serving
    assert found.fleet.base == told.base
    assert is_same(found.total, told.cost, document)
    assert found.fleet.lives.count == len(told.lives)
    assert is_same(found.fleet.charges.commitments, told.committed, document)
    assert found.fleet.charges.interruptions == told.interruptions
    lost_units = float(sum(told.unserved) + told.outages)
    assert found.service.share * asked(oracle) == pytest.approx(lost_units, abs=1e-9)
    contract = contract_result(scenario, found)
    assert contract is not None
    assert contract["expected_cost"] == money(oracle.expected_cost(document["options"][0]))
    assert found.server_s == oracle.step * (
        sum(told.running) + found.fleet.always_on * oracle.count
    )
    used = None if told.utilisation is None else pytest.approx(float(told.utilisation))
    assert found.service.utilisation == used
    lost = sum(1 for units in told.unserved if units > 0)
    if not told.outages:
        assert found.service.minutes == lost * oracle.step / 60
    fleet = found.fleet
    missing = unserved_units(scenario, fleet.serving, fleet.units_elastic, fleet.base_units)
    assert missing.tolist() == pytest.approx([float(u) for u in told.unserved])


def is_same(amount: Fraction, expected: Fraction, document: Document) -> bool:
    """Equal; the cost model of one's own hardware divides with 34 digits."""
    parts = [part for option in document["options"] for part in option["parts"]]
    if not any("hardware" in part["price"] for part in parts):
        return amount == expected
    return abs(amount - expected) <= abs(expected) * Fraction(1, 10**30)


def asked(oracle: Oracle) -> float:
    return float(sum(oracle.demand))


@given(daily, policies(), amounts)
def test_cost_scales_with_the_price(demand: Document, policy: Document, amount: str) -> None:
    document = {
        "schema": 1,
        "horizon": {"start": START.isoformat(), "days": 2, "step_s": 900},
        "demand": demand,
        "capacity": {"units_per_server": "1"},
        "policy": policy,
        "options": [all_of("one", price("1")), all_of("more", price(amount))],
    }
    scenario = scenario_from(document)
    one, more = (outcome(scenario, option).total for option in scenario.options)
    assert more == one * Fraction(amount)
