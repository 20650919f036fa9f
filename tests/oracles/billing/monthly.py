"""Rules that bill by the month: flat, by the hours of a nominal month, and with a contract."""

from collections.abc import Sequence
from fractions import Fraction

from backend.money.pricing.billing.lifetimes import (
    CALENDAR,
    HOUR_S,
    THIRTY_DAYS,
    Horizon,
    months,
)
from backend.money.pricing.billing.terms import Terms
from tests.oracles.billing.lifetimes import Lifetime, seconds_within


def monthly(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """Each month begun costs the price for every slot used in it; a paid slot may be used again
    in that month. With a number of hours as the convention: price × server-hours / hours."""
    convention = terms.month_convention
    if convention not in (CALENDAR, THIRTY_DAYS):
        used_s = seconds_within(lifetimes, horizon.start_s, horizon.end_s)
        return used_s * terms.price / (int(convention) * HOUR_S)
    paid = sum(
        len({life.slot for life in lifetimes if life.start_s < end_s and life.end_s > start_s})
        for start_s, end_s in months(horizon, convention)
    )
    return paid * terms.price


def dedicated(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """Every slot pays its setup once and each month begun from its first launch to its last end,
    at least `minimum_months`: a rented machine is not given back in between."""
    total = Fraction(0)
    for slot in {life.slot for life in lifetimes}:
        lives = [life for life in lifetimes if life.slot == slot]
        held = Horizon(min(life.start_s for life in lives), max(life.end_s for life in lives))
        count = sum(1 for _ in months(held, terms.month_convention))
        total += terms.setup + max(count, terms.minimum_months) * terms.price
    return total
