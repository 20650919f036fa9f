"""Volumes that are billed in tiers."""

from collections.abc import Sequence
from decimal import Decimal

from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT


def cost_under_tiers(volume: Decimal, tiers: Sequence[tuple[Decimal | None, Decimal]]) -> Decimal:
    """Cost of a monthly volume under tiers (cumulative upper bound, price per unit).

    The last bound is None = without limit. Raises InvalidValue for tiers that do not ascend.
    """
    if not tiers or tiers[-1][0] is not None:
        raise InvalidValue("tiers", "the last tier must have no upper bound")
    cost, lower = Decimal(0), Decimal(0)
    for bound, price in tiers:
        upper = volume if bound is None else min(volume, bound)
        if bound is not None and bound <= lower:
            raise InvalidValue("tiers", f"the bound {bound} does not ascend")
        cost = EXACT.add(cost, EXACT.multiply(max(Decimal(0), upper - lower), price))
        lower = max(lower, upper) if bound is None else bound
    return cost
