"""Plausible values of figures with 95 % intervals, drawn from seeded generators.

A value with its interval is a log-normal on each side of the value, so that value and bounds are its
50, 2.5 and 97.5 percentiles.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from backend.measure.stats import Z_95
from backend.money.amounts import Floats

SEED = 20_130_921  # the day the first table of this kind was published; any fixed number serves


class Spreads(NamedTuple):
    """Values on the logarithm, with the standard deviations below and above each."""

    centre: Floats
    down: Floats
    up: Floats


def spreads(
    values: Sequence[float] | Floats,
    lows: Sequence[float] | Floats,
    highs: Sequence[float] | Floats,
) -> Spreads:
    """Spreads of values above zero with the ends of their intervals, low ≤ value ≤ high."""
    centre, low, high = (np.log(np.asarray(column, np.float64)) for column in (values, lows, highs))
    return Spreads(centre, (centre - low) / Z_95, (high - centre) / Z_95)


def common_draws(of: Spreads, *, n_draws: int) -> Floats:
    """Plausible logarithms of each row as an array (n_draws, rows).

    Rows of one draw belong together, so differences between rows are paired.
    """
    normal = np.random.default_rng(SEED).standard_normal((n_draws, of.centre.size))
    drawn: Floats = of.centre + normal * np.where(normal < 0, of.down, of.up)
    return drawn
