"""The discount of sustained use, slot by slot and month by month."""

from collections.abc import Sequence
from fractions import Fraction

from backend.foundation.errors import InvalidValue
from backend.money.pricing.billing.lifetimes import HOUR_S, Horizon, months
from backend.money.pricing.billing.sustained_use import share_of_list_price
from backend.money.pricing.billing.terms import Terms
from tests.oracles.billing.lifetimes import Lifetime, seconds_within


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
            total += share_of_list_price(used, terms.tiers) * length_s * terms.price / HOUR_S
    return total
