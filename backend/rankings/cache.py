"""A small in-process memory of what was computed from one state of the data."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from backend.catalog.selectors import DataStamp

Value = TypeVar("Value")
SIZE = 48


class StampedCache:
    """Keeps the newest results of the newest data state; forgets all when the data change."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._stamp: DataStamp | None = None
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def get(self, stamp: DataStamp, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The result under `key`, computed when it is not held for this stamp.

        Nothing is held while the data were never counted: such a stamp says nothing.
        """
        if stamp.changed_at is None:
            return compute()
        with self._lock:
            if stamp != self._stamp:
                self._stamp = stamp
                self._held.clear()
            if key in self._held:
                self._held.move_to_end(key)
                held: Value = self._held[key]
                return held
        value = compute()
        with self._lock:
            if stamp == self._stamp:
                self._held[key] = value
                while len(self._held) > self._size:
                    self._held.popitem(last=False)
        return value
