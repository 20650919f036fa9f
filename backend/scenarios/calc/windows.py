"""Levels that hold in windows of the day, on the wall clock of a zone."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from backend.money.pricing.billing.lifetimes import DAY_S
from backend.scenarios.calc.steps import Steps

THURSDAY = 3  # weekday of the first of January 1970
EVERY_DAY = frozenset(range(7))


@dataclass(frozen=True)
class LevelWindow:
    """[from_s, to_s) of the day on the weekdays (0 = Monday) on which it starts.

    One that ends before or when it starts runs on past midnight; of equal ends it lasts 24 hours.
    """

    from_s: int
    to_s: int
    level: Decimal
    weekdays: frozenset[int] = EVERY_DAY


def levels(
    steps: Steps, time_zone: str, base: Decimal, windows: Sequence[LevelWindow]
) -> NDArray[np.float64]:
    """Level at each step: the highest window that is on, which also replaces a higher base."""
    local_s = steps.local_s(time_zone)
    day, second = np.divmod(local_s, DAY_S)
    weekday = (day + THURSDAY) % 7
    values = np.full(steps.count, float(base))
    for window in sorted(windows, key=lambda window: window.level):
        values[_is_on(window, weekday, second)] = float(window.level)
    return values


def _is_on(
    window: LevelWindow, weekday: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.bool_]:
    today = np.isin(weekday, list(window.weekdays))
    if window.from_s < window.to_s:
        return today & (second >= window.from_s) & (second < window.to_s)
    yesterday = np.isin((weekday - 1) % 7, list(window.weekdays))
    return (today & (second >= window.from_s)) | (yesterday & (second < window.to_s))
