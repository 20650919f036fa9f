"""Every billing rule by its name in a scenario or a price."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from backend.domain.pricing.billing.commitments import reserved, savings
from backend.domain.pricing.billing.elapsed import hour_ceil, hour_ceil_cap, per_minute, per_second
from backend.domain.pricing.billing.lifetimes import Horizon, Lifetime
from backend.domain.pricing.billing.monthly import dedicated, monthly
from backend.domain.pricing.billing.sustained_use import sustained_use
from backend.domain.pricing.billing.terms import Terms

Rule = Callable[[Sequence[Lifetime], Horizon, Terms], Fraction]

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
        "spot": per_second,
    }
)
"""Cost in the price's currency of the lifetimes over the horizon. Spot is billed as per_second;
its interruptions shorten lifetimes before they are billed."""
