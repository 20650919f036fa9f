"""The lives of servers in a stack: the newest one ends first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.foundation.errors import InvalidValue
from backend.scenarios.calc.scan import Servers, flag_positions
from backend.scenarios.calc.steps import Steps

MOST_LIVES = 2_000_000
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Lives:
    """An entry for each life, by slot (1 = the oldest server) and then by time; seconds UTC."""

    slot: Whole
    start_s: Whole
    end_s: Whole

    @property
    def count(self) -> int:
        return int(self.slot.size)

    @property
    def seconds(self) -> Whole:
        return self.end_s - self.start_s

    @property
    def slots(self) -> int:
        """The highest slot in use."""
        return int(self.slot[-1]) if self.slot.size else 0

    def at_least(self, minimum_s: int) -> "Lives":
        """The lives with those shorter than the minimum counted as that long."""
        longest = np.maximum(self.end_s, self.start_s + minimum_s)
        return Lives(self.slot, self.start_s, longest)

    def since(self, start_s: int) -> "Lives":
        """The parts of the lives that lie after a moment."""
        lasting = self.end_s > start_s
        return Lives(
            self.slot[lasting], np.maximum(self.start_s[lasting], start_s), self.end_s[lasting]
        )

    def until(self, end_s: int) -> "Lives":
        """The lives as if everything ended at a moment."""
        begun = self.start_s < end_s
        return Lives(self.slot[begun], self.start_s[begun], np.minimum(self.end_s[begun], end_s))


def lives(running: Servers, steps: Steps) -> Lives:
    """Lives of the servers that run in each step; those of the last one end with the horizon."""
    at = flag_positions(running[1:] != running[:-1]) + 1
    before, after = running[at - 1].astype(np.int64), running[at].astype(np.int64)
    at, before = np.append(0, at), np.append(0, before)
    after = np.append(int(running[0]), after)
    change = after - before
    # By position: a mask that is true now and then costs several times as much.
    up, down = np.flatnonzero(change > 0), np.flatnonzero(change < 0)
    started, rise, low = at[up], change[up], before[up]
    ended, fall, left = at[down], -change[down], after[down]
    if int(rise.sum()) > MOST_LIVES:
        detail = f"servers start {int(rise.sum())} times; at most {MOST_LIVES} are possible"
        raise InvalidValue("/policy", f"{detail}: take longer steps, or larger servers")
    last = int(running[-1])
    starts = _keys(started, low, rise, steps)
    ends = _keys(ended, left, fall, steps)
    tail = np.arange(1, last + 1, dtype=np.int64) * (steps.count + 1) + steps.count
    ends = np.concatenate([ends, tail])
    # A slot starts and ends in turns, so in the order of slot and time the n-th end belongs to the
    # n-th start.
    starts.sort()
    ends.sort()
    slot = starts // (steps.count + 1)
    of_slot = slot * (steps.count + 1)
    return Lives(
        slot=slot,
        start_s=(starts - of_slot) * steps.step_s + steps.start_s,
        end_s=(ends - of_slot) * steps.step_s + steps.start_s,
    )


def _keys(at: Whole, below: Whole, height: Whole, steps: Steps) -> Whole:
    """slot × (steps + 1) + step of every server that starts (or ends) at the steps `at`: those in
    the slots below + 1 … below + height."""
    total = int(height.sum())
    first = np.repeat(np.cumsum(height) - height, height)
    slot = np.repeat(below, height) + np.arange(total) - first + 1
    keys: Whole = slot * (steps.count + 1) + np.repeat(at, height)
    return keys
