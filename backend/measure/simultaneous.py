"""Comparison of many pairs at once, where each would else be one more chance of a false alarm."""

import math
from functools import lru_cache

import numpy as np

from backend.measure.draws import spreads
from backend.measure.pairwise import Interval
from backend.measure.stats import CONFIDENCE
from backend.money.amounts import Floats

GRID = np.linspace(-8.0, 8.0, 321)  # normal deviates; beyond lie 1e-15


def are_apart(first: Interval, second: Interval, count: int) -> bool:
    """True where two figures of `count` differ whatever their errors.

    Their paired difference on the logarithm has the standard deviations of the sides that could close
    the gap. It is clear of zero beyond as many of them as the best of `count` equal figures exceeds the
    last in 95 of 100 lists (Tukey's honest significant difference).
    """
    better, worse = sorted((first, second), reverse=True)
    centre, down, up = spreads(*zip(better, worse, strict=True))
    margin = tukey_quantile(count) / math.sqrt(2) * math.hypot(down[0], up[1])
    return bool(centre[0] - centre[1] > margin)


@lru_cache(maxsize=1024)
def tukey_quantile(count: int) -> float:
    """The 95 % quantile of the range of `count` ≥ 2 standard normal numbers.

    P(range ≤ q) = n ∫ φ(z) · (Φ(z) − Φ(z − q))ⁿ⁻¹ dz; less than two numbers count as two.
    """
    n = max(count, 2)
    density = np.exp(-(GRID**2) / 2) / math.sqrt(2 * math.pi) * (GRID[1] - GRID[0])
    below = _normal_below(GRID)
    low, high = 0.0, 16.0
    for _ in range(40):
        middle = (low + high) / 2
        inside = float(n * density @ (below - _normal_below(GRID - middle)) ** (n - 1))
        low, high = (middle, high) if inside < CONFIDENCE else (low, middle)
    return (low + high) / 2


def _normal_below(z: Floats) -> Floats:
    return np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in z.tolist()])
