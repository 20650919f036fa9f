"""Cost of an option's servers up to some moment, and its remaining commitments then.

Commitments renew: a reservation, a savings plan or a lease with its term, own hardware with its
life. What does not renew is paid by the hour after its first term.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.billing.lifetimes import HOUR_S, Horizon, months
from backend.scenarios.calc import bills
from backend.scenarios.calc.document import Extras
from backend.scenarios.calc.lives import Lives
from backend.scenarios.calc.model import OptionPart, Price

ZERO = Fraction(0)
RESERVED, SAVINGS, DEDICATED, PURCHASE = "reserved", "savings", "dedicated", "purchase"
BASE = "base"
MONTHLY = "monthly"


class Administered(NamedTuple):
    """Servers that somebody looks after; elastic servers start from one image and count as one."""

    servers: int = 0
    owned: int = 0


@dataclass(frozen=True)
class Charges:
    """Amounts are exact. `compute` and `setup` are what the time up to the moment costs."""

    compute: Fraction = ZERO
    setup: Fraction = ZERO
    prepaid: Fraction = ZERO
    """Paid before, for time after the moment: the rest of upfront and purchase money."""
    owed: Fraction = ZERO
    """To be paid after the moment, used or not: the rest of a term."""
    interruptions: Fraction = ZERO
    """Times that servers are expected to be taken back; `restarted` is what they add to compute."""
    restarted: Fraction = ZERO
    a_month: Fraction = ZERO
    """`compute` of one month: the fee of prices by the month, of others that of 730 hours."""
    plain: Fraction | None = ZERO
    """The same running seconds at the price of a second; None where a price is not hourly."""

    @property
    def commitments(self) -> Fraction:
        """Everything that goes beyond the moment."""
        return self.prepaid + self.owed

    def __add__(self, other: "Charges") -> "Charges":
        # Half of a comparison by the second would be one with another thing.
        is_hourly = self.plain is not None and other.plain is not None
        return Charges(
            self.compute + other.compute,
            self.setup + other.setup,
            self.prepaid + other.prepaid,
            self.owed + other.owed,
            self.interruptions + other.interruptions,
            self.restarted + other.restarted,
            self.a_month + other.a_month,
            self.plain + other.plain if is_hourly else None,  # type: ignore[operator]
        )


def option_charges(
    base: OptionPart | None, count: int, elastic: OptionPart | None, lived: Lives, horizon: Horizon
) -> Charges:
    """Charges of `count` servers that are always on and of elastic ones, up to the horizon's end.

    Reservations beside elastic servers are no servers: they pay what they cover of their use.
    """
    # One use is billed under both prices together: the parts cannot be added up.
    # AWS and others apply a reservation to whatever runs in the hour, whichever server that is.
    if base is not None and elastic is not None and base.price.billing == RESERVED:
        return _cover_charges(base.price, count, elastic.price, lived, horizon)
    charges = Charges()
    if base is not None:
        charges += _always_on(base.price, count, horizon)
        charges += _restarts(base.price, count * horizon.seconds)
    if elastic is not None:
        charges += _elastic(elastic.price, lived, horizon)
        charges += _restarts(elastic.price, int(lived.seconds.sum()))
    return charges


def _restarts(price: Price, server_s: int) -> Charges:
    """Part of a spot price's bill for servers that start again."""
    # The bill has them inside; they are told apart so that a page can show what interruptions cost.
    expected = bills.restarts(price.terms, server_s)
    again_s = expected * price.terms.minimum_s
    return Charges(interruptions=expected, restarted=again_s * price.terms.price / HOUR_S)


def _always_on(price: Price, count: int, horizon: Horizon) -> Charges:
    usage = whole(1, horizon)
    compute = base_cost(price, count, horizon)
    charges = Charges(
        compute=compute,
        a_month=_of_a_month(price, compute, horizon),
        setup=count * price.terms.setup,
        plain=_plain(price, count * horizon.seconds),
    )
    if price.billing == DEDICATED:
        # A contract's months are whole, so what is owed is counted and not a share of time.
        return replace(
            charges, owed=count * _contracts(price, usage, horizon)[1] * price.terms.price
        )
    return replace(
        charges, prepaid=_prepaid(price, count, horizon), owed=_fee(price, count, horizon)
    )


def _elastic(price: Price, lived: Lives, horizon: Horizon) -> Charges:
    compute = cost(price, lived, horizon)
    charges = Charges(
        compute=compute,
        a_month=_of_a_month(price, compute, horizon),
        setup=lived.slots * price.terms.setup,
        plain=_plain(price, int(lived.seconds.sum())),
    )
    if price.billing == DEDICATED:
        return replace(charges, owed=_contracts(price, lived, horizon)[1] * price.terms.price)
    prepaid = _prepaid(price, lived.slots, horizon)
    return replace(charges, prepaid=prepaid, owed=_fee(price, 1, horizon))


def _of_a_month(price: Price, compute: Fraction, horizon: Horizon) -> Fraction:
    """Monthly cost on a bill. A fee for months begun is no more for a part of one."""
    convention = price.terms.month_convention
    is_by_hours = isinstance(convention, int)
    # Divided by begun months: a horizon of ten days still pays one whole fee.
    if price.billing == DEDICATED or (price.billing == MONTHLY and not is_by_hours):
        begun = sum(1 for _ in months(horizon, convention))
        return compute / begun * month_share(convention)
    # A month of 730 hours, as price lists have it, whatever months the horizon holds.
    return compute * HOURS_PER_MONTH * HOUR_S / horizon.seconds


def month_share(convention: str | int) -> Fraction:
    """Months of a convention in one of 730 hours; calendar and 30-day ones count as one."""
    return Fraction(HOURS_PER_MONTH, convention) if isinstance(convention, int) else Fraction(1)


def _cover_charges(
    base: Price, count: int, burst: Price, lived: Lives, horizon: Horizon
) -> Charges:
    compute = cost_with_reservations(base, burst, term_usages(base, lived, horizon), count, horizon)
    return Charges(
        compute=compute,
        a_month=_of_a_month(burst, compute, horizon),
        prepaid=_prepaid(base, count, horizon),
        owed=_fee(base, count, horizon),
        plain=_plain(burst, int(lived.seconds.sum())),
    )


def cost_with_reservations(
    base: Price, burst: Price, usages: list[bills.Usage], count: int, horizon: Horizon
) -> Fraction:
    """Fee of `count` reservations, and the use that they do not cover at the other price.

    `usages` are those of `term_usages`: after the term, use that was covered has a price of its own.
    """
    # By clock hour, as reservations are applied: a quiet night saves nothing for a busy day.
    rest_s = [bills.seconds_beyond_reservations(used, count) for used in usages]
    amount = count * _term_fee(base, horizon) + sum(rest_s) * burst.terms.price / HOUR_S
    if base.after_per_hour is not None and len(usages) > 1:
        amount += (int(usages[1].used_s.sum()) - rest_s[1]) * base.after_per_hour / HOUR_S
    return amount


def term_usages(price: Price, lived: Lives, horizon: Horizon) -> list[bills.Usage]:
    """Use of each clock hour during the terms of a price, and after the only term if there is any."""
    minimum_s, end_s = price.terms.minimum_s, term_within(price, horizon).end_s
    if end_s == horizon.end_s:
        return [bills.usage(lived, horizon, minimum_s)]
    counted = lived.at_least(minimum_s)
    return [
        bills.usage(counted.until(end_s), Horizon(horizon.start_s, end_s), 0),
        bills.usage(counted.since(end_s), Horizon(end_s, horizon.end_s), 0),
    ]


def term_within(price: Price, horizon: Horizon) -> Horizon:
    """The part of the horizon in which a commitment holds; all of it where it renews."""
    if price.after_per_hour is None:
        return horizon
    end_s = horizon.start_s + price.terms.term_months * HOURS_PER_MONTH * HOUR_S
    return Horizon(horizon.start_s, min(end_s, horizon.end_s))


def _term_fee(price: Price, horizon: Horizon) -> Fraction:
    """Fee of one reservation while it holds."""
    return bills.reserved(term_within(price, horizon), replace(price.terms, reservations=1))


def cost_after_term(price: Price, horizon: Horizon) -> Fraction:
    """Price of one server from the end of its only term on."""
    rest_s = horizon.end_s - term_within(price, horizon).end_s
    return (price.after_per_hour or ZERO) * rest_s / HOUR_S


# --- running costs ------------------------------------------------------------------------------


def slot_costs(price: Price, lived: Lives, horizon: Horizon) -> bills.Costs:
    """Cost of each slot over the horizon, without set-up; not for prices of the whole fleet."""
    if price.billing == DEDICATED:
        return [
            paid * price.terms.price
            for paid, _ in bills.months_of_contracts(lived, horizon, price.terms)
        ]
    # A bought server costs its share of the purchase and what runs it, both by the month.
    name = "monthly" if price.billing == PURCHASE else price.billing
    return bills.SLOT_RULES[name](lived, horizon, price.terms)


def cost(price: Price, lived: Lives, horizon: Horizon) -> Fraction:
    """Cost of elastic servers over the horizon, without set-up."""
    # Of the whole fleet's use: no slot has a share of the commitment by itself.
    if price.billing == SAVINGS:
        return _savings(price, term_usages(price, lived, horizon))
    return bills.total(slot_costs(price, lived, horizon))


def _savings(price: Price, usages: list[bills.Usage]) -> Fraction:
    amount = bills.savings(usages[0], price.terms)
    for used in usages[1:]:
        amount += int(used.used_s.sum()) * (price.after_per_hour or ZERO) / HOUR_S
    return amount


def part_cost(part: OptionPart, count: int, horizon: Horizon) -> Fraction:
    """Cost of a part's servers with a count, without set-up; of reservations the fee."""
    if part.role == BASE and part.price.billing == RESERVED:
        return count * _term_fee(part.price, horizon)
    return base_cost(part.price, count, horizon)


def base_cost(price: Price, count: int, horizon: Horizon) -> Fraction:
    """Cost of `count` servers that run all the time, without set-up."""
    return base_costs(price, horizon)(count)


def base_costs(price: Price, horizon: Horizon) -> Callable[[int], Fraction]:
    """The same for any count."""
    if price.billing == SAVINGS:
        # One server's hours times the count: counting each would take as long as there are servers.
        usages = term_usages(price, whole(1, horizon), horizon)
        return lambda count: _savings(price, [used.times(count) for used in usages])
    if price.billing == RESERVED:
        fee = _term_fee(price, horizon) + cost_after_term(price, horizon)
    elif price.billing == PURCHASE:
        term = term_within(price, horizon)
        fee = cost(price, whole(1, term), term) + cost_after_term(price, horizon)
    else:
        fee = cost(price, whole(1, horizon), horizon)
    return lambda count: count * fee


def whole(count: int, horizon: Horizon) -> Lives:
    """Servers that run through the whole horizon."""
    return Lives(
        np.arange(1, count + 1, dtype=np.int64),
        np.full(count, horizon.start_s, dtype=np.int64),
        np.full(count, horizon.end_s, dtype=np.int64),
    )


def _plain(price: Price, seconds: int) -> Fraction | None:
    return seconds * price.terms.price / HOUR_S if price.unit == "hour" else None


# --- what goes beyond ---------------------------------------------------------------------------


def _contracts(price: Price, lived: Lives, horizon: Horizon) -> tuple[int, int]:
    """Months of all slots that are paid in the horizon, and that are owed after it."""
    by_slot = bills.months_of_contracts(lived, horizon, price.terms)
    return sum(paid for paid, _ in by_slot), sum(owed for _, owed in by_slot)


def terms_begun(price: Price, horizon: Horizon) -> int:
    """Terms of a commitment that have begun before the horizon's end; 1 where it does not renew."""
    if price.after_per_hour is not None:
        return 1
    whole_months = _calendar_months(horizon)
    # A term of twelve months covers a leap year too: nobody renews for its last day.
    elapsed = whole_months or Fraction(horizon.seconds, HOURS_PER_MONTH * HOUR_S)
    return max(1, -(-elapsed // price.terms.term_months))


def _calendar_months(horizon: Horizon) -> int | None:
    """Months of a horizon from the first of one to the first of another (UTC); else None."""
    start, end = (dt.datetime.fromtimestamp(at, dt.UTC) for at in (horizon.start_s, horizon.end_s))
    if any((at.day, at.hour, at.minute, at.second) != (1, 0, 0, 0) for at in (start, end)):
        return None
    return (end.year - start.year) * 12 + end.month - start.month


def term_left(price: Price, horizon: Horizon) -> Fraction:
    """The rest of the last term begun, as a share of a term."""
    # In hours of 730 a month, since terms are sold as hours (8,760 a year).
    elapsed = Fraction(horizon.seconds, price.terms.term_months * HOURS_PER_MONTH * HOUR_S)
    return max(ZERO, terms_begun(price, horizon) - elapsed)


def _prepaid(price: Price, count: int, horizon: Horizon) -> Fraction:
    # Paid upfront and linear over the term: what lies behind the moment is a prepayment.
    amount = price.own.paid_at_start if price.own else ZERO
    amount += price.terms.upfront if price.billing == RESERVED else ZERO
    return count * amount * term_left(price, horizon) if amount else ZERO


def _fee(price: Price, count: int, horizon: Horizon) -> Fraction:
    """Cost of a commitment in the hours of its term that lie after the moment."""
    hourly = {
        RESERVED: count * price.terms.price,
        # A savings plan commits to an amount of money, whatever the number of servers.
        SAVINGS: price.terms.commit_per_hour,
        PURCHASE: count * price.own.lease_per_month / HOURS_PER_MONTH if price.own else ZERO,
    }
    # A contract by the month owes its own rest (contracts.py).
    if not hourly.get(price.billing):
        return ZERO
    left_h = price.terms.term_months * HOURS_PER_MONTH * term_left(price, horizon)
    return left_h * hourly[price.billing]


# --- beside the servers -------------------------------------------------------------------------


def extras_costs(
    extras: Extras, horizon: Horizon, administered: Administered
) -> dict[str, Fraction]:
    """Cost over the horizon of everything that is stated by the month."""
    count = months_begun(horizon, extras.month_convention)
    return {name: count * amount for name, amount in _of_one_month(extras, administered).items()}


def extras_a_month(extras: Extras, administered: Administered) -> Fraction:
    """The same of one month."""
    costs = _of_one_month(extras, administered).values()
    return sum(costs, ZERO) * month_share(extras.month_convention)


def _of_one_month(extras: Extras, administered: Administered) -> dict[str, Fraction]:
    staff_hours = (
        extras.staff_hours_per_month
        + administered.servers * extras.staff_hours_per_server_month
        + administered.owned * extras.hardware_hours_per_server_month
    )
    return {
        "egress": _egress_cost(extras),
        "storage": extras.storage_gb * extras.storage_usd_per_gb_month,
        "staff": staff_hours * extras.staff_usd_per_hour,
        "fixed": extras.fixed_per_month,
    }


def months_begun(horizon: Horizon, convention: str | int) -> Fraction:
    """Months of a convention that the horizon begins; of N hours, its share of them."""
    # Billed by the hour of a nominal month: a part of it costs a part.
    if isinstance(convention, int):
        return Fraction(horizon.seconds, convention * HOUR_S)
    return Fraction(sum(1 for _ in months(horizon, convention)))


def _egress_cost(extras: Extras) -> Fraction:
    """A month's egress under tiers of cumulative bounds."""
    amount, lower = ZERO, ZERO
    for upper, price in extras.egress_tiers:
        egress_gb = extras.egress_gb_per_month
        until = egress_gb if upper is None else min(upper, egress_gb)
        amount += max(ZERO, until - lower) * price
        # A tier that ends below an earlier one, a slip of the document, adds nothing.
        lower = max(lower, until)
    return amount
