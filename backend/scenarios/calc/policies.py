"""How many servers a policy runs, given how many are needed.

The policies that react by windows are clamp recursions and scanned; those whose next number
depends on what the last one did to the load (target tracking, steps) go step by step.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from backend.scenarios.calc.needed import Needs
from backend.scenarios.calc.policy_document import Policy
from backend.scenarios.calc.scan import (
    Servers,
    clamp_steps,
    shift,
    sliding_max,
    sliding_min,
)
from backend.scenarios.calc.steps import Steps
from backend.scenarios.calc.windows import levels


@dataclass(frozen=True)
class Load:
    """Input of a policy: the servers that the demand needs, and the capacity of one."""

    needs: Needs
    units_per_server: Fraction
    target_utilisation: Fraction
    steps: Steps

    def needed(self, target: Fraction | None = None) -> Servers:
        """Servers needed in each step at the target utilisation, or at another one."""
        share = self.target_utilisation if target is None else target
        return self.needs.of(self.units_per_server * share)


Runs = Callable[[Policy, Load], Servers]


def servers_of_policy(policy: Policy, load: Load) -> Servers:
    """Servers that the policy wants in each step, within min and max; the quota is not its."""
    return _bound_servers(_RUNS[policy.kind](policy, load), policy)


def _bound_servers(servers: Servers, policy: Policy) -> Servers:
    low, high = policy.min_servers, policy.max_servers
    if low > int(servers.min()):
        # Counts are kept in the smallest type that holds them, which may be too small for a larger
        # least.
        servers = servers.astype(
            np.promote_types(servers.dtype, np.min_scalar_type(low)), copy=False
        )
    most = int(np.iinfo(servers.dtype).max)
    # Of numpy's ways this one is the fastest by far.
    return np.clip(servers, low, most if high is None else min(high, most))


def _servers_after_lag(policy: Policy, load: Load) -> Servers:
    lag = load.steps.of(policy.lag_s)
    return _bound_servers(shift(load.needed(), lag), policy)


def _perfect(policy: Policy, load: Load) -> Servers:
    return _servers_after_lag(policy, load)


def _window_policy(policy: Policy, load: Load) -> Servers:
    seen = _servers_after_lag(policy, load)
    is_autoscaler = policy.kind == "cluster_autoscaler"
    out_s = policy.out_delay_s if is_autoscaler else policy.out_window_s
    in_s = policy.in_delay_s if is_autoscaler else policy.in_window_s
    out_width, in_width = max(1, load.steps.of(out_s)), max(1, load.steps.of(in_s))
    low, high = sliding_min(seen, out_width), sliding_max(seen, in_width)
    if out_width == 1 or in_width == 1:
        # One bound is the need itself: nothing has to be remembered but a window.
        return high if out_width == 1 else low
    return clamp_steps(low, high)


def _fixed_policy(policy: Policy, load: Load) -> Servers:
    return np.full(load.steps.count, policy.count, dtype=np.min_scalar_type(policy.count))


def _schedule_policy(policy: Policy, load: Load) -> Servers:
    base = Decimal(policy.base.numerator) / policy.base.denominator
    servers = levels(load.steps, policy.time_zone, base, [each.window for each in policy.windows])
    return np.ceil(servers).astype(np.min_scalar_type(int(np.ceil(servers.max()))))


def _predictive(policy: Policy, load: Load) -> Servers:
    need = load.needed()
    # Everything between now and then is met, too: a server that is needed now is kept.
    ahead = sliding_max(need[::-1], load.steps.of(policy.lead_s) + 1)[::-1]
    return np.maximum(ahead, shift(need, load.steps.of(policy.lag_s)))


def _target_tracking(policy: Policy, load: Load) -> Servers:
    """Wants need ÷ target, as the metric shows it: a full server shows 100 % and no more, so the
    fleet in service grows at most by 1 ÷ target at a time."""
    seen = shift(load.needed(policy.target), load.steps.of(policy.lag_s)).tolist()
    growth = [max(1, _ceil(n / policy.target)) for n in range(max(seen) + 2)]
    return _step_policy(policy, load, seen, growth)


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _step_policy(policy: Policy, load: Load, seen: list[int], growth: list[int]) -> Servers:
    most = policy.max_servers if policy.max_servers is not None else max(seen)
    cooldown = load.steps.of(policy.cooldown_s)
    running = min(max(seen[0], policy.min_servers), most)
    service = deque([running] * (load.steps.of(policy.warmup_s) + 1))
    # As if the last change lay a whole pause back: the first step may change something.
    changed, counts = -cooldown, []
    for step, need in enumerate(seen):
        # What was started within the warm-up does not serve yet, so the smallest of these fleets
        # does.
        serving = min(service)
        reach = growth[serving] if serving < len(growth) else need
        aim = min(max(min(need, reach), policy.min_servers), most)
        if aim > running or (aim < running and step - changed >= cooldown):
            running, changed = aim, step
        service.append(running)
        service.popleft()
        counts.append(running)
    return np.array(counts, dtype=np.min_scalar_type(max(counts)))


def _step(policy: Policy, load: Load) -> Servers:
    """A server more above the target, one fewer below `in_below`, and a pause after each."""
    lag = load.steps.of(policy.lag_s)
    demand = shift(load.needs.demand, lag).tolist()
    need = int(load.needed(policy.target)[0])
    most = policy.max_servers if policy.max_servers is not None else 2**31
    running = min(max(need, policy.min_servers), most)
    cooldown = load.steps.of(policy.cooldown_s)
    shares = policy.target * load.units_per_server, policy.in_below * load.units_per_server
    # Exact fractions are slow, so the bounds of each number of servers are made once.
    bounds: dict[int, tuple[float, ...]] = {}
    changed, counts = -cooldown, []
    for step, asked in enumerate(demand):
        if step - changed >= cooldown:
            if running not in bounds:
                bounds[running] = tuple(float(running * share) for share in shares)
            above, below = bounds[running]
            aim = running + (asked > above) - (asked < below)
            aim = min(max(aim, policy.min_servers), most)
            if aim != running:
                running, changed = aim, step
        counts.append(running)
    return np.array(counts, dtype=np.min_scalar_type(max(counts)))


_RUNS: Mapping[str, Runs] = MappingProxyType(
    {
        "perfect": _perfect,
        "hpa": _window_policy,
        "cluster_autoscaler": _window_policy,
        "fixed": _fixed_policy,
        "scheduled": _schedule_policy,
        "predictive": _predictive,
        "target_tracking": _target_tracking,
        "step": _step,
    }
)
KINDS = tuple(_RUNS)
# Policies for which fewer servers to run are not simply the same servers without the oldest.
REMEMBERING = frozenset({"target_tracking", "step"})


def pace(kind: str) -> int:
    """How many times as long a policy takes as one that is scanned: some go step by step."""
    return 20 if kind in REMEMBERING else 1
