"""Which lists of prices there are, and when each is read again."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from backend.domain.errors import InvalidValue

DAY_S = 86_400
HOUR_S = 3_600
SPREAD = 0.1
"""Share of the interval by which a reading may come later, so that samples move round the clock."""
FIRST_BACKOFF_S = 300
MAX_BACKOFF_S = 6 * HOUR_S
FX_PROVIDER, FX_KIND = "ecb", "fx"


@dataclass(frozen=True)
class DailyAt:
    """A time of the day at which a new list is published, and within how many seconds to ask."""

    time: dt.time
    zone: str
    within_s: int


@dataclass(frozen=True)
class FeedKind:
    """One kind of list of one provider."""

    provider: str
    kind: str
    meaning: str
    every_s: int = DAY_S
    is_regional: bool = False
    """Whether each region has its own list; else one list tells all regions."""
    needs_account: bool = False
    """Whether the provider tells it only to those who have an account there."""
    at: DailyAt | None = None
    """Set where the hour matters: then `every_s` does not."""


FEED_KINDS: tuple[FeedKind, ...] = (
    FeedKind("aws", "on_demand", "price list file: on demand and reserved", is_regional=True),
    FeedKind("aws", "savings", "savings plans; after on_demand", is_regional=True),
    FeedKind(
        "aws",
        "products",
        "price list interface: as on_demand, of machines only",
        is_regional=True,
        needs_account=True,
    ),
    FeedKind(
        "aws",
        "spot",
        "spot prices by zone",
        every_s=HOUR_S,
        is_regional=True,
        needs_account=True,
    ),
    FeedKind("gcp", "on_demand", "billing catalogue: on demand and spot", needs_account=True),
    FeedKind(
        "azure", "on_demand", "retail prices: on demand, spot, reserved, savings", is_regional=True
    ),
    FeedKind("hetzner", "on_demand", "server types", needs_account=True),
    FeedKind("digitalocean", "on_demand", "sizes", needs_account=True),
    FeedKind("linode", "on_demand", "types"),
    FeedKind(
        FX_PROVIDER,
        FX_KIND,
        "exchange rates of the last 90 days",
        # Published about 16:00 on working days. Ninety days at once: a missed day is made up for.
        at=DailyAt(dt.time(16, 15), "Europe/Berlin", within_s=HOUR_S),
    ),
)


def feed_kind(provider: str, kind: str) -> FeedKind:
    """The kind of list. Raises InvalidValue with a JSON pointer, naming those that there are."""
    kinds = feed_kinds(provider)
    for found in kinds:
        if found.kind == kind:
            return found
    known = ", ".join(found.kind for found in kinds)
    raise InvalidValue("/kind", f"{kind!r} is not one of {known}")


def feed_kinds(provider: str) -> tuple[FeedKind, ...]:
    """What can be read of a provider. Raises InvalidValue where that is nothing."""
    found = tuple(kind for kind in FEED_KINDS if kind.provider == provider)
    if not found:
        known = ", ".join(dict.fromkeys(kind.provider for kind in FEED_KINDS))
        raise InvalidValue("/provider", f"{provider!r} is not one of {known}")
    return found


def next_due(
    kind: FeedKind, now: dt.datetime, *, share: float, every_s: int | None = None
) -> dt.datetime:
    """When the list is read again after a reading now; `share` (0 to 1) places it in the spread.

    `every_s` takes the place of the kind's own interval.
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
