"""Every billing rule by its name, server by server: the slow way to what scenarios/bills.py says."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from backend.money.pricing.billing.lifetimes import Horizon
from backend.money.pricing.billing.terms import Terms
from tests.oracles.billing.commitments import reserved, savings
from tests.oracles.billing.elapsed import hour_ceil, hour_ceil_cap, per_minute, per_second, spot
from tests.oracles.billing.lifetimes import Lifetime
from tests.oracles.billing.monthly import dedicated, monthly
from tests.oracles.billing.sustained_use import sustained_use

Rule = Callable[[Sequence[Lifetime], Horizon, Terms], Fraction]

# Cost in the price's currency of the lifetimes over the horizon.
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "per_second": per_second,
        "per_minute": per_minute,
        "hour_ceil": hour_ceil,
        "hour_ceil_cap": hour_ceil_cap,
        "monthly": monthly,
        "dedicated": dedicated,
        "sustained_use": sustained_use,
        "reserved": reserved,
        "savings": savings,
        "spot": spot,
    }
)
