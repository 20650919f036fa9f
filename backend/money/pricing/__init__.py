"""Prices over time."""

from backend.money.pricing.periods import PERIODS, price_per_period

__all__ = ["PERIODS", "price_per_period"]
