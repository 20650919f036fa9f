"""True if a price that a person states can be meant; what cannot waits until somebody has looked."""

from collections.abc import Sequence
from decimal import Decimal
from statistics import median

from backend.foundation.units import EXACT, HOURS_PER_MONTH

MONTHS_PER_YEAR = 12
# The largest machines that clouds rent out cost a fifth of it.
MOST_USD_PER_MONTH = Decimal(1_000_000)
MOST_USD_ONCE = Decimal(50_000_000)
# Of the cheapest machines, spot prices among them, a vCPU costs three times as much.
LEAST_USD_PER_VCPU_MONTH = Decimal("0.10")
FACTOR_BESIDE = Decimal(10)


def per_month(amount: Decimal, unit: str) -> Decimal | None:
    """An amount per month of 730 hours; None for one that is paid once."""
    if unit == "hour":
        return EXACT.multiply(amount, Decimal(HOURS_PER_MONTH))
    if unit == "year":
        return EXACT.divide(amount, Decimal(MONTHS_PER_YEAR))
    return amount if unit == "month" else None


def implausible(
    amount: Decimal,
    unit: str,
    *,
    usd_per_unit: Decimal | None,
    vcpu_count: Decimal | None,
    beside: Sequence[Decimal],
) -> list[str]:
    """Why a price is not plausible; empty for one that is.

    `beside` are the offer's other prices per month in the same currency. Without a rate to USD a
    unit counts as a dollar: few buy more, and where it buys less the upper limits are wider.
    """
    month = per_month(amount, unit)
    usd = EXACT.multiply(month if month is not None else amount, usd_per_unit or Decimal(1))
    reasons = []
    most = MOST_USD_ONCE if month is None else MOST_USD_PER_MONTH
    if usd > most and (usd_per_unit is not None or usd > most * 1000):
        reasons.append(f"{usd:.4g} USD is more than any machine costs")
    if month is None:
        return reasons
    if vcpu_count:
        each = EXACT.divide(usd, vcpu_count)
        if each < LEAST_USD_PER_VCPU_MONTH:
            reasons.append(f"{each:.2g} USD a month for each vCPU is less than any machine costs")
    if beside:
        middle = median(beside)
        if month >= FACTOR_BESIDE * middle or middle >= FACTOR_BESIDE * month:
            reasons.append(f"{month:.6g} a month, beside {middle:.6g} of its other prices")
    return reasons
