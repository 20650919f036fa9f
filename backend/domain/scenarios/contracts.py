"""What a contract costs a project that may end before it does.

A project ends in each month with the same probability (the hazard), and at the latest with the
horizon. A contract of m months is paid for m months whether or not the project still runs; after
them month by month.
"""

from dataclasses import dataclass
from fractions import Fraction

from backend.domain.errors import InvalidValue

MOST_MONTHS = 1200


@dataclass(frozen=True)
class Exposure:
    """Expected months over the horizon; `ratio` is how much dearer the contract makes a month."""

    active_months: Fraction
    paid_months: Fraction

    @property
    def ratio(self) -> Fraction:
        return self.paid_months / self.active_months


def exposure(hazard_per_month: Fraction, horizon_months: int, minimum_months: int) -> Exposure:
    """Months that the project is expected to run, and months that are paid for it.

    It runs in month t (from 0) with probability (1 − h)^t; what is paid is the larger of that and
    the contract. Raises InvalidValue for a hazard outside 0 to 1 or months below 1.
    """
    if not 0 <= hazard_per_month <= 1:
        raise InvalidValue("/hazard_per_month", f"{float(hazard_per_month)} is not in [0, 1]")
    if not 1 <= horizon_months <= MOST_MONTHS:
        raise InvalidValue("/horizon/months", f"{horizon_months} is not from 1 to {MOST_MONTHS}")
    if not 0 <= minimum_months <= MOST_MONTHS:
        detail = f"{minimum_months} is not from 0 to {MOST_MONTHS}"
        raise InvalidValue("/contract/minimum_months", detail)
    alive = [(1 - hazard_per_month) ** t for t in range(horizon_months)]
    bound = min(minimum_months, horizon_months)
    beyond = max(0, minimum_months - horizon_months)
    paid = bound + beyond + sum(alive[bound:], Fraction(0))
    return Exposure(sum(alive, Fraction(0)), paid)
