"""The terms of a price: everything that a billing rule needs beside the lifetimes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from backend.money.pricing.billing.lifetimes import CALENDAR


@dataclass(frozen=True)
class Terms:
    """A quoted price. `price` is per hour, under monthly rules per month; one currency.

    Shares, factors and discounts are ratios.
    """

    price: Fraction
    minimum_s: int = 60
    minimum_minutes: int = 10
    cap: Fraction | None = None
    """The most that one server costs in a month."""
    month_convention: str | int = CALENDAR
    tiers: Sequence[tuple[Fraction, Fraction]] = ()
    """(cumulative share of the month, factor), ascending up to share 1."""
    reservations: int = 0
    upfront: Fraction = Fraction(0)
    term_months: int = 12
    commit_per_hour: Fraction = Fraction(0)
    discount: Fraction = Fraction(0)
    setup: Fraction = Fraction(0)
    minimum_months: int = 1
    interruptions_per_month: Fraction = Fraction(0)
    """Times that the provider is expected to take one server back in 730 hours of running."""
