"""How many servers a demand needs, exactly."""

from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from backend.foundation.errors import InvalidValue
from backend.scenarios.calc.scan import Servers

BLOCK = 16_384  # steps at a time: the buffers then stay in the processor's cache
SLACK = 1e-9  # so that float noise above a whole number starts no further server
# A float quotient this close to a whole number, as a share of it, is looked at exactly.
NEAR = 1e-12
MOST_SERVERS = 1_000_000
# After so many sizes sorting the demand pays for itself.
SORT_AFTER = 8
# Up to so many servers floats of 32 bits are of use; the share by which they may be off, and the share
# of steps that may be as close to a whole number of servers.
MOST_NARROW, NARROW, FEW_CLOSE = 1_000, 1e-6, 0.02


class Needs:
    """How many servers of any size one demand needs, worked out in narrow floats once many sizes were
    asked for: the order of the demand says which steps those do not tell apart."""

    def __init__(self, demand: NDArray[np.float64]) -> None:
        self.demand = demand
        self._asked = 0
        self._last: tuple[Fraction, Servers] | None = None

    def of(self, units_per_server: Fraction) -> Servers:
        """As `servers_needed`, of this demand; not to be written to."""
        self._asked += 1
        is_sorting_worthwhile = self._asked > SORT_AFTER and units_per_server > 0
        servers = self._count_in_float32(units_per_server) if is_sorting_worthwhile else None
        if servers is None:
            servers = servers_needed(self.demand, units_per_server)
        self._last = units_per_server, servers
        return servers

    def of_this_or_less(self, units_per_server: Fraction) -> Servers:
        """As `of`, of servers of this size, or of smaller ones if those were asked for last: then it
        is as many or more in each step, and known already."""
        last = self._last
        if last is not None and last[0] <= units_per_server:
            return last[1]
        return self.of(units_per_server)

    def _count_in_float32(self, units_per_server: Fraction) -> Servers | None:
        """Servers by step, rounded up in floats of 32 bits; steps so close to a whole number that these
        may be off are counted exactly. None where servers or such steps are too many for that."""
        at_most = self._highest / units_per_server
        most = _whole(at_most)
        if not 0 < most <= MOST_NARROW:
            return None
        whole = np.arange(most + 1) / float(at_most)
        above = (whole + 2 * SLACK / float(at_most)) * (1 + NARROW)
        first = np.searchsorted(self._ascending, (whole * (1 - NARROW)).astype(np.float32))
        ends = np.searchsorted(self._ascending, above.astype(np.float32), side="right")
        if int((ends - first).sum()) > FEW_CLOSE * self.demand.size:
            return None
        servers: Servers = np.empty(self.demand.size, dtype=np.min_scalar_type(most))
        # Between whole numbers it is rounded up by dropping what is behind the point, and one more.
        np.multiply(self._shares, np.float32(at_most), out=servers, casting="unsafe")
        servers += servers.dtype.type(1)
        close = [self._order[a:b] for a, b in zip(first, ends, strict=True) if a < b]
        if close:
            steps = np.concatenate(close)
            servers[steps] = _count_servers(self.demand[steps], units_per_server, most)
        return servers

    @cached_property
    def _order(self) -> NDArray[np.int32]:
        return np.argsort(self.demand).astype(np.int32)

    @cached_property
    def _shares(self) -> NDArray[np.float32]:
        """Shares of the highest demand, by step."""
        return (self.demand / float(self._highest)).astype(np.float32)

    @cached_property
    def _ascending(self) -> NDArray[np.float32]:
        return self._shares[self._order]

    @cached_property
    def _highest(self) -> Fraction:
        return _fraction(float(self.demand.max()))


def servers_needed(demand: NDArray[np.float64], units_per_server: Fraction) -> Servers:
    """max(0, ceil(d / units − 1e-9)) of each step, as if in exact decimals.

    Raises InvalidValue where a step needs more than a million servers, or units are not above 0.
    """
    if units_per_server <= 0:
        raise InvalidValue("/capacity/units_per_server", "is not above zero")
    most = _exactly(float(demand.max()), units_per_server)
    if most > MOST_SERVERS:
        detail = f"the highest demand needs {most} servers; at most {MOST_SERVERS} are possible"
        raise InvalidValue("/capacity/units_per_server", detail)
    return _count_servers(demand, units_per_server, most)


def _count_servers(demand: NDArray[np.float64], units_per_server: Fraction, most: int) -> Servers:
    servers = np.empty(demand.size, dtype=np.min_scalar_type(most))
    inverse = float(1 / units_per_server)
    near = NEAR * max(1, most)
    quotient, above = np.empty((2, min(BLOCK, demand.size)))
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
    """The same of one demand."""
    return _whole(_fraction(demand) / units_per_server)


def _fraction(demand: float) -> Fraction:
    """A float stands for the shortest decimal that reads as it."""
    return Fraction(repr(demand))


def _whole(quotient: Fraction) -> int:
    quotient -= Fraction(1, 10**9)
    return max(0, -(-quotient.numerator // quotient.denominator))
