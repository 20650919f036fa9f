"""The billing rules over arrays of lives, in exact sums.

Most rules bill each slot of the stack for itself; their answer is a cost for each slot, so that
the cost of any number of oldest servers is a sum of its head. Reservations and savings plans look
at the whole fleet's use of each clock hour.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from backend.foundation.errors import InvalidValue
from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.billing.lifetimes import (
    CALENDAR,
    HOUR_S,
    MINUTE_S,
    THIRTY_DAYS,
    Horizon,
    months,
)
from backend.money.pricing.billing.terms import Terms
from backend.scenarios.calc.lives import Lives, Whole

# A cap far above the price would overflow the 64 bits of the arrays.
MOST_HOURS = 10**9
# Of a second, so that those of a century still fit 64 bits.
MOST_PARTS = 10**8
# Cost of each slot, the oldest first.
Costs = list[Fraction]
SlotRule = Callable[[Lives, Horizon, Terms], Costs]


def _by_slot(lives: Lives, units: Whole, price: Fraction) -> Costs:
    """Cost of each slot whose lives add up so many units of a price."""
    # Sums of whole numbers below 2^53 are exact in floats.
    sums = np.bincount(lives.slot, weights=units, minlength=lives.slots + 1)[1:]
    return [int(total) * price for total in sums.tolist()]


def _ceiling(values: Whole, unit: int) -> Whole:
    # In whole numbers: a float ceiling bills one unit more for 3600.0000001.
    return -(-values // unit)


def per_second(lives: Lives, horizon: Horizon, terms: Terms) -> Costs:
    """Seconds of each life, at least `minimum_s`."""
    # The minimum is of each launch: a server started again pays it again.
    return _by_slot(lives, lives.at_least(terms.minimum_s).seconds, terms.price / HOUR_S)


def spot(lives: Lives, horizon: Horizon, terms: Terms) -> Costs:
    """By the second, and the minimum once more for each server that is expected to start again
    because the provider took it back."""
    # Expected, not drawn: a bill has one figure, uncertainty is asked for apart.
    again = restarts(terms, 1) * terms.minimum_s
    running = _by_slot(lives, lives.seconds, again * terms.price / HOUR_S)
    first = per_second(lives, horizon, terms)
    return [once + more for once, more in zip(first, running, strict=True)]


def restarts(terms: Terms, server_s: int) -> Fraction:
    """Interruptions that are expected while servers run for so many seconds in all."""
    return terms.interruptions_per_month * server_s / (HOURS_PER_MONTH * HOUR_S)


def per_minute(lives: Lives, horizon: Horizon, terms: Terms) -> Costs:
    """Minutes begun of each life, at least `minimum_minutes`."""
    # The minimum is of each launch.
    minutes = np.maximum(terms.minimum_minutes, _ceiling(lives.seconds, MINUTE_S))
    return _by_slot(lives, minutes, terms.price / 60)


def hour_ceil(lives: Lives, horizon: Horizon, terms: Terms) -> Costs:
    """Hours begun of each life."""
    return _by_slot(lives, _ceiling(lives.seconds, HOUR_S), terms.price)


def hour_ceil_cap(lives: Lives, horizon: Horizon, terms: Terms) -> Costs:
    """Hours begun from the launch, in the month in which each starts, up to `cap` a life."""
    if terms.cap is None:
        raise InvalidValue("cap", "a monthly cap is needed")
    # The hours that cost no more than the cap; beyond them the cap is paid instead.
    most_hours = min(MOST_HOURS, int(terms.cap / terms.price))
    hours = np.zeros(lives.slots + 1)
    capped = np.zeros(lives.slots + 1)
    for start_s, end_s in months(horizon, terms.month_convention):
        until = np.minimum(lives.end_s, end_s) - lives.start_s
        # An hour that begins before midnight of the first belongs to the old month, where it counts against
        # that cap.
        before = _ceiling(np.maximum(0, start_s - lives.start_s), HOUR_S)
        begun = np.maximum(0, _ceiling(until, HOUR_S) - before)
        is_capped = begun > most_hours
        capped += np.bincount(lives.slot, is_capped, lives.slots + 1)
        # Each launch is a new server at these providers, so a cap counts for one life alone.
        hours += np.bincount(lives.slot, np.where(is_capped, 0, begun), lives.slots + 1)
    pairs = zip(hours[1:].tolist(), capped[1:].tolist(), strict=True)
    return [int(full) * terms.price + int(over) * terms.cap for full, over in pairs]


def monthly(lives: Lives, horizon: Horizon, terms: Terms) -> Costs:
    """Each month begun in which a slot is used; or the share of a nominal number of hours."""
    convention = terms.month_convention
    if convention not in (CALENDAR, THIRTY_DAYS):
        return _by_slot(lives, lives.seconds, terms.price / (int(convention) * HOUR_S))
    paid = np.zeros(lives.slots + 1, dtype=np.int64)
    for start_s, end_s in months(horizon, convention):
        is_used = (lives.start_s < end_s) & (lives.end_s > start_s)
        # A month that is paid serves later launches of the slot too.
        # A slot used twice in a month pays once.
        paid[np.unique(lives.slot[is_used])] += 1
    return [int(count) * terms.price for count in paid[1:]]


def months_of_contracts(lives: Lives, horizon: Horizon, terms: Terms) -> list[tuple[int, int]]:
    """Months of each slot's contract: paid in the horizon, and owed after it.

    A contract runs from the slot's first launch to its last end, at least
    `minimum_months`; each month begun is paid.
    """
    known: dict[tuple[int, int], tuple[int, int]] = {}
    by_slot = []
    for first, last in _heads_and_tails(lives):
        start_s, end_s = pair = int(lives.start_s[first]), int(lives.end_s[last])
        # Thousands of slots share a few pairs of first and last moment, and months are slow to count.
        if pair not in known:
            begun = _months_between(start_s, end_s, terms)
            # Months that lie behind the horizon are owed, not paid in it.
            possible = _months_between(start_s, max(end_s, horizon.end_s), terms)
            paid = max(begun, min(terms.minimum_months, possible))
            known[pair] = paid, max(0, terms.minimum_months - paid)
        by_slot.append(known[pair])
    return by_slot


def _months_between(start_s: int, end_s: int, terms: Terms) -> int:
    return sum(1 for _ in months(Horizon(start_s, end_s), terms.month_convention))


def _heads_and_tails(lives: Lives) -> Iterator[tuple[int, int]]:
    """Indexes of the first and the last life of each slot."""
    heads = np.flatnonzero(np.diff(lives.slot, prepend=0))
    tails = np.append(heads, lives.count)[1:] - 1
    yield from zip(heads.tolist(), tails.tolist(), strict=True)


def sustained_use(lives: Lives, horizon: Horizon, terms: Terms) -> Costs:
    """Per slot and month, the share used is billed tier by tier."""
    if not terms.tiers or terms.tiers[-1][0] != 1:
        raise InvalidValue("tiers", "tiers up to the share 1 are needed")
    # Seconds are counted in parts so fine that the bounds of all tiers are whole.
    # Shares such as a quarter of 2,678,400 s are whole, others are not; in floats the bounds would bill
    # twice.
    parts = math.lcm(*(upper.denominator for upper, _ in terms.tiers))
    used = _use_by_month(lives, horizon, terms, parts)
    costs = [Fraction(0)] * lives.slots
    lower = 0
    for upper_share, factor in terms.tiers:
        upper = int(upper_share * parts)
        within = np.zeros_like(used[0][0])
        for ran, length_s in used:
            # Google's tiers are cumulative: each lowers the price of the use within it only.
            within += np.clip(ran - lower * length_s, 0, (upper - lower) * length_s)
        price = factor * terms.price / (parts * HOUR_S)
        costs = [cost + int(n) * price for cost, n in zip(costs, within.tolist(), strict=True)]
        lower = upper
    return costs


def _use_by_month(
    lives: Lives, horizon: Horizon, terms: Terms, parts: int
) -> list[tuple[Whole, int]]:
    """For each month the parts of a second that each slot ran, and the seconds that it has."""
    # Python's whole numbers do not overflow; they are slower and seldom needed.
    kind = np.int64 if parts < MOST_PARTS else object
    by_month = []
    for start_s, end_s in months(horizon, terms.month_convention):
        within = np.minimum(lives.end_s, end_s) - np.maximum(lives.start_s, start_s)
        used = np.bincount(lives.slot, np.maximum(within, 0), lives.slots + 1)[1:]
        by_month.append((used.astype(np.int64).astype(kind) * parts, end_s - start_s))
    return by_month


SLOT_RULES: Mapping[str, SlotRule] = MappingProxyType(
    {
        "per_second": per_second,
        "per_minute": per_minute,
        "hour_ceil": hour_ceil,
        "hour_ceil_cap": hour_ceil_cap,
        "monthly": monthly,
        "sustained_use": sustained_use,
        "spot": spot,
    }
)


# --- rules of the whole fleet -----------------------------------------------------------------


def reserved(horizon: Horizon, terms: Terms) -> Fraction:
    """The fee of the reservations over the horizon, used or not."""
    upfront_per_hour = terms.upfront / (terms.term_months * HOURS_PER_MONTH)
    return terms.reservations * (terms.price + upfront_per_hour) * horizon.seconds / HOUR_S


def seconds_beyond_reservations(used: "Usage", reservations: int) -> int:
    """Server-seconds beyond 3,600 s of each reservation in each clock hour."""
    return int(np.maximum(0, used.used_s - reservations * used.within_s).sum())


def savings(used: "Usage", terms: Terms) -> Fraction:
    """A commitment of money per hour, used or not; the rest at the list price."""
    if not 0 <= terms.discount < 1:
        raise InvalidValue("discount", f"{terms.discount} is not in [0, 1)")
    # The commitment is counted at discounted prices, use beyond it at list prices.
    rest = 1 - terms.discount
    # Per second of the hour that lies in the horizon: seconds of use that the commitment pays.
    # The commitment buys use at the discounted price, so it covers more seconds than at the list price.
    paid = terms.commit_per_hour / (terms.price * rest)
    beyond = Fraction(0)
    for within_s in np.unique(used.within_s).tolist():
        used_s = used.used_s[used.within_s == within_s]
        # Unused commitment of an hour is lost and makes no other hour cheaper.
        used_s = used_s[used_s > math.floor(paid * within_s)]
        beyond += int(used_s.sum()) - used_s.size * paid * within_s
    committed = terms.commit_per_hour * int(used.within_s.sum()) / HOUR_S
    return committed + beyond * terms.price / HOUR_S


@dataclass(frozen=True)
class Usage:
    """Server-seconds of a fleet in each clock hour (UTC).

    `within_s` is what of each hour lies in the horizon: commitments end with it, while the
    minimum of a late launch may reach beyond.
    """

    used_s: Whole
    within_s: Whole

    def times(self, count: int) -> "Usage":
        """The use of so many equal fleets."""
        return Usage(self.used_s * count, self.within_s)


def usage(lives: Lives, horizon: Horizon, minimum_s: int) -> Usage:
    """Use of each clock hour, short lives counted as `minimum_s`."""
    # The minimum of a short launch is use, and a commitment covers it.
    counted = lives.at_least(minimum_s)
    last_s = max(horizon.end_s, int(counted.end_s.max(initial=0)))
    # Providers count clock hours (UTC); the first and last of a horizon may be parts.
    first_s = (horizon.start_s // HOUR_S + 1) * HOUR_S
    inner = np.arange(first_s, last_s, HOUR_S, dtype=np.int64)
    bounds = np.concatenate([[horizon.start_s], inner, [last_s]])
    ends = np.minimum(bounds[1:], horizon.end_s)
    return Usage(np.diff(_server_seconds(counted, bounds)), np.maximum(0, ends - bounds[:-1]))


def _server_seconds(lives: Lives, bounds: Whole) -> Whole:
    """Server-seconds of all lives before each bound."""
    return _before(np.sort(lives.start_s), bounds) - _before(np.sort(lives.end_s), bounds)


def _before(times: Whole, bounds: Whole) -> Whole:
    """Σ max(0, bound − time) over sorted times."""
    # Prefix sums: a year has 8,760 hours, and lives are many.
    sums = np.concatenate([[0], np.cumsum(times)])
    count = np.searchsorted(times, bounds)
    elapsed: Whole = count * bounds - sums[count]
    return elapsed


def total(costs: Sequence[Fraction]) -> Fraction:
    """Sum of the slots."""
    return sum(costs, Fraction(0))
