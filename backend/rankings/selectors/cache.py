"""A small in-process memory of what was computed from one state of the data."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from backend.catalog.selectors.data_version import DataStamp

Value = TypeVar("Value")


# What does not say how large it is: rates, a few words.
BYTES_OF_SMALL = 10_000


class StampedCache:
    """Keeps results of the newest data state up to so many bytes; forgets all when the data change.

    A result says by `nbytes` how large it is. What several threads want at once is computed by one
    of them, the others wait for it.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._stamp: DataStamp | None = None
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._gates: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, stamp: DataStamp, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The result under `key`, computed when it is not held for this stamp.

        Nothing is held while the data were never counted: such a stamp says nothing.
        """
        # Tests and a database before its first fixture: nothing tells two states apart.
        if stamp.changed_at is None:
            return compute()
        with self._lock:
            # All at once: rows of two states must never stand in one list.
            if stamp != self._stamp:
                self._stamp = stamp
                self._values.clear()
                self._gates.clear()
            if key in self._values:
                cached: Value = self._touched(key)
                return cached
            # One gate a key, so that a slow basis does not hold up the others.
            gate = self._gates.setdefault(key, Lock())
        with gate:
            with self._lock:
                # Asked again: whoever held the gate may have made it.
                if stamp == self._stamp and key in self._values:
                    made: Value = self._touched(key)
                    return made
            # Outside the lock: it takes a second, and other keys are served meanwhile.
            value = compute()
            with self._lock:
                # The data may have changed meanwhile; then it serves this request only.
                if stamp == self._stamp:
                    self._gates.pop(key, None)
                    self._values[key] = value
                    # Those that were longest not asked for go; what was just made stays.
                    while len(self._values) > 1 and self._nbytes() > self._most_bytes:
                        self._values.popitem(last=False)
            return value

    def _nbytes(self) -> int:
        return sum(getattr(value, "nbytes", BYTES_OF_SMALL) for value in self._values.values())

    def _touched(self, key: Hashable) -> Any:
        self._values.move_to_end(key)
        return self._values[key]
