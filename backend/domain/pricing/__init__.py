"""Prices over time."""

from backend.domain.pricing.periods import PERIODS, price_per_period

__all__ = ["PERIODS", "price_per_period"]
