"""The discount that grows with the share of the month a server runs (Google Compute Engine)."""

from collections.abc import Sequence
from fractions import Fraction

from backend.domain.errors import InvalidValue
from backend.domain.pricing.billing.lifetimes import (
    HOUR_S,
    Horizon,
    Lifetime,
    months,
    seconds_within,
)
from backend.domain.pricing.billing.terms import Terms

F = Fraction
N1 = ((F(1, 4), F(1)), (F(1, 2), F(4, 5)), (F(3, 4), F(3, 5)), (F(1), F(2, 5)))
N2 = ((F(1, 4), F(1)), (F(1, 2), F(8678, 10000)), (F(3, 4), F(733, 1000)), (F(1), F(3, 5)))
"""(cumulative share of the month, factor on the list price); 30 % and 20 % off a whole month."""


def sustained_use(lifetimes: Sequence[Lifetime], horizon: Horizon, terms: Terms) -> Fraction:
    """Per slot and month, the share used is billed tier by tier. Shares are of the whole month,
    also where the horizon covers a part of it; there is no minimum."""
    if not terms.tiers or terms.tiers[-1][0] != 1:
        raise InvalidValue("tiers", "tiers up to the share 1 are needed")
    total = Fraction(0)
    for start_s, end_s in months(horizon, terms.month_convention):
        length_s = end_s - start_s
        for slot in {life.slot for life in lifetimes}:
            lives = [life for life in lifetimes if life.slot == slot]
            used = Fraction(seconds_within(lives, start_s, end_s), length_s)
            total += billed_share(used, terms.tiers) * length_s * terms.price / HOUR_S
    return total


def billed_share(used: Fraction, tiers: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Share of the list price of a whole month that a used share (0 to 1) costs."""
    billed, lower = Fraction(0), Fraction(0)
    for upper, factor in tiers:
        billed += max(Fraction(0), min(used, upper) - lower) * factor
        lower = upper
    return billed
