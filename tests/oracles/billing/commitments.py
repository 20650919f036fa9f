"""Commitments that are paid whether used or not: reservations and savings plans."""

from collections.abc import Sequence
from fractions import Fraction

from backend.foundation.errors import InvalidValue
from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.billing.lifetimes import HOUR_S, Horizon
from backend.money.pricing.billing.terms import Terms
from tests.oracles.billing.lifetimes import Lifetime, at_least, hours, seconds_within


def reserved(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """The fee of the reservations over the horizon, used or not; upfront money linear over the
    term. What the servers use beyond them is told by `uncovered_s`."""
    upfront_per_hour = terms.upfront / (terms.term_months * HOURS_PER_MONTH)
    return terms.reservations * (terms.price + upfront_per_hour) * horizon.seconds / HOUR_S


def uncovered_s(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> int:
    """Server-seconds that the reservations do not cover: in each clock hour they cover 3,600 s
    each, second by second, whichever servers ran; a part of an hour covers its part."""
    counted = at_least(lifetimes, terms.minimum_s)
    return sum(
        max(
            0,
            seconds_within(counted, start_s, end_s)
            - terms.reservations * _within_s(horizon, start_s, end_s),
        )
        for start_s, end_s in hours(_covering(counted, horizon))
    )


def savings(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """A commitment of money per hour: usage at the discounted rate up to it, the rest at the list
    price, what is not used is lost. `price` is the list price."""
    if not 0 <= terms.discount < 1:
        raise InvalidValue("discount", f"{terms.discount} is not in [0, 1)")
    counted = at_least(lifetimes, terms.minimum_s)
    rest = 1 - terms.discount
    total = Fraction(0)
    for start_s, end_s in hours(_covering(counted, horizon)):
        committed = terms.commit_per_hour * _within_s(horizon, start_s, end_s) / HOUR_S
        used = seconds_within(counted, start_s, end_s) * terms.price / HOUR_S * rest
        total += committed + max(Fraction(0), used - committed) / rest
    return total


def _within_s(horizon: Horizon, start_s: int, end_s: int) -> int:
    """Seconds of an hour inside the horizon: commitments end with it."""
    return max(0, min(end_s, horizon.end_s) - start_s)


def _covering(lifetimes: Sequence[Lifetime], horizon: Horizon) -> Horizon:
    """The horizon, and what minimum lives reach beyond it."""
    return Horizon(horizon.start_s, max([horizon.end_s, *(life.end_s for life in lifetimes)]))
