"""Rules that bill each server for the time it ran."""

from collections.abc import Sequence
from fractions import Fraction

from backend.foundation.errors import InvalidValue
from backend.money.pricing.billing.lifetimes import HOUR_S, MINUTE_S, Horizon, months
from backend.money.pricing.billing.terms import Terms
from tests.oracles.billing.lifetimes import Lifetime, at_least, ceiling


def per_second(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """Seconds of each life, at least `minimum_s` (EC2 and GCE Linux: 60 s)."""
    seconds = sum(life.seconds for life in at_least(lifetimes, terms.minimum_s))
    return seconds * terms.price / HOUR_S


def spot(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """By the second; each running second is followed by a new launch with the chance that the
    provider ends the server in it, and a launch costs the minimum."""
    chance = terms.interruptions_per_month / 730 / 3600
    launches = sum(life.seconds * chance for life in lifetimes)
    return per_second(lifetimes, horizon, terms) + launches * terms.minimum_s * terms.price / HOUR_S


def per_minute(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """Minutes begun of each life, at least `minimum_minutes` (the old GCE rule: 10)."""
    minutes = sum(max(terms.minimum_minutes, ceiling(life.seconds, MINUTE_S)) for life in lifetimes)
    return minutes * terms.price / 60


def hour_ceil(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """Hours begun of each life (EC2 before 2017): five restarts in one hour are five hours."""
    return sum(ceiling(life.seconds, HOUR_S) for life in lifetimes) * terms.price


def hour_ceil_cap(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """Hours begun, counted from the launch; each belongs to the month in which it starts, and one
    life costs at most `cap` in a month. Each launch is a new server."""
    if terms.cap is None:
        raise InvalidValue("cap", "a monthly cap is needed")
    total = Fraction(0)
    for start_s, end_s in months(horizon, terms.month_convention):
        for life in lifetimes:
            total += min(_hours_begun(life, start_s, end_s) * terms.price, terms.cap)
    return total


def _hours_begun(life: Lifetime, start_s: int, end_s: int) -> int:
    """Hours of the life, counted from its launch, that start in [start_s, end_s)."""
    until_s = min(end_s, life.end_s)
    before = ceiling(max(0, start_s - life.start_s), HOUR_S)
    return max(0, ceiling(until_s - life.start_s, HOUR_S) - before)
