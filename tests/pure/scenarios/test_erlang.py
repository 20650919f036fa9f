"""The queue against known values, the textbook sum, and its own definition."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from tests.oracles.scenarios.erlang import (
    late_share,
    servers_in_time,
    utilisation_in_time,
    wait_probability,
)


def test_three_servers_with_the_work_of_two_make_four_of_nine_wait() -> None:
    assert wait_probability(3, 2) == pytest.approx(4 / 9)


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_wait_probability_is_that_of_the_textbook_sum(servers: int, share: float) -> None:
    load = servers * share
    queued = load**servers / math.factorial(servers) * servers / (servers - load)
    others = sum(load**n / math.factorial(n) for n in range(servers))
    assert wait_probability(servers, load) == pytest.approx(queued / (others + queued))


def test_one_server_waits_as_often_as_it_is_busy() -> None:
    assert wait_probability(1, 0.7) == pytest.approx(0.7)


@pytest.mark.parametrize("load", [3, 4.5])
def test_everybody_waits_when_the_work_is_too_much(load: float) -> None:
    assert wait_probability(3, load) == late_share(3, load, 1, 10) == 1


@given(st.floats(0, 30), st.floats(0.01, 5), st.floats(0, 10), st.floats(0.001, 0.9))
def test_servers_in_time_are_the_fewest(
    load: float, service_s: float, limit_s: float, most_late: float
) -> None:
    count = servers_in_time(load, service_s, limit_s, most_late)
    assert late_share(count, load, service_s, limit_s) <= most_late
    fewer = count - 1
    assert fewer <= load or late_share(fewer, load, service_s, limit_s) > most_late


def test_larger_fleet_may_be_fuller() -> None:
    few, many = (utilisation_in_time(n, 0.1, 0.2, 0.01) for n in (2, 20))
    assert 0 < few < many < 1
    assert late_share(20, 20 * many, 0.1, 0.2) == pytest.approx(0.01, rel=1e-5)


@pytest.mark.parametrize(
    ("servers", "load", "field"), [(0, 1, "/servers"), (1, -1, "/load"), (1, math.nan, "/load")]
)
def test_queue_is_refused_outside_its_range(servers: int, load: float, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        wait_probability(servers, load)
    assert refused.value.field == field


@pytest.mark.parametrize(("service_s", "most_late"), [(0, 0.1), (1, 0), (1, 1)])
def test_limit_is_refused_outside_its_range(service_s: float, most_late: float) -> None:
    with pytest.raises(InvalidValue):
        servers_in_time(1, service_s, 1, most_late)
