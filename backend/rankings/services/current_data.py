"""The state of the data that pages show while it changes all the time."""

import time
from dataclasses import replace
from threading import Lock

from django.conf import settings

from backend.benchmarks.services.current_data import current_stamp, is_any_pending
from backend.catalog.selectors.data_version import DataStamp, data_stamp
from backend.rankings.selectors.ranking import rank_anew

# Of the time: when pages begin to go on with the last state rather than have the present one made.
BUSY_RATIO = 0.1
# The next state is begun so many times as long before the shown one is over as the last one took,
# at most half of its time.
TIMES_AHEAD = 5


class ShownStamp:
    """The state that the pages of a process show while the data change with every result of a
    campaign: for some seconds the same, until one reader has made what the others asked for last of
    the present one.

    Data that change now and then are always shown as they are: a state is held on to only after states
    were made for more than BUSY_RATIO of the last PAGES_BEHIND_S, and until one stays the present one.
    No page begins with a state that has been over for longer than PAGES_BEHIND_S.
    """

    def __init__(self) -> None:
        self._shown: tuple[DataStamp, float] | None = None
        """The state, and when it was last seen to be the present one."""
        self._made: list[tuple[float, float]] = []
        """When the last ones were there, and how long each took."""
        self._is_busy = False
        self._lock = Lock()
        self._making = Lock()

    def get(self, *, is_fresh: bool) -> DataStamp:
        """The state to show; the present one where that is asked for."""
        asked_at, present, behind_s = time.monotonic(), data_stamp(), settings.PAGES_BEHIND_S
        # What a transaction has written itself it has to see.
        if is_fresh or not behind_s or present.position.is_writing:
            return current_stamp(present)
        early_s = self._early_s(behind_s)
        # While one makes the next one, the others go on.
        if known := self._remembered_stamp(
            present, asked_at, behind_s if self._making.locked() else early_s
        ):
            return known
        with self._making:
            # Whoever had the lock before may have made it.
            return self._remembered_stamp(present, asked_at, early_s) or self._newest()

    def _remembered_stamp(
        self, present: DataStamp, asked_at: float, most_s: float
    ) -> DataStamp | None:
        with self._lock:
            if self._shown is None:
                return None
            stamp, seen_at = self._shown
            # A change may have come between the refresh and the state; it must not wait for another.
            if stamp == present and not is_any_pending(present):
                self._shown = (stamp, max(seen_at, asked_at))
                if self._made and asked_at - self._made[-1][0] > most_s:
                    self._is_busy = False
                return present
            # Of another database nothing is held, as after it was restored.
            if stamp.position.database != present.position.database:
                return None
            # Made since it was asked for it is no older than what would be made now.
            is_young = asked_at - seen_at < (most_s if self._is_busy else 0)
            return replace(stamp, is_kept=True) if is_young else None

    def _early_s(self, behind_s: float) -> float:
        took_s = self._made[-1][1] if self._made else 0
        return max(behind_s - TIMES_AHEAD * took_s, behind_s / 2)

    def _newest(self) -> DataStamp:
        began, behind_s = time.monotonic(), settings.PAGES_BEHIND_S
        stamp = current_stamp()
        rank_anew(stamp)
        ended = time.monotonic()
        with self._lock:
            self._shown = (stamp, began)
            # One that is held on to is followed by the next when it is over, or somewhat later.
            self._is_busy &= bool(self._made) and self._made[-1][0] > ended - 2 * behind_s
            self._made = [state for state in self._made if state[0] > ended - behind_s]
            self._made.append((ended, ended - began))
            self._is_busy |= sum(took_s for _, took_s in self._made) > BUSY_RATIO * behind_s
        return stamp


# What the pages of this process show.
shown = ShownStamp()
