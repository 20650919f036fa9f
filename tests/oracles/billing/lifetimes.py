"""One server's life, and the clock hours that some bills are cut by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backend.money.pricing.billing.lifetimes import HOUR_S, Horizon
from backend.scenarios.calc.lives import Lives


@dataclass(frozen=True)
class Lifetime:
    """One server from launch to its end; `slot` is its index in the stack, 1 = the oldest."""

    slot: int
    start_s: int
    end_s: int

    @property
    def seconds(self) -> int:
        return self.end_s - self.start_s


def hours(horizon: Horizon) -> Iterator[tuple[int, int]]:
    """Bounds of every clock hour (UTC) of the horizon, cut at its ends."""
    start_s = horizon.start_s
    while start_s < horizon.end_s:
        end_s = min(start_s // HOUR_S * HOUR_S + HOUR_S, horizon.end_s)
        yield start_s, end_s
        start_s = end_s


def seconds_within(lifetimes: Sequence[Lifetime], start_s: int, end_s: int) -> int:
    """Server-seconds of all lifetimes inside [start_s, end_s)."""
    return sum(max(0, min(life.end_s, end_s) - max(life.start_s, start_s)) for life in lifetimes)


def at_least(lifetimes: Sequence[Lifetime], minimum_s: int) -> list[Lifetime]:
    """The lifetimes with those shorter than the minimum counted as that long."""
    return [
        Lifetime(life.slot, life.start_s, max(life.end_s, life.start_s + minimum_s))
        for life in lifetimes
    ]


def ceiling(seconds: int, unit_s: int) -> int:
    """Units begun."""
    return -(-seconds // unit_s)


def lifetimes(lives: Lives) -> list[Lifetime]:
    """The entries of the engine's arrays as objects."""
    rows = zip(lives.slot.tolist(), lives.start_s.tolist(), lives.end_s.tolist(), strict=True)
    return [Lifetime(*row) for row in rows]
