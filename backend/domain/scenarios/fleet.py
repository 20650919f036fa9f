"""One option over the steps: which servers run and serve, and what they cost."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from backend.domain.pricing.billing.commitments import HOURS_PER_TERM_MONTH
from backend.domain.pricing.billing.lifetimes import HOUR_S, Horizon, months
from backend.domain.pricing.billing.terms import Terms
from backend.domain.scenarios import bills
from backend.domain.scenarios.lives import Lives, lives
from backend.domain.scenarios.model import OPTIMAL, PEAK, Option, Part, Price, Scenario
from backend.domain.scenarios.needed import needed
from backend.domain.scenarios.policies import REMEMBERING, Load, Policy, wanted
from backend.domain.scenarios.scan import Servers, sliding_min
from backend.domain.scenarios.windows import Window

ZERO = Fraction(0)
_FREE = Price("per_second", "hour", "", Terms(ZERO))
"""Of servers that never run."""


@dataclass(frozen=True)
class Fleet:
    """The servers of an option; `running` and `serving` are the elastic ones in each step."""

    always_on: int
    """Servers that run through the whole horizon."""
    base: int | None
    """Servers, or reservations, of the base part."""
    running: Servers
    serving: Servers
    lives: Lives
    compute: Fraction
    setup: Fraction
    owed_later: Fraction
    """Committed beyond the horizon."""
    plain_compute: Fraction | None
    """The same running seconds at the price of a second; None where a price is not hourly."""
    units_always: Fraction
    """Units a server carries: of those always on, and of the elastic ones."""
    units_elastic: Fraction


def fleet(scenario: Scenario, option: Option) -> Fleet:
    """The servers and the bill of an option."""
    parts = {part.role: part for part in option.parts}
    if "all" in parts:
        part = parts["all"]
        return _elastic(scenario, part) if part.count is None else _always_on(scenario, part)
    base, burst = parts["base"], parts["burst"]
    if base.price.billing == "reserved":
        return _reserved_base(scenario, base, burst)
    return _hybrid(scenario, base, burst)


# --- one part -----------------------------------------------------------------------------------


def _elastic(scenario: Scenario, part: Part) -> Fleet:
    running = _quoted(_trajectory(scenario, part, 0, part), scenario.policy)
    return _billed(scenario, part, running)


def _billed(scenario: Scenario, part: Part, running: Servers) -> Fleet:
    """A fleet of elastic servers alone."""
    lived = lives(running, scenario.steps)
    horizon = scenario.steps.horizon
    return Fleet(
        always_on=0,
        base=None,
        running=running,
        serving=_serving(running, scenario),
        lives=lived,
        compute=cost(part.price, lived, horizon),
        setup=part.price.terms.setup * lived.slots,
        owed_later=_owed_later(part.price, lived, horizon),
        plain_compute=_plain(part.price, int(lived.seconds.sum())),
        units_always=part.units_per_server,
        units_elastic=part.units_per_server,
    )


def _always_on(scenario: Scenario, part: Part) -> Fleet:
    nobody = np.zeros(scenario.steps.count, dtype=np.uint8)
    none = replace(part, price=_FREE)
    return replace(_joined(scenario, part, none, _count(scenario, part), nobody), base=None)


def _count(scenario: Scenario, part: Part) -> int:
    """Servers of a part that is always on: as stated, or as the highest demand needs."""
    if isinstance(part.count, int):
        return part.count
    return peak_count(scenario, part)


def peak_count(scenario: Scenario, part: Part) -> int:
    """Servers that the highest demand needs, within min and max."""
    highest = scenario.demand.values.max(keepdims=True)
    need = int(needed(highest, part.units_per_server * scenario.target_utilisation)[0])
    policy = scenario.policy
    most = need if policy.max_servers is None else min(need, policy.max_servers)
    return max(policy.min_servers, most)


# --- base and burst -----------------------------------------------------------------------------


def _hybrid(scenario: Scenario, base: Part, burst: Part) -> Fleet:
    is_free = base.count == OPTIMAL
    count = _optimal(scenario, base, burst) if is_free else _count(scenario, base)
    running = _quoted(_trajectory(scenario, burst, count, base), scenario.policy)
    return _joined(scenario, base, burst, count, running)


def _joined(scenario: Scenario, base: Part, burst: Part, count: int, running: Servers) -> Fleet:
    """`count` servers of the base price always on beside elastic ones."""
    horizon = scenario.steps.horizon
    elastic = _billed(scenario, burst, running)
    plain = _plain(base.price, count * horizon.seconds)
    is_hourly = plain is not None and elastic.plain_compute is not None
    return replace(
        elastic,
        always_on=count,
        base=count,
        compute=elastic.compute + base_cost(base.price, count, horizon),
        setup=elastic.setup + base.price.terms.setup * count,
        owed_later=elastic.owed_later + _owed_later(base.price, _whole(count, horizon), horizon),
        plain_compute=plain + elastic.plain_compute if is_hourly else None,  # type: ignore[operator]
        units_always=base.units_per_server,
    )


def _optimal(scenario: Scenario, base: Part, burst: Part) -> int:
    """The count from 0 to the fleet's peak whose bill is the lowest; the smallest of equals."""
    horizon = scenario.steps.horizon
    bill_of: Callable[[int], Fraction]
    is_common = base.units_per_server == burst.units_per_server
    if is_common and scenario.policy.kind not in REMEMBERING:
        running = _trajectory(scenario, burst, 0, base)
        most, bill_of = int(running.max()), _beyond(burst.price, running, scenario)
    else:
        most = peak_count(scenario, base)

        def bill_of(count: int) -> Fraction:
            rest = _trajectory(scenario, burst, count, base)
            return cost(burst.price, lives(rest, scenario.steps), horizon)

    return min(
        range(most + 1),
        key=lambda count: (base_cost(base.price, count, horizon) + bill_of(count), count),
    )


def _beyond(price: Price, running: Servers, scenario: Scenario) -> Callable[[int], Fraction]:
    """Bill of the servers beyond a number of the oldest ones, all from one trajectory."""
    lived, horizon = lives(running, scenario.steps), scenario.steps.horizon
    if price.billing == "savings":

        def of_newer(count: int) -> Fraction:
            newer = lived.slot > count
            kept = Lives(lived.slot[newer], lived.start_s[newer], lived.end_s[newer])
            return cost(price, kept, horizon)

        return of_newer
    tails = [ZERO]
    for slot in reversed(_slot_costs(price, lived, horizon)):
        tails.append(tails[-1] + slot)
    return lambda count: tails[max(0, len(tails) - 1 - count)]


def _reserved_base(scenario: Scenario, base: Part, burst: Part) -> Fleet:
    """Reservations are money, not servers: the whole fleet is elastic, and of each clock hour's
    use they pay what they cover."""
    horizon = scenario.steps.horizon
    wanted_servers = _trajectory(scenario, burst, 0, burst)
    minimum_s = burst.price.terms.minimum_s
    count = base.count
    if count == OPTIMAL:
        usage = bills.Usage(lives(wanted_servers, scenario.steps), horizon, minimum_s)
        count = min(
            range(int(wanted_servers.max()) + 1),
            key=lambda k: (_covered_cost(base.price, burst.price, usage, k, horizon), k),
        )
    elif count == PEAK:
        count = peak_count(scenario, base)
    reservations = int(count or 0)
    found = _billed(scenario, burst, _quoted(wanted_servers, scenario.policy))
    usage = bills.Usage(found.lives, horizon, minimum_s)
    return replace(
        found,
        base=reservations,
        compute=_covered_cost(base.price, burst.price, usage, reservations, horizon),
        owed_later=_reserved_later(base.price, reservations, horizon),
    )


def _covered_cost(
    base: Price, burst: Price, usage: bills.Usage, count: int, horizon: Horizon
) -> Fraction:
    rest_s = bills.uncovered_s(usage, count)
    return base_cost(base, count, horizon) + rest_s * burst.terms.price / HOUR_S


# --- trajectories -------------------------------------------------------------------------------


def _trajectory(scenario: Scenario, part: Part, count: int, base: Part) -> Servers:
    """Elastic servers that the policy wants beside `count` of the base; the quota comes last."""
    demand = scenario.demand.values
    if count:
        carried = count * base.units_per_server * scenario.target_utilisation
        # At the target: the base takes its share of the demand before the elastic part is sized.
        demand = np.maximum(0.0, demand - float(carried))
    load = Load(demand, part.units_per_server, scenario.target_utilisation, scenario.steps)
    return wanted(_beside(scenario.policy, count), load)


def _beside(policy: Policy, count: int) -> Policy:
    """The policy of the servers beyond `count`: every bound and level is that much lower."""
    if not count:
        return policy
    most = policy.max_servers
    return replace(
        policy,
        min_servers=max(0, policy.min_servers - count),
        max_servers=None if most is None else max(0, most - count),
        count=max(0, policy.count - count),
        base=max(ZERO, policy.base - count),
        windows=tuple(_lower(window, count) for window in policy.windows),
    )


def _lower(window: Window, count: int) -> Window:
    return replace(window, level=max(window.level - count, window.level * 0))


def _quoted(running: Servers, policy: Policy) -> Servers:
    if policy.quota is None or policy.quota >= int(running.max()):
        return running
    kept: Servers = np.minimum(running, running.dtype.type(policy.quota))
    return kept


def _serving(running: Servers, scenario: Scenario) -> Servers:
    """Servers in service: those that have run for the warm-up; the newest end first."""
    return sliding_min(running, scenario.steps.of(scenario.policy.warmup_s) + 1)


# --- money --------------------------------------------------------------------------------------


def _slot_costs(price: Price, lived: Lives, horizon: Horizon) -> bills.Costs:
    terms = replace(price.terms, setup=ZERO, minimum_months=1)
    name = "monthly" if price.billing == "purchase" else price.billing
    return bills.SLOT_RULES[name](lived, horizon, terms)


def cost(price: Price, lived: Lives, horizon: Horizon) -> Fraction:
    """What elastic servers cost over the horizon, without set-up."""
    if price.billing == "savings":
        usage = bills.Usage(lived, horizon, price.terms.minimum_s)
        return bills.savings(usage, price.terms)
    return bills.total(_slot_costs(price, lived, horizon))


def base_cost(price: Price, count: int, horizon: Horizon) -> Fraction:
    """What `count` servers that run all the time cost, without set-up; reservations: the fee."""
    if price.billing == "reserved":
        return bills.reserved(horizon, replace(price.terms, reservations=count))
    if price.billing == "savings":
        return cost(price, _whole(count, horizon), horizon)
    return count * cost(price, _whole(1, horizon), horizon)


def _whole(count: int, horizon: Horizon) -> Lives:
    return Lives(
        np.arange(1, count + 1, dtype=np.int64),
        np.full(count, horizon.start_s, dtype=np.int64),
        np.full(count, horizon.end_s, dtype=np.int64),
    )


def _plain(price: Price, seconds: int) -> Fraction | None:
    return seconds * price.terms.price / HOUR_S if price.unit == "hour" else None


def _owed_later(price: Price, lived: Lives, horizon: Horizon) -> Fraction:
    """What a price still commits to after the horizon."""
    terms = price.terms
    if price.billing == "reserved":
        return _reserved_later(price, lived.slots, horizon)
    if price.billing == "purchase":
        held = Fraction(horizon.seconds, terms.term_months * HOURS_PER_TERM_MONTH * HOUR_S)
        return lived.slots * price.purchase_total * max(ZERO, 1 - held)
    if price.billing == "dedicated":
        paid = [int(c / terms.price) for c in _slot_costs(price, lived, horizon)]
        return sum((max(0, terms.minimum_months - n) for n in paid), 0) * terms.price
    return ZERO


def _reserved_later(price: Price, count: int, horizon: Horizon) -> Fraction:
    """Fee and upfront money of the rest of the term."""
    terms = price.terms
    term_h = terms.term_months * HOURS_PER_TERM_MONTH
    left_h = max(ZERO, term_h - Fraction(horizon.seconds, HOUR_S))
    return count * left_h * (terms.price + terms.upfront / term_h)


def months_begun(horizon: Horizon, convention: str | int) -> Fraction:
    """Months of a convention that the horizon begins; of N hours, its share of them."""
    if isinstance(convention, int):
        return Fraction(horizon.seconds, convention * HOUR_S)
    return Fraction(sum(1 for _ in months(horizon, convention)))
