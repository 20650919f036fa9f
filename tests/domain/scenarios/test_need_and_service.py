"""Need and unserved demand are worked out in floats: no figure may show it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain.scenarios.documents import scenario_from
from backend.domain.scenarios.model import Demand, ScenarioInput
from backend.domain.scenarios.needed import BLOCK, needed
from backend.domain.scenarios.service import served, unserved
from backend.domain.scenarios.steps import Steps
from tests.domain.scenarios.documents import all_of, price, startup

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
    assert needed(np.array(demand), units).tolist() == [exactly(one, units) for one in demand]


@pytest.mark.parametrize("scale", [1e-300, 1e-45, 1e-20, 1e20, 1e38, 1e300])
def test_need_of_demands_of_any_size_is_exact(scale: float) -> None:
    units, demand = Fraction(repr(scale)), [0.0, scale, 1.5 * scale, 7 * scale, 7.0001 * scale]
    assert needed(np.array(demand), units).tolist() == [0, 1, 2, 7, 8]


def test_need_of_more_than_a_block_of_steps_is_exact() -> None:
    units = Fraction(7, 10)
    demand = np.random.default_rng(3).integers(0, 40, 2 * BLOCK + 5) * 0.7
    expected = {one: exactly(one, units) for one in np.unique(demand).tolist()}
    assert needed(demand, units).tolist() == [expected[one] for one in demand.tolist()]


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
    found = unserved(scenario, serving, units, always)
    near = 1e-12 * max(demand)
    np.testing.assert_allclose(found, missing, rtol=0, atol=near)
    # What is exactly carried is no step that is short of something.
    assert (found > 0).tolist() == [one > 0 for one in missing]
    service = served(scenario, serving, units, always)
    assert service.minutes == sum(one > 0 for one in missing)
    assert service.worst == pytest.approx(max(missing), abs=near)


@pytest.mark.parametrize("scale", [1e-300, 1e-45, 1e-20, 1e20, 1e38, 1e300])
def test_unserved_demand_of_any_size_is_counted(scale: float) -> None:
    scenario = scenario_of([0.0, 2 * scale, 2.5 * scale, 3 * scale])
    serving = np.array([0, 2, 2, 2], np.uint8)
    service = served(scenario, serving, Fraction(repr(scale)))
    assert service.minutes == 2
    assert service.worst == pytest.approx(scale)
    assert service.share == pytest.approx(1.5 / 7.5)
