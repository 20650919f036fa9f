"""How many servers a demand needs, exactly."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from backend.domain.errors import InvalidValue
from backend.domain.scenarios.scan import Servers

BLOCK = 16_384  # steps at a time: the buffers then stay in the processor's cache
SLACK = 1e-9  # so that float noise above a whole number starts no further server
# A float quotient this close to a whole number, as a share of it, is looked at exactly.
NEAR = 1e-12
MOST_SERVERS = 1_000_000


def needed(demand: NDArray[np.float64], units_per_server: Fraction) -> Servers:
    """max(0, ceil(d / units − 1e-9)) of each step, as if in exact decimals.

    Raises InvalidValue where a step needs more than a million servers, or units are not above 0.
    """
    if units_per_server <= 0:
        raise InvalidValue("/capacity/units_per_server", "is not above zero")
    most = _exactly(float(demand.max()), units_per_server)
    if most > MOST_SERVERS:
        detail = f"the highest demand needs {most} servers; at most {MOST_SERVERS} are possible"
        raise InvalidValue("/capacity/units_per_server", detail)
    servers = np.empty(demand.size, dtype=np.min_scalar_type(most))
    inverse = float(1 / units_per_server)
    near = NEAR * max(1, most)
    quotient, above = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, demand.size, BLOCK):
        block = demand[start : start + BLOCK]
        below, up = quotient[: block.size], above[: block.size]
        np.multiply(block, inverse, out=below)
        below -= SLACK
        np.ceil(below, out=up)
        servers[start : start + BLOCK] = up
        np.subtract(up, below, out=below)
        if below.min() < near or below.max() > 1 - near:
            _mend(servers[start : start + BLOCK], block, below, near, units_per_server)
    return servers


def _mend(
    servers: Servers,
    demand: NDArray[np.float64],
    gap: NDArray[np.float64],
    near: float,
    units_per_server: Fraction,
) -> None:
    """Steps whose quotient is all but whole, calculated again with fractions."""
    near_whole = np.flatnonzero((gap < near) | (gap > 1 - near))
    known: dict[float, int] = {}
    for index in near_whole.tolist():
        value = float(demand[index])
        if value not in known:
            known[value] = _exactly(value, units_per_server)
        servers[index] = known[value]


def _exactly(demand: float, units_per_server: Fraction) -> int:
    """The same of one demand; a float stands for the shortest decimal that reads as it."""
    quotient = Fraction(repr(demand)) / units_per_server - Fraction(1, 10**9)
    return max(0, -(-quotient.numerator // quotient.denominator))
