"""Many offers at a glance, before the few best ones are reckoned in full.

Each offer carries the whole load alone, elastic, and is billed by the second. Offers whose servers
carry the same share one trajectory. `cheapest_plans` splits a load among plans without a search:
the server that runs a share u of the time belongs to the plan with the least fixed + variable · u.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from backend.domain.pricing.billing.lifetimes import HOUR_S
from backend.domain.scenarios.model import ScenarioInput
from backend.domain.scenarios.scan import Servers
from backend.domain.scenarios.service import served
from backend.domain.scenarios.trajectories import alone


@dataclass(frozen=True)
class Candidate:
    """An offer: units that one server carries, and its price of an hour."""

    name: str
    units_per_server: Fraction
    price_per_hour: Fraction


@dataclass(frozen=True)
class Screened:
    """What an offer would cost over the horizon, and how much of the demand it would not carry."""

    name: str
    cost: Fraction
    server_s: int
    peak_servers: int
    unserved_share: float


def screened(scenario: ScenarioInput, candidates: Iterable[Candidate]) -> list[Screened]:
    """Every candidate, the cheapest first."""
    runs: dict[Fraction, tuple[int, int, float]] = {}
    found = []
    for one in candidates:
        if one.units_per_server not in runs:
            runs[one.units_per_server] = _run(scenario, one.units_per_server)
        server_s, peak, share = runs[one.units_per_server]
        cost = server_s * one.price_per_hour / HOUR_S
        found.append(Screened(one.name, cost, server_s, peak, share))
    return sorted(found, key=lambda one: (one.cost, one.name))


def _run(scenario: ScenarioInput, units: Fraction) -> tuple[int, int, float]:
    """Server-seconds, most servers at once, unserved share."""
    running, serving = alone(scenario, units)
    share = served(scenario, serving, units).share
    server_s = int(running.sum(dtype=np.int64)) * scenario.steps.step_s
    return server_s, int(running.max()), share


@dataclass(frozen=True)
class Plan:
    """Cost of one server over the horizon: `fixed` used or not, `variable` when it runs all of it,
    less in proportion."""

    name: str
    fixed: Fraction
    variable: Fraction


def cheapest_plans(running: Servers, plans: Sequence[Plan]) -> list[tuple[Plan, Fraction]]:
    """For each server, the one that runs longest first: its cheapest plan, and what it costs."""
    return [
        min(
            ((plan, plan.fixed + plan.variable * share) for plan in plans),
            key=lambda pair: pair[1],
        )
        for share in time_shares(running)
    ]


def time_shares(running: Servers) -> list[Fraction]:
    """Share of the time that each server of a stack runs, the oldest first."""
    at_exactly = np.bincount(running)
    at_least = at_exactly[::-1].cumsum()[::-1][1:]
    return [Fraction(int(steps), running.size) for steps in at_least.tolist()]
