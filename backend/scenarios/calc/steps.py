"""The time of a scenario, cut into equal steps."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from backend.foundation.errors import InvalidValue
from backend.money.pricing.billing.lifetimes import DAY_S, Horizon

# Three years of minutes; more is refused.
MAX_STEPS = 2_000_000

Instants = NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """`count` steps of `step_s` seconds from `start_s` (UTC since 1970) on."""

    start_s: int
    step_s: int
    count: int

    def __post_init__(self) -> None:
        if self.step_s < 1:
            raise InvalidValue("/horizon/step_s", "at least one second")
        if not 0 < self.count <= MAX_STEPS:
            detail = f"{self.count} steps; from 1 to {MAX_STEPS} are possible, take longer ones"
            raise InvalidValue("/horizon/step_s", detail)

    @property
    def end_s(self) -> int:
        return self.start_s + self.count * self.step_s

    @property
    def horizon(self) -> Horizon:
        """The same time as a bill sees it."""
        return Horizon(self.start_s, self.end_s)

    def of(self, seconds: float) -> int:
        """Steps that cover a duration."""
        return int(-(-seconds // self.step_s))

    def instants(self) -> Instants:
        """Start of each step in seconds UTC."""
        return np.arange(self.count, dtype=np.int64) * self.step_s + self.start_s

    def local_s(self, time_zone: str) -> Instants:
        """The wall clock of a zone at each step, as seconds since 1970 on that clock."""
        instants = self.instants()
        for from_s, until_s, offset_s in offsets(time_zone, self.start_s, self.end_s):
            first = max(0, -(-(from_s - self.start_s) // self.step_s))
            last = max(0, -(-(until_s - self.start_s) // self.step_s))
            instants[first:last] += offset_s
        return instants


def offsets(time_zone: str, start_s: int, end_s: int) -> list[tuple[int, int, int]]:
    """Spans (from_s, until_s, offset_s) of constant distance to UTC that cover the time."""
    zone = ZoneInfo(time_zone)
    spans: list[tuple[int, int, int]] = []
    at_s, offset_s = start_s, _offset_s(zone, start_s)
    for day_s in [*range(start_s + DAY_S, end_s, DAY_S), end_s]:
        # Zones change their offset at most once a day, so a look a day misses none.
        later_offset_s = _offset_s(zone, day_s)
        if later_offset_s != offset_s:
            change_s = _change_s(zone, day_s - DAY_S, day_s, later_offset_s)
            spans.append((at_s, change_s, offset_s))
            at_s, offset_s = change_s, later_offset_s
    return [*spans, (at_s, end_s, offset_s)]


def _offset_s(zone: ZoneInfo, at_s: int) -> int:
    offset = dt.datetime.fromtimestamp(at_s, zone).utcoffset() or dt.timedelta()
    return int(offset.total_seconds())


def _change_s(zone: ZoneInfo, before_s: int, after_s: int, offset_s: int) -> int:
    """First second at which the zone has the offset of `after_s`."""
    while after_s - before_s > 1:
        middle_s = (before_s + after_s) // 2
        if _offset_s(zone, middle_s) == offset_s:
            after_s = middle_s
        else:
            before_s = middle_s
    return after_s
