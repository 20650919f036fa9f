"""An option over the steps: how many servers it has, which of them run, and what they cost."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.money.pricing.billing.lifetimes import Horizon
from backend.scenarios.calc.charges import (
    PURCHASE,
    RESERVED,
    SAVINGS,
    ZERO,
    Administered,
    Charges,
    base_costs,
    cost,
    cost_with_reservations,
    option_charges,
    slot_costs,
    term_usages,
)
from backend.scenarios.calc.document_values import OPTIMAL
from backend.scenarios.calc.lives import Lives, lives
from backend.scenarios.calc.model import Option, OptionPart, Price, ScenarioInput
from backend.scenarios.calc.policies import REMEMBERING, pace
from backend.scenarios.calc.scan import Servers
from backend.scenarios.calc.trajectories import ElasticRun, nobody, peak_count, run, trajectory

# Counts × steps (or lives, or hours) that are tried for the best base; a few seconds.
MOST_TRIED = 200_000_000


@dataclass(frozen=True)
class OptionFleet:
    """The servers of an option; `running`, `serving` and `lives` are those of the elastic ones."""

    always_on: int
    """Servers that run through the whole horizon."""
    base: int | None
    """Servers, or reservations, of the base part."""
    run: ElasticRun
    charges: Charges
    fixed_part: OptionPart | None
    """Servers bought of the base, or of a part with a count."""
    elastic_part: OptionPart | None
    units_always: Fraction
    """Units a server carries: of those always on, and of the elastic ones."""
    units_elastic: Fraction

    @property
    def running(self) -> Servers:
        return self.run.running

    @property
    def serving(self) -> Servers:
        return self.run.serving

    @property
    def lives(self) -> Lives:
        return self.run.lives

    @property
    def compute(self) -> Fraction:
        return self.charges.compute

    @property
    def administered(self) -> Administered:
        """Servers that somebody looks after."""
        is_owned = self.fixed_part is not None and self.fixed_part.price.billing == PURCHASE
        elastic = 1 if self.lives.count else 0
        return Administered(self.always_on + elastic, self.always_on if is_owned else 0)

    @property
    def base_units(self) -> Fraction:
        """Units that the servers which are always on carry."""
        return self.always_on * self.units_always

    def charges_until(self, horizon: Horizon) -> Charges:
        """Cost up to the end of a horizon that begins with the scenario."""
        # Of reservations `always_on` is 0, yet they are paid.
        count = self.base or self.always_on
        return option_charges(
            self.fixed_part, count, self.elastic_part, self.lives.until(horizon.end_s), horizon
        )


def option_fleet(scenario: ScenarioInput, option: Option) -> OptionFleet:
    """The servers and the bill of an option; InvalidDocument where it is too large to calculate."""
    try:
        return _fleet(scenario, option)
    # The caller has a document, and wants the field in it.
    except InvalidValue as error:
        raise InvalidDocument([(error.field, error.detail)]) from error


def _fleet(scenario: ScenarioInput, option: Option) -> OptionFleet:
    parts = {part.role: part for part in option.parts}
    if "all" in parts:
        # An option has either one part for everything or a base with a burst.
        part = parts["all"]
        # Without a count the policy starts and ends servers as the demand asks.
        if part.count is None:
            return _fleet_of(scenario, None, 0, part, run(scenario, part, 0, part))
        count = _count(scenario, part)
        elastic = nobody(scenario, count * part.units_per_server)
        return _fleet_of(scenario, part, count, None, elastic)
    base, burst = parts["base"], parts["burst"]
    # Reservations run no server of their own: everything that runs is the burst's.
    if base.price.billing == RESERVED:
        count = _reservations(scenario, base, burst)
        return _fleet_of(scenario, base, count, burst, run(scenario, burst, 0, burst))
    count = _optimal(scenario, base, burst) if base.count == OPTIMAL else _count(scenario, base)
    return _fleet_of(scenario, base, count, burst, run(scenario, burst, count, base))


def _fleet_of(
    scenario: ScenarioInput,
    fixed: OptionPart | None,
    count: int,
    elastic: OptionPart | None,
    elastic_run: ElasticRun,
) -> OptionFleet:
    is_commitment = fixed is not None and elastic is not None and fixed.price.billing == RESERVED
    return OptionFleet(
        always_on=0 if is_commitment else count,
        base=count if fixed is not None and elastic is not None else None,
        run=elastic_run,
        charges=option_charges(fixed, count, elastic, elastic_run.lives, scenario.steps.horizon),
        fixed_part=fixed,
        elastic_part=elastic,
        units_always=fixed.units_per_server if fixed is not None else ZERO,
        units_elastic=elastic.units_per_server if elastic is not None else ZERO,
    )


def _count(scenario: ScenarioInput, part: OptionPart) -> int:
    """Servers of a part that is always on: as stated, or as the highest demand needs."""
    return part.count if isinstance(part.count, int) else peak_count(scenario, part)


# --- the best base ------------------------------------------------------------------------------


def _optimal(scenario: ScenarioInput, base: OptionPart, burst: OptionPart) -> int:
    """The count from 0 to the fleet's peak whose bill is the lowest; the smallest of equals. The
    bill is that of a fleet without a quota."""
    horizon, setup = scenario.steps.horizon, base.price.terms.setup
    elastic = trajectory(scenario, burst, 0, base)
    most = int(elastic.max())
    base_of = base_costs(base.price, horizon)
    # Then one run without a base says it all: a base of n takes the n oldest servers away.
    is_common = base.units_per_server == burst.units_per_server
    if is_common and scenario.policy.kind not in REMEMBERING:
        lived = lives(elastic, scenario.steps)
        _check_tries(most, lived.count if burst.price.billing == SAVINGS else 1)
        burst_of = _beyond(burst.price, lived, horizon)
    else:
        # Servers of other sizes or policies that remember: each count has its own trajectory.
        # A base of smaller servers may need more of them than the burst ever runs.
        most = max(most, peak_count(scenario, base))
        _check_tries(most, scenario.steps.count * pace(scenario.policy.kind))

        def burst_of(count: int) -> Fraction:
            rest = trajectory(scenario, burst, count, base)
            return _bill(burst.price, lives(rest, scenario.steps), horizon)

    def bill(count: int) -> tuple[Fraction, int]:
        scenario.check()
        return base_of(count) + count * setup + burst_of(count), count

    # Every count is tried: the bill need not have one valley only (minimum terms, caps).
    return min(range(most + 1), key=bill)


def _check_tries(most: int, work: int) -> None:
    """Refuses a question for the best count that would take too long."""
    # Before the first try: a refusal after half a minute helps nobody.
    if (most + 1) * work > MOST_TRIED:
        detail = f"optimal would try {most + 1:,} counts: take larger servers, longer steps"
        raise InvalidValue("/options", f"{detail}, or a number of servers")


def _bill(price: Price, lived: Lives, horizon: Horizon) -> Fraction:
    return cost(price, lived, horizon) + lived.slots * price.terms.setup


def _beyond(price: Price, lived: Lives, horizon: Horizon) -> Callable[[int], Fraction]:
    """Bill of the servers beyond a number of the oldest ones, all from one trajectory."""
    if price.billing == SAVINGS:

        def of_newer(count: int) -> Fraction:
            # Servers end newest first, so a base is the oldest slots.
            # A savings plan looks at the use of the whole rest, so slots cannot be summed.
            newer = lived.slot > count
            kept = Lives(lived.slot[newer], lived.start_s[newer], lived.end_s[newer])
            return cost(price, kept, horizon)

        return of_newer
    tails = [ZERO]
    # Sums from the newest on: the bill beyond any count is then one look-up.
    for slot in reversed(slot_costs(price, lived, horizon)):
        tails.append(tails[-1] + slot + price.terms.setup)
    return lambda count: tails[max(0, len(tails) - 1 - count)]


def _reservations(scenario: ScenarioInput, base: OptionPart, burst: OptionPart) -> int:
    """Reservations are money, not servers: of each clock hour's use they pay what they cover."""
    if base.count != OPTIMAL:
        return _count(scenario, base)
    horizon = scenario.steps.horizon
    elastic = trajectory(scenario, burst, 0, burst)
    used = term_usages(base.price, lives(elastic, scenario.steps), horizon)
    _check_tries(int(elastic.max()), used[0].used_s.size)

    def bill(count: int) -> tuple[Fraction, int]:
        scenario.check()
        return cost_with_reservations(base.price, burst.price, used, count, horizon), count

    return min(range(int(elastic.max()) + 1), key=bill)
