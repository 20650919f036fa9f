"""Cost of a project that may end before its contracts do.

A project ends in each month with the same probability (the hazard), and at the latest with the
horizon. What it costs then follows the cash: set-up and purchase are paid at their start; fees of
contracts until their least term or the notice is over, whichever is later; terms of commitments
to their end, renewals that have begun included; everything else only while it runs. Own hardware
is sold at the resale value of that month.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from backend.foundation.errors import InvalidValue
from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.billing.lifetimes import DAY_S, HOUR_S, Horizon, months
from backend.scenarios.calc.charges import (
    DEDICATED,
    MONTHLY,
    RESERVED,
    SAVINGS,
    ZERO,
    cost_after_term,
    extras_costs,
    option_charges,
    term_left,
    term_within,
    terms_begun,
)
from backend.scenarios.calc.lives import Lives
from backend.scenarios.calc.model import OptionPart, OwnServer, Price, ScenarioInput
from backend.scenarios.calc.results import OptionOutcome, money

MOST_MONTHS = 1200


@dataclass(frozen=True)
class Exposure:
    """Expected months over the horizon; `ratio` is how much dearer the contract makes a month."""

    active_months: Fraction
    paid_months: Fraction

    @property
    def ratio(self) -> Fraction:
        return self.paid_months / self.active_months


def endings(hazard_per_month: Fraction, horizon_months: int) -> list[Fraction]:
    """Probability that the project ends with month 1, 2, …; the last one ends it in any case.

    Raises InvalidValue for a hazard outside 0 to 1 or months outside 1 to MOST_MONTHS.
    """
    if not 0 <= hazard_per_month <= 1:
        raise InvalidValue("/hazard_per_month", f"{float(hazard_per_month)} is not in [0, 1]")
    if not 1 <= horizon_months <= MOST_MONTHS:
        raise InvalidValue("/horizon/months", f"{horizon_months} is not from 1 to {MOST_MONTHS}")
    # Exact fractions: expected costs of options are compared to the cent.
    alive = [(1 - hazard_per_month) ** month for month in range(horizon_months)]
    # Who is alive at the horizon ends with it, whatever the hazard.
    return [*(each * hazard_per_month for each in alive[:-1]), alive[-1]]


def exposure(ends: list[Fraction], paid: list[int]) -> Exposure:
    """Expected months run and months paid, by the probabilities of the endings."""
    return Exposure(
        sum((chance * month for month, chance in enumerate(ends, 1)), ZERO),
        sum((chance * each for each, chance in zip(paid, ends, strict=True)), ZERO),
    )


def contract_result(scenario: ScenarioInput, outcome: OptionOutcome) -> dict[str, Any] | None:
    """Expected cost of an option when the project may end; None without a hazard.

    `cost_if_it_ends_first` is the bill when it ends with its first month.
    """
    if not scenario.hazard_per_month:
        return None
    moments = list(_month_ends(scenario))
    ends = endings(scenario.hazard_per_month, len(moments))
    expected = exposure(
        ends,
        [_contract_months(scenario, outcome, month, end) for month, end in enumerate(moments, 1)],
    )
    cash = [_cash(scenario, outcome, end) for end in moments]
    return {
        "minimum_months": max(_minimum(scenario, part) for part in _contract_parts(outcome)),
        "active_months": float(expected.active_months),
        "paid_months": float(expected.paid_months),
        "ratio": float(expected.ratio),
        "expected_cost": money(
            sum((chance * each for chance, each in zip(ends, cash, strict=True)), ZERO)
        ),
        "cost_if_it_ends_first": money(cash[0]),
    }


def _month_ends(scenario: ScenarioInput) -> Iterator[int]:
    """Ends of the months in which the project may end, in seconds UTC."""
    horizon = scenario.steps.horizon
    # A horizon of calendar months ends at theirs, one of days at equal parts of about 730 hours.
    if scenario.months:
        yield from (end_s for _, end_s in months(horizon))
        return
    count = max(1, round(Fraction(horizon.seconds, HOURS_PER_MONTH * HOUR_S)))
    yield from (horizon.start_s + horizon.seconds * n // count for n in range(1, count + 1))


def _contract_parts(outcome: OptionOutcome) -> list[OptionPart | None]:
    return [outcome.fleet.fixed_part, outcome.fleet.elastic_part]


def _minimum(scenario: ScenarioInput, part: OptionPart | None) -> int:
    """Months that a part is paid for in any case."""
    if part is None:
        return 0
    billing, terms = part.price.billing, part.price.terms
    least = {
        RESERVED: terms.term_months,
        SAVINGS: terms.term_months,
        DEDICATED: terms.minimum_months,
        # On-demand prices bind nobody.
    }.get(billing, 0)
    # Elastic servers are ended when the demand is, contract or not.
    is_always_on = part.count is not None and billing in (MONTHLY, DEDICATED)
    return max(least, scenario.contract_months) if is_always_on else least


def _commitment_months(scenario: ScenarioInput, part: OptionPart | None, until: Horizon) -> int:
    """Months that a part is paid for when everything ends at a moment, without a notice."""
    least = _minimum(scenario, part)
    if part is None or part.price.billing not in (RESERVED, SAVINGS):
        return least
    return least * terms_begun(part.price, until)


def _contract_months(
    scenario: ScenarioInput, outcome: OptionOutcome, month: int, end_s: int
) -> int:
    """Months that the longest contract is paid for when the project ends with this one."""
    fixed = outcome.fleet.fixed_part
    until = Horizon(scenario.steps.start_s, end_s)
    paid = [
        month,
        *(_commitment_months(scenario, part, until) for part in _contract_parts(outcome)),
    ]
    if fixed is not None and fixed.price.billing in (MONTHLY, DEDICATED):
        paid.append(month + _months_begun(scenario, fixed.price, end_s, scenario.notice_days))
    return max(paid)


def _months_begun(scenario: ScenarioInput, price: Price, end_s: int, notice_days: int) -> int:
    """Months of a price that begin after an end and before the notice is over."""
    convention, start_s = price.terms.month_convention, scenario.steps.start_s
    until = [Horizon(start_s, end_s + days * DAY_S) for days in (0, notice_days)]
    # A notice of 30 days in a month of 31 may begin no further month.
    before, after = (sum(1 for _ in months(each, convention)) for each in until)
    return after - before


# --- cash ---------------------------------------------------------------------------------------


def _cash(scenario: ScenarioInput, outcome: OptionOutcome, end_s: int) -> Fraction:
    """Everything that is paid, in the end, when the project ends at a moment."""
    scenario.check()
    until = Horizon(scenario.steps.start_s, end_s)
    fleet = outcome.fleet
    lived = fleet.lives.until(end_s)
    extras = sum(extras_costs(outcome.option.extras, until, fleet.administered).values(), ZERO)
    fixed, elastic = fleet.fixed_part, fleet.elastic_part
    if fixed is not None and elastic is not None and fixed.price.billing == RESERVED:
        # Reservations are owed to the end of their term, whatever runs.
        charges = fleet.charges_until(until)
        return extras + charges.compute + charges.setup + charges.commitments
    if fixed is not None:
        extras += _part_cash(fixed, fleet.always_on, lived, until)
        extras += _contract_rest(scenario, fixed, fleet.always_on, until)
    if elastic is not None:
        extras += _part_cash(elastic, lived.slots, lived, until)
    return extras


def _part_cash(part: OptionPart, count: int, lived: Lives, until: Horizon) -> Fraction:
    """Cost of a part's `count` servers when they end at a moment."""
    if part.price.own is not None:
        return count * _own_cash(part.price, part.price.own, until)
    if part.count is None:
        charges = option_charges(None, 0, part, lived, until)
    else:
        charges = option_charges(part, count, None, lived, until)
    return charges.compute + charges.setup + charges.commitments


def _own_cash(price: Price, own: OwnServer, until: Horizon) -> Fraction:
    """Cost of an own server when it is sold at a moment."""
    left, lives_begun = term_left(price, until), terms_begun(price, until)
    ran_months = Fraction(term_within(price, until).seconds, HOURS_PER_MONTH * HOUR_S)
    # All but the last of its lives ended with the residual value.
    lost = own.purchase - own.resale(1 - left)
    lost += (lives_begun - 1) * (own.purchase - own.residual) + lives_begun * own.sunk
    leased_months = ran_months + left * price.terms.term_months
    # Power and space end with the project.
    running = ran_months * own.running_per_month + cost_after_term(price, until)
    return lost + leased_months * own.lease_per_month + running


def _contract_rest(
    scenario: ScenarioInput, part: OptionPart, count: int, until: Horizon
) -> Fraction:
    """Fees of always-on servers after the end: to the end of the least term or of the notice."""
    price = part.price
    if price.billing not in (MONTHLY, DEDICATED):
        return ZERO
    convention, least = price.terms.month_convention, _minimum(scenario, part)
    notice_s = scenario.notice_days * DAY_S
    if price.billing == MONTHLY and isinstance(convention, int):
        # Billed by the hour of a nominal month, so a part of one is a part of its fee.
        ran = Fraction(until.seconds, convention * HOUR_S)
        with_notice = ran + Fraction(notice_s, convention * HOUR_S)
        return count * price.terms.price * (max(Fraction(least), with_notice) - ran)
    begun = sum(1 for _ in months(until, convention))
    due = max(least, begun + _months_begun(scenario, price, until.end_s, scenario.notice_days))
    # The least term of the price itself is among what its own bill says is owed.
    counted = max(begun, price.terms.minimum_months) if price.billing == DEDICATED else begun
    return count * price.terms.price * (due - counted)
