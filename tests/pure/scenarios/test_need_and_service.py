"""Need and unserved demand are worked out in floats: no figure may show it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.scenarios.calc import needed as needs
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.model import Demand, ScenarioInput
from backend.scenarios.calc.needed import BLOCK, Needs, servers_needed
from backend.scenarios.calc.scan import flag_positions
from backend.scenarios.calc.service import measure_service, unserved_units
from backend.scenarios.calc.steps import Steps
from tests.pure.scenarios.documents import all_of, price, startup

UNITS = st.fractions(Fraction(1, 1000), 1000, max_denominator=1000)
# How far from a whole number of servers a demand is, as a share of it: nothing, less than a float
# can tell, and more.
OFFSETS = st.sampled_from([0.0, 1e-16, 1e-15, 1e-12, 1e-9, 3e-8, 6e-8, 1e-7, 4e-7, 1e-6, 1e-5])
NEAR_WHOLE = st.tuples(st.integers(0, 2_000), OFFSETS, st.sampled_from([-1, 1]))


def exactly(demand: float, units: Fraction) -> int:
    quotient = Fraction(repr(demand)) / units - Fraction(1, 10**9)
    return max(0, -(-quotient.numerator // quotient.denominator))


def scenario_of(demand: list[float]) -> ScenarioInput:
    read = scenario_from(startup(all_of("o", price("0.4"))))
    steps = Steps(read.steps.start_s, 60, len(demand))
    return replace(read, steps=steps, demand=Demand("requests", np.array(demand)))


@given(UNITS, st.lists(NEAR_WHOLE, min_size=1, max_size=40))
def test_need_near_whole_numbers_is_exact(
    units: Fraction, given: list[tuple[int, float, int]]
) -> None:
    demand = [float(n * units) * (1 + sign * offset) for n, offset, sign in given]
    assert servers_needed(np.array(demand), units).tolist() == [
        exactly(one, units) for one in demand
    ]


@pytest.mark.parametrize("scale", [1e-300, 1e-45, 1e-20, 1e20, 1e38, 1e300])
def test_need_of_demands_of_any_size_is_exact(scale: float) -> None:
    units, demand = Fraction(repr(scale)), [0.0, scale, 1.5 * scale, 7 * scale, 7.0001 * scale]
    assert servers_needed(np.array(demand), units).tolist() == [0, 1, 2, 7, 8]
    assert narrow(demand, units) == [0, 1, 2, 7, 8]


def narrow(demand: list[float], units: Fraction) -> list[int]:
    """As of many sizes, however many steps are close to a whole number of servers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(needs, "SORT_AFTER", 0)
        patch.setattr(needs, "FEW_CLOSE", 1.0)
        servers: list[int] = Needs(np.array(demand)).of(units).tolist()
    return servers


@given(UNITS, st.lists(NEAR_WHOLE, min_size=1, max_size=40))
def test_need_of_many_sizes_is_exact(units: Fraction, given: list[tuple[int, float, int]]) -> None:
    demand = [float(n * units) * (1 + sign * offset) for n, offset, sign in given]
    assert narrow(demand, units) == [exactly(one, units) for one in demand]


@pytest.mark.parametrize("most", [200, 255, 256, 1_000, 1_001])
def test_every_size_is_answered_like_the_first(most: int) -> None:
    demand = np.append(np.random.default_rng(5).uniform(0, most, 9_999), float(most))
    asked = Needs(demand)
    sizes = [Fraction(n, 7) for n in range(7, 7 + 3 * needs.SORT_AFTER)]
    for units in sizes:
        servers = asked.of(units)
        assert servers.tolist() == servers_needed(demand, units).tolist()
        assert servers.dtype == servers_needed(demand, units).dtype


@pytest.mark.parametrize("units", [Fraction(0), Fraction(1, 10**7)])
def test_size_that_cannot_be_is_refused_whenever_it_is_asked_for(units: Fraction) -> None:
    asked = Needs(np.array([1.0, 2.0]))
    for _ in range(needs.SORT_AFTER):
        asked.of(Fraction(1))
    with pytest.raises(InvalidValue):
        asked.of(units)


def test_demand_of_nothing_needs_nobody() -> None:
    assert narrow([0.0, 0.0], Fraction(1)) == [0, 0]


@given(st.integers(0, 40), st.sets(st.integers(0, 39)))
def test_marked_positions_are_those_of_the_flags(size: int, positions: set[int]) -> None:
    flags = np.isin(np.arange(size), list(positions))
    assert flag_positions(flags).tolist() == np.flatnonzero(flags).tolist()


def test_need_of_more_than_a_block_of_steps_is_exact() -> None:
    units = Fraction(7, 10)
    demand = np.random.default_rng(3).integers(0, 40, 2 * BLOCK + 5) * 0.7
    expected = {one: exactly(one, units) for one in np.unique(demand).tolist()}
    assert servers_needed(demand, units).tolist() == [expected[one] for one in demand.tolist()]


@given(
    UNITS,
    st.fractions(0, 50, max_denominator=10),
    st.lists(st.tuples(st.integers(0, 255), NEAR_WHOLE), min_size=1, max_size=40),
)
def test_unserved_demand_is_what_servers_do_not_carry(
    units: Fraction, always: Fraction, given: list[tuple[int, tuple[int, float, int]]]
) -> None:
    serving = np.array([servers for servers, _ in given], np.uint8)
    # Around what that many servers carry, and now and then another number of them.
    demand = [
        float(always + (servers if n % 3 else n) * units) * (1 + sign * offset)
        for servers, (n, offset, sign) in given
    ]
    scenario = scenario_of(demand)
    missing = [
        max(0.0, one - float(always + servers * units))
        for one, servers in zip(demand, serving.tolist(), strict=True)
    ]
    found = unserved_units(scenario, serving, units, always)
    near = 1e-12 * max(demand)
    np.testing.assert_allclose(found, missing, rtol=0, atol=near)
    # What is exactly carried is no step that is short of something.
    assert (found > 0).tolist() == [one > 0 for one in missing]
    service = measure_service(scenario, serving, units, always)
    assert service.minutes == sum(one > 0 for one in missing)
    assert service.worst == pytest.approx(max(missing), abs=near)
    # Whatever was asked of that demand before, as by a policy with a target.
    for target in (Fraction(7, 10), Fraction(1), Fraction(2)):
        scenario.demand.needs.of(units * target)
        assert measure_service(scenario, serving, units, always) == service


@pytest.mark.parametrize("scale", [1e-300, 1e-45, 1e-20, 1e20, 1e38, 1e300])
def test_unserved_demand_of_any_size_is_counted(scale: float) -> None:
    scenario = scenario_of([0.0, 2 * scale, 2.5 * scale, 3 * scale])
    serving = np.array([0, 2, 2, 2], np.uint8)
    service = measure_service(scenario, serving, Fraction(repr(scale)))
    assert service.minutes == 2
    assert service.worst == pytest.approx(scale)
    assert service.share == pytest.approx(1.5 / 7.5)


@pytest.mark.parametrize("highest", [10**6 - 1, 10**6, 10**6 + 1, 10**9])
@pytest.mark.parametrize("always", [Fraction(0), Fraction(1, 2)])
def test_servers_far_too_small_leave_what_they_do_not_carry(highest: int, always: Fraction) -> None:
    demand = [0.0, 2.0, 2.25, float(highest)]
    service = measure_service(
        scenario_of(demand), np.array([0, 2, 2, 2], np.uint8), Fraction(1), always
    )
    lost = [
        max(0, one - (carried + always)) for one, carried in zip(demand, [0, 2, 2, 2], strict=True)
    ]
    assert service.minutes == sum(one > 0 for one in lost)
    assert service.worst == max(lost)
