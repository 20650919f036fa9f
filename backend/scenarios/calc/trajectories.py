"""Which elastic servers run and serve in each step; equal parts of a scenario are run once."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from backend.scenarios.calc.lives import Lives, lives
from backend.scenarios.calc.model import OptionPart, ScenarioInput
from backend.scenarios.calc.needed import Needs, servers_needed
from backend.scenarios.calc.policies import REMEMBERING, Load, servers_of_policy
from backend.scenarios.calc.policy_document import Policy, PolicyWindow
from backend.scenarios.calc.scan import Servers, sliding_min
from backend.scenarios.calc.service import Service, measure_service

ZERO = Fraction(0)
FLOAT_SAFE_DIGITS = 14  # a float of these reads back as the same decimal
# Trajectories kept of a scenario; options that share one stand side by side as a rule.
MOST_KEPT = 4


@dataclass(frozen=True)
class ElasticRun:
    """Elastic servers in each step, their lives, and how far they and a base met the demand."""

    running: Servers
    serving: Servers
    lives: Lives
    service: Service


def run(scenario: ScenarioInput, part: OptionPart, count: int, base: OptionPart) -> ElasticRun:
    """Servers of an elastic part that run beside `count` servers of a base, within the quota."""
    key = part.units_per_server, count * base.units_per_server, count
    known = scenario.kept
    if key not in known:
        running = _quota_servers(trajectory(scenario, part, count, base), scenario.policy)
        if len(known) >= MOST_KEPT:
            known.pop(next(iter(known)))
        always = count * base.units_per_server
        known[key] = _run(scenario, running, part.units_per_server, always)
    stored: ElasticRun = known[key]
    return stored


def _run(
    scenario: ScenarioInput, running: Servers, units: Fraction, always: Fraction
) -> ElasticRun:
    serving = _serving(running, scenario)
    met = measure_service(scenario, serving, units, always)
    return ElasticRun(running, serving, lives(running, scenario.steps), met)


def nobody(scenario: ScenarioInput, always: Fraction) -> ElasticRun:
    """No elastic servers at all beside what is carried always."""
    running = np.zeros(scenario.steps.count, dtype=np.uint8)
    return _run(scenario, running, ZERO, always)


def peak_count(scenario: ScenarioInput, part: OptionPart) -> int:
    """Servers that the highest demand needs, within min and max."""
    highest = scenario.demand.values.max(keepdims=True)
    need = int(servers_needed(highest, part.units_per_server * scenario.target_utilisation)[0])
    policy = scenario.policy
    most = need if policy.max_servers is None else min(need, policy.max_servers)
    return max(policy.min_servers, most)


def trajectory(scenario: ScenarioInput, part: OptionPart, count: int, base: OptionPart) -> Servers:
    """Elastic servers that the policy wants beside `count` of the base; the quota comes last."""
    needs = scenario.demand.needs
    if count:
        # At the target: the base takes its share of the demand before the elastic part is sized.
        needs = Needs(_left(needs.demand, float(count * base.units_per_server * _target(scenario))))
    load = Load(needs, part.units_per_server, scenario.target_utilisation, scenario.steps)
    return servers_of_policy(_beside(scenario.policy, count), load)


def _left(demand: NDArray[np.float64], carried: float) -> NDArray[np.float64]:
    """Demand beyond what is carried, as the decimals would have it: 3.3 − 1.1 is 2.2."""
    digits = FLOAT_SAFE_DIGITS - int(np.ceil(np.log10(max(1.0, float(demand.max()), carried))))
    return np.asarray(np.round(np.maximum(0.0, demand - carried), max(0, digits)), dtype=np.float64)


def _target(scenario: ScenarioInput) -> Fraction:
    policy = scenario.policy
    return policy.target if policy.kind in REMEMBERING else scenario.target_utilisation


def _beside(policy: Policy, count: int) -> Policy:
    """The policy of the servers beyond `count`: every bound and level is that much lower."""
    if not count:
        return policy
    most = policy.max_servers
    return policy.model_copy(
        update={
            "min_servers": max(0, policy.min_servers - count),
            "max_servers": None if most is None else max(0, most - count),
            "count": max(0, policy.count - count),
            "base": max(ZERO, policy.base - count),
            "windows": tuple(_lower(window, count) for window in policy.windows),
        }
    )


def _lower(window: PolicyWindow, count: int) -> PolicyWindow:
    return window.model_copy(update={"level": max(window.level - count, window.level * 0)})


def _quota_servers(running: Servers, policy: Policy) -> Servers:
    if policy.quota is None or policy.quota >= int(running.max()):
        return running
    return np.clip(running, 0, policy.quota)


def _serving(running: Servers, scenario: ScenarioInput) -> Servers:
    """Servers in service: those that have run for the warm-up; the newest end first."""
    # LIFO: who is up now and was up at every step of the warm-up has finished it.
    return sliding_min(running, scenario.steps.of(scenario.policy.warmup_s) + 1)
