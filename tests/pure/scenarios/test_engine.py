"""The arrays against plain loops: needs, windows of the day, scans, lives and bills."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.pricing.billing.sustained_use import N1
from backend.money.pricing.billing.terms import Terms
from backend.scenarios.calc import bills
from backend.scenarios.calc.lives import lives
from backend.scenarios.calc.needed import servers_needed
from backend.scenarios.calc.scan import clamp_steps, shift, sliding_max, sliding_min
from backend.scenarios.calc.steps import MAX_STEPS, Steps, offsets
from backend.scenarios.calc.windows import LevelWindow, levels
from tests.oracles.billing.commitments import uncovered_s as uncovered_oracle
from tests.oracles.billing.lifetimes import lifetimes
from tests.oracles.billing.rules import RULES

JANUARY = int(dt.datetime(2026, 1, 1, tzinfo=dt.UTC).timestamp())
H = 3600
series = st.lists(st.integers(0, 9), min_size=1, max_size=60)


# --- needs --------------------------------------------------------------------------------------


@given(
    st.lists(st.decimals(0, 1000, places=3), min_size=1, max_size=50),
    st.decimals("0.01", 50, places=2),
)
def test_need_is_that_of_exact_decimals(demand: list[Decimal], units: Decimal) -> None:
    found = servers_needed(np.array([float(d) for d in demand]), Fraction(units))
    expected = [
        max(0, -((-(Fraction(d) / Fraction(units) - Fraction(1, 10**9))) // 1)) for d in demand
    ]
    assert found.tolist() == expected


def test_need_forgives_a_billionth_of_a_server_and_no_more() -> None:
    edge = np.array([3 + 1e-9, 3 + 2e-9, 3 - 1e-12, 0.0])
    assert servers_needed(edge, Fraction(1)).tolist() == [3, 4, 3, 0]


@pytest.mark.parametrize("units", [Fraction(0), Fraction(-1), Fraction(1, 10**9)])
def test_need_is_refused_for_no_capacity_or_too_many_servers(units: Fraction) -> None:
    with pytest.raises(InvalidValue, match="units_per_server"):
        servers_needed(np.array([5.0]), units)


# --- scans --------------------------------------------------------------------------------------


def looped(seen: list[int], out_width: int, in_width: int) -> list[int]:
    found, n = [], seen[0]
    for t in range(len(seen)):
        last = lambda width: [seen[max(0, i)] for i in range(t - width + 1, t + 1)]  # noqa: B023, E731
        n = min(max(n, min(last(out_width))), max(last(in_width)))
        found.append(n)
    return found


@given(series, st.integers(1, 12), st.integers(1, 12))
def test_scan_is_the_loop(seen: list[int], out_width: int, in_width: int) -> None:
    need = np.array(seen, dtype=np.uint8)
    low, high = sliding_min(need, out_width), sliding_max(need, in_width)
    assert clamp_steps(low, high).tolist() == looped(seen, out_width, in_width)


@given(series, st.integers(0, 70))
def test_shift_shows_the_past_and_before_it_the_first(seen: list[int], lag: int) -> None:
    found = shift(np.array(seen), lag).tolist()
    assert found == [seen[max(0, t - lag)] for t in range(len(seen))]


# --- windows of the day -------------------------------------------------------------------------

ZONES = ("UTC", "Europe/Dublin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
windows = st.builds(
    LevelWindow,
    from_s=st.integers(0, 23).map(lambda h: h * H),
    to_s=st.integers(0, 24).map(lambda h: h * H),
    level=st.integers(0, 9).map(Decimal),
    weekdays=st.frozensets(st.integers(0, 6)),
)


def level_at(at_s: int, zone: str, base: int, given: list[LevelWindow]) -> float:
    local = dt.datetime.fromtimestamp(at_s, ZoneInfo(zone))
    second, weekday = local.hour * H + local.minute * 60 + local.second, local.weekday()
    on = []
    for one in given:
        is_over_midnight = one.from_s >= one.to_s
        is_today = weekday in one.weekdays and second >= one.from_s
        is_yesterdays = (weekday - 1) % 7 in one.weekdays and second < one.to_s
        if (is_today or is_yesterdays) if is_over_midnight else is_today and second < one.to_s:
            on.append(one.level)
    return float(max(on)) if on else float(base)


@given(st.sampled_from(ZONES), st.lists(windows, max_size=3), st.integers(0, 364))
def test_levels_are_read_off_the_wall_clock(zone: str, given: list[LevelWindow], day: int) -> None:
    steps = Steps(JANUARY + day * 86_400, 1800, 96)
    found = levels(steps, zone, Decimal(5), given).tolist()
    assert found == [level_at(at, zone, 5, given) for at in steps.instants().tolist()]


def test_hour_skipped_by_summer_time_is_absent_and_doubled_one_twice() -> None:
    night = [LevelWindow(1 * H, 2 * H, Decimal(9))]
    year = Steps(JANUARY, 1800, 365 * 48)
    on = levels(year, "Europe/Dublin", Decimal(0), night) == 9
    assert on.sum() == 365 * 2  # 364 nights of an hour, none in March, two hours in October
    assert len(offsets("Europe/Dublin", JANUARY, year.end_s)) == 3


@pytest.mark.parametrize(("step_s", "count"), [(0, 1), (60, 0), (1, MAX_STEPS + 1)])
def test_steps_are_refused_outside_their_range(step_s: int, count: int) -> None:
    with pytest.raises(InvalidValue, match="step_s"):
        Steps(JANUARY, step_s, count)


# --- lives and bills ----------------------------------------------------------------------------


def stack(running: list[int], steps: Steps) -> list[tuple[int, int, int]]:
    """Lives of a stack, one server at a time."""
    open_: list[int] = []
    done = []
    for t, n in enumerate([*running, 0]):
        at = steps.start_s + t * steps.step_s
        while len(open_) > n:
            done.append((len(open_), open_.pop(), at))
        while len(open_) < n:
            open_.append(at)
    return sorted(done)


@given(series)
def test_lives_are_those_of_a_stack(running: list[int]) -> None:
    steps = Steps(JANUARY, 60, len(running))
    found = lifetimes(lives(np.array(running, dtype=np.uint8), steps))
    assert [(life.slot, life.start_s, life.end_s) for life in found] == stack(running, steps)


prices = st.fractions(Fraction(1, 100), 10, max_denominator=100)
terms = st.builds(
    Terms,
    price=prices,
    minimum_s=st.sampled_from([0, 60, 600]),
    cap=prices,
    month_convention=st.sampled_from(["calendar", "30d", 730, 7]),
    tiers=st.just(N1),
    reservations=st.integers(0, 4),
    upfront=prices,
    commit_per_hour=prices,
    discount=st.sampled_from([Fraction(0), Fraction(3, 10)]),
    setup=prices,
    minimum_months=st.integers(1, 3),
)


@given(series, st.sampled_from([60, 900, 86_400]), st.integers(0, 7200), terms)
def test_bills_are_those_of_single_lives(
    running: list[int], step_s: int, after_s: int, given: Terms
) -> None:
    steps = Steps(JANUARY + 30 * 86_400 + after_s, step_s, len(running))
    found = lives(np.array(running, dtype=np.uint8), steps)
    single, horizon = lifetimes(found), steps.horizon
    for name, rule in bills.SLOT_RULES.items():
        assert bills.total(rule(found, horizon, given)) == RULES[name](single, horizon, given), name
    usage = bills.usage(found, horizon, given.minimum_s)
    assert bills.seconds_beyond_reservations(usage, given.reservations) == uncovered_oracle(
        single, horizon, given
    )
    assert bills.savings(usage, given) == RULES["savings"](single, horizon, given)
    assert bills.reserved(horizon, given) == RULES["reserved"](single, horizon, given)


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        ("hour_ceil_cap", {}),
        ("sustained_use", {}),
        ("sustained_use", {"tiers": [(Fraction(1, 2), Fraction(1))]}),
    ],
)
def test_bill_without_what_it_needs_is_refused(rule: str, given: dict[str, Any]) -> None:
    steps = Steps(JANUARY, 60, 1)
    one = lives(np.array([1], dtype=np.uint8), steps)
    with pytest.raises(InvalidValue):
        bills.SLOT_RULES[rule](one, steps.horizon, Terms(Fraction(1), **given))


def test_savings_plan_of_the_whole_price_is_refused() -> None:
    steps = Steps(JANUARY, 60, 1)
    usage = bills.usage(lives(np.array([1], dtype=np.uint8), steps), steps.horizon, 60)
    with pytest.raises(InvalidValue, match="discount"):
        bills.savings(usage, Terms(Fraction(1), discount=Fraction(1)))
