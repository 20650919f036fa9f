"""What the servers of an option cost up to some moment, and what they then still commit to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from backend.domain.pricing.billing.lifetimes import HOUR_S, Horizon, months
from backend.domain.scenarios import bills
from backend.domain.scenarios.document import Extras
from backend.domain.scenarios.lives import Lives
from backend.domain.scenarios.model import OptionPart, Price
from backend.domain.units import HOURS_PER_MONTH

ZERO = Fraction(0)
RESERVED, SAVINGS, DEDICATED, PURCHASE = "reserved", "savings", "dedicated", "purchase"
MONTHLY = "monthly"


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
    def committed(self) -> Fraction:
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
        return _covered(base.price, count, elastic.price, lived, horizon)
    charges = Charges()
    if base is not None:
        charges += _always_on(base.price, count, horizon)
        charges += _restarts(base.price, count * horizon.seconds)
    if elastic is not None:
        charges += _elastic(elastic.price, lived, horizon)
        charges += _restarts(elastic.price, int(lived.seconds.sum()))
    return charges


def _restarts(price: Price, server_s: int) -> Charges:
    """What the bill of a spot price contains for servers that start again."""
    # The bill has them inside; they are told apart so that a page can show what interruptions cost.
    expected = bills.restarts(price.terms, server_s)
    again_s = expected * price.terms.minimum_s
    return Charges(interruptions=expected, restarted=again_s * price.terms.price / HOUR_S)


def _always_on(price: Price, count: int, horizon: Horizon) -> Charges:
    one = whole(1, horizon)
    compute = base_cost(price, count, horizon)
    charges = Charges(
        compute=compute,
        a_month=_of_a_month(price, compute, horizon),
        setup=count * price.terms.setup,
        plain=_plain(price, count * horizon.seconds),
    )
    if price.billing == DEDICATED:
        # A contract's months are whole, so what is owed is counted and not a share of time.
        return replace(charges, owed=count * _contracts(price, one, horizon)[1] * price.terms.price)
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
    """What a month of a bill costs. A fee for months begun is no more for a part of one."""
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


def _covered(base: Price, count: int, burst: Price, lived: Lives, horizon: Horizon) -> Charges:
    usage = bills.usage(lived, horizon, base.terms.minimum_s)
    compute = covered_cost(base, burst, usage, count, horizon)
    return Charges(
        compute=compute,
        a_month=_of_a_month(burst, compute, horizon),
        prepaid=_prepaid(base, count, horizon),
        owed=_fee(base, count, horizon),
        plain=_plain(burst, int(lived.seconds.sum())),
    )


def covered_cost(
    base: Price, burst: Price, usage: bills.Usage, count: int, horizon: Horizon
) -> Fraction:
    """Fee of `count` reservations, and the use that they do not cover at the other price."""
    # By clock hour, as reservations are applied: a quiet night saves nothing for a busy day.
    rest_s = bills.uncovered_s(usage, count)
    return base_cost(base, count, horizon) + rest_s * burst.terms.price / HOUR_S


# --- running costs ------------------------------------------------------------------------------


def slot_costs(price: Price, lived: Lives, horizon: Horizon) -> bills.Costs:
    """Cost of each slot over the horizon, without set-up; not for prices of the whole fleet."""
    if price.billing == DEDICATED:
        return [
            paid * price.terms.price
            for paid, _ in bills.contracted_months(lived, horizon, price.terms)
        ]
    # A bought server costs its share of the purchase and what runs it, both by the month.
    name = "monthly" if price.billing == PURCHASE else price.billing
    return bills.SLOT_RULES[name](lived, horizon, price.terms)


def cost(price: Price, lived: Lives, horizon: Horizon) -> Fraction:
    """What elastic servers cost over the horizon, without set-up."""
    # Of the whole fleet's use: no slot has a share of the commitment by itself.
    if price.billing == SAVINGS:
        return bills.savings(bills.usage(lived, horizon, price.terms.minimum_s), price.terms)
    return bills.total(slot_costs(price, lived, horizon))


def base_cost(price: Price, count: int, horizon: Horizon) -> Fraction:
    """What `count` servers that run all the time cost, without set-up; reservations: the fee."""
    return base_costs(price, horizon)(count)


def base_costs(price: Price, horizon: Horizon) -> Callable[[int], Fraction]:
    """The same for any count."""
    if price.billing == RESERVED:
        one = bills.reserved(horizon, replace(price.terms, reservations=1))
    elif price.billing == SAVINGS:
        # One server's hours times the count: counting each would take as long as there are servers.
        used = bills.usage(whole(1, horizon), horizon, price.terms.minimum_s)
        return lambda count: bills.savings(used.times(count), price.terms)
    else:
        one = cost(price, whole(1, horizon), horizon)
    return lambda count: count * one


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
    by_slot = bills.contracted_months(lived, horizon, price.terms)
    return sum(paid for paid, _ in by_slot), sum(owed for _, owed in by_slot)


def term_left(horizon: Horizon, term_months: int) -> Fraction:
    """Share of a term from the horizon's start that lies after its end."""
    # In hours of 730 a month, since terms are sold as hours (8,760 a year).
    return max(ZERO, 1 - Fraction(horizon.seconds, term_months * HOURS_PER_MONTH * HOUR_S))


def _prepaid(price: Price, count: int, horizon: Horizon) -> Fraction:
    # Paid upfront and linear over the term: what lies behind the moment is a prepayment.
    amount = {RESERVED: price.terms.upfront, PURCHASE: price.purchase_total}.get(price.billing)
    return count * amount * term_left(horizon, price.terms.term_months) if amount else ZERO


def _fee(price: Price, count: int, horizon: Horizon) -> Fraction:
    """What a commitment costs in the hours of its term that lie after the moment."""
    # A savings plan commits to an amount of money, whatever the number of servers.
    hourly = {RESERVED: count * price.terms.price, SAVINGS: price.terms.commit_per_hour}
    # A contract by the month owes its own rest (contracts.py).
    if price.billing not in hourly:
        return ZERO
    left_h = price.terms.term_months * HOURS_PER_MONTH * term_left(horizon, price.terms.term_months)
    return left_h * hourly[price.billing]


# --- beside the servers -------------------------------------------------------------------------


def extras_costs(extras: Extras, horizon: Horizon) -> dict[str, Fraction]:
    """Cost over the horizon of everything that is stated by the month."""
    count = months_begun(horizon, extras.month_convention)
    return {name: count * amount for name, amount in _of_one_month(extras).items()}


def extras_a_month(extras: Extras) -> Fraction:
    """The same of one month."""
    return sum(_of_one_month(extras).values(), ZERO) * month_share(extras.month_convention)


def _of_one_month(extras: Extras) -> dict[str, Fraction]:
    return {
        "egress": _tiered(extras),
        "storage": extras.storage_gb * extras.storage_usd_per_gb_month,
        "staff": extras.staff_hours_per_month * extras.staff_usd_per_hour,
        "fixed": extras.fixed_per_month,
    }


def months_begun(horizon: Horizon, convention: str | int) -> Fraction:
    """Months of a convention that the horizon begins; of N hours, its share of them."""
    # Billed by the hour of a nominal month: a part of it costs a part.
    if isinstance(convention, int):
        return Fraction(horizon.seconds, convention * HOUR_S)
    return Fraction(sum(1 for _ in months(horizon, convention)))


def _tiered(extras: Extras) -> Fraction:
    """A month's egress under tiers of cumulative bounds."""
    amount, lower = ZERO, ZERO
    for upper, price in extras.egress_tiers:
        egress_gb = extras.egress_gb_per_month
        until = egress_gb if upper is None else min(upper, egress_gb)
        amount += max(ZERO, until - lower) * price
        # A tier that ends below an earlier one, a slip of the document, adds nothing.
        lower = max(lower, until)
    return amount
