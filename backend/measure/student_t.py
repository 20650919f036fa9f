"""Quantiles of Student's t distribution, without a statistics library."""

import math
from functools import lru_cache
from statistics import NormalDist

from backend.foundation.errors import InvalidValue

MAX_EXACT_DEGREES = 200


def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t with whole `degrees` of freedom ≥ 1.

    Up to 200 degrees the distribution function is summed exactly (Abramowitz and Stegun, 26.7.3
    and 26.7.4) and inverted by bisection; above, the expansion 26.7.5 is exact to 1e-9.
    """
    if not 0 < probability < 1:
        raise InvalidValue("probability", f"{probability} is not in (0, 1)")
    if degrees < 1:
        raise InvalidValue("degrees", f"{degrees} is below 1")
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    if degrees > MAX_EXACT_DEGREES:
        return _t_quantile_expanded(NormalDist().inv_cdf(probability), degrees)
    return _t_quantile_exact(probability, degrees)


@lru_cache(maxsize=1024)
def _t_quantile_exact(probability: float, degrees: int) -> float:
    low, high = 0.0, 1.0
    while _t_cdf(high, degrees) < probability:
        high *= 2
    # Each step halves the interval: after 80 it is far below the last digit of a float.
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def _t_cdf(t: float, degrees: int) -> float:
    """Pr(T ≤ t) for t ≥ 0, by the finite series in the angle atan(t/√ν)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine_squared = math.cos(angle) ** 2
    is_odd = degrees % 2 == 1
    term = math.cos(angle) if is_odd else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(3 if is_odd else 2, degrees - 1, 2):
        term *= cosine_squared * (k - 1) / k
        total += term
    inside = math.sin(angle) * total
    if is_odd:
        inside = 2 / math.pi * (angle + inside)
    return (1 + inside) / 2


def _t_quantile_expanded(z: float, degrees: int) -> float:
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3
