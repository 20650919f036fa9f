"""A small in-process memory of what was computed from one state of the data."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from backend.catalog.selectors.data_version import DataStamp

Value = TypeVar("Value")


class StampedCache:
    """Keeps the newest results of the newest data state; forgets all when the data change.

    What several threads want at once is computed by one of them, the others wait for it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
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
                    # The one that was longest not asked for goes.
                    while len(self._values) > self._size:
                        self._values.popitem(last=False)
            return value

    def _touched(self, key: Hashable) -> Any:
        self._values.move_to_end(key)
        return self._values[key]
