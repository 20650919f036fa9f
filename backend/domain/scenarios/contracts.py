"""What a contract costs a project that may end before it does.

A project ends in each month with the same probability (the hazard), and at the latest with the
horizon. A contract of m months is paid for m months whether or not the project still runs; after
them month by month.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from backend.domain.errors import InvalidValue
from backend.domain.scenarios.charges import base_cost
from backend.domain.scenarios.model import OptionPart, ScenarioInput
from backend.domain.scenarios.results import OptionOutcome, money
from backend.domain.scenarios.uncertainty import option_with_counts
from backend.domain.units import HOURS_PER_MONTH

MOST_MONTHS = 1200


@dataclass(frozen=True)
class Exposure:
    """Expected months over the horizon; `ratio` is how much dearer the contract makes a month."""

    active_months: Fraction
    paid_months: Fraction

    @property
    def ratio(self) -> Fraction:
        return self.paid_months / self.active_months


def exposure(hazard_per_month: Fraction, horizon_months: int, minimum_months: int) -> Exposure:
    """Months that the project is expected to run, and months that are paid for it.

    It runs in month t (from 0) with probability (1 − h)^t; what is paid is the larger of that and
    the contract. Raises InvalidValue for a hazard outside 0 to 1 or months below 1.
    """
    if not 0 <= hazard_per_month <= 1:
        raise InvalidValue("/hazard_per_month", f"{float(hazard_per_month)} is not in [0, 1]")
    if not 1 <= horizon_months <= MOST_MONTHS:
        raise InvalidValue("/horizon/months", f"{horizon_months} is not from 1 to {MOST_MONTHS}")
    if not 0 <= minimum_months <= MOST_MONTHS:
        detail = f"{minimum_months} is not from 0 to {MOST_MONTHS}"
        raise InvalidValue("/contract/minimum_months", detail)
    alive = [(1 - hazard_per_month) ** t for t in range(horizon_months)]
    bound = min(minimum_months, horizon_months)
    # What a contract owes after the horizon is owed whether or not the project runs.
    beyond = max(0, minimum_months - horizon_months)
    paid = bound + beyond + sum(alive[bound:], Fraction(0))
    return Exposure(sum(alive, Fraction(0)), paid)


def contract_result(scenario: ScenarioInput, one: OptionOutcome) -> dict[str, Any] | None:
    """What an option is expected to cost when the project may end; None without a hazard.

    Servers that are always on under a contract are paid for its months, everything else for the
    months that the project runs; `cost_if_it_ends_first` is the bill when it ends with its first
    month.
    """
    if not scenario.hazard_per_month:
        return None
    hours = Fraction(scenario.steps.horizon.seconds, 3600)
    months = scenario.months or max(1, round(hours / HOURS_PER_MONTH))
    bound, minimum = Fraction(0), 0
    for part in option_with_counts(one).parts:
        if isinstance(part.count, int) and _minimum(scenario, part):
            bound += base_cost(part.price, part.count, scenario.steps.horizon)
            minimum = max(minimum, _minimum(scenario, part))
    expected = exposure(scenario.hazard_per_month, months, minimum)
    # What no contract binds ends with the project.
    free = one.total - bound
    return {
        "minimum_months": minimum,
        "active_months": float(expected.active_months),
        "paid_months": float(expected.paid_months),
        "ratio": float(expected.ratio),
        "expected_cost": money(
            (bound * expected.paid_months + free * expected.active_months) / months
        ),
        "cost_if_it_ends_first": money((bound * max(1, minimum) + free) / months),
    }


def _minimum(scenario: ScenarioInput, part: OptionPart) -> int:
    """Months that a part is paid for in any case."""
    billing, terms = part.price.billing, part.price.terms
    if billing in ("reserved", "purchase"):
        return terms.term_months
    if billing == "dedicated":
        return max(terms.minimum_months, scenario.contract_months)
    return scenario.contract_months if billing == "monthly" else 0
