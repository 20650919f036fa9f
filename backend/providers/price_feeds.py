"""Which lists of prices there are, and when each is read again."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

DAY_S = 86_400
HOUR_S = 3_600
# Share of the interval by which a reading may come later, so that samples move round the clock.
SPREAD = 0.1
FIRST_BACKOFF_S = 300
MAX_BACKOFF_S = 6 * HOUR_S


@dataclass(frozen=True)
class DailyAt:
    """A time of the day at which a new list is published, and within how many seconds to ask."""

    time: dt.time
    zone: str
    within_s: int


@dataclass(frozen=True, kw_only=True)
class FeedKind:
    """A kind of list of one provider."""

    kind: str
    meaning: str
    every_s: int = DAY_S
    at: DailyAt | None = None
    """Set where the hour matters: then `every_s` does not."""
    is_regional: bool = False
    """True if each region has its own list; else one list covers all regions."""
    needs_account: bool = False
    """True if the provider shows it only to those who have an account there."""
    needs_on_demand: bool = False
    """True if its prices are joined on the on-demand prices of the region, by SKU."""
    is_alternative: bool = False
    """True if it is read only when asked for by name: it has the same prices as another list, or needs
    a login of its own."""
    replaces: str = ""
    """The kind that has the same prices: where this one is enabled, a refresh leaves that one out."""
    is_market: bool = False
    """True if what is on it comes and goes, so that much that is missing is no fault."""
    are_rates: bool = False
    """True if it lists exchange rates instead of prices."""

    documents: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    """The documents that make up a list, by name, and how each is recognised near its beginning.
    The first pattern of a provider that matches counts."""
    is_one_document: bool = False
    """True if every document is a list by itself."""
    region: re.Pattern[str] | None = None
    """Finds the region in a document of a list of one region; None where each price names its own."""


def next_due(
    kind: FeedKind, now: dt.datetime, *, share: float, every_s: int | None = None
) -> dt.datetime:
    """When the list is read again after a reading now; `share` (0 to 1) places it in the spread.

    `every_s` replaces the kind's own interval.
    """
    if kind.at is None:
        interval_s = kind.every_s if every_s is None else every_s
        return now + dt.timedelta(seconds=interval_s * (1 + SPREAD * share))
    zone = ZoneInfo(kind.at.zone)
    local = now.astimezone(zone)
    today = dt.datetime.combine(local.date(), kind.at.time, zone)
    first = today if local < today else today + dt.timedelta(days=1)
    return first.astimezone(dt.UTC) + dt.timedelta(seconds=kind.at.within_s * share)


def backoff_s(failures: int, *, share: float, at_least_s: float = 0) -> float:
    """Seconds until the next try after so many failures in a row (1 or more), doubling to 6 h.

    `at_least_s` is what the provider asked for; `share` (0 to 1) makes it up to a quarter longer.
    """
    doubled = min(FIRST_BACKOFF_S << min(failures - 1, 10), MAX_BACKOFF_S)
    return max(doubled, at_least_s) * (1 + share / 4)
