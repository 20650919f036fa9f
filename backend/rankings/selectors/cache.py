"""A small in-process memory of what was computed from one state of the data."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from backend.catalog.selectors.data_version import DataStamp

Value = TypeVar("Value")


# What does not say how large it is: rates, a few words.
BYTES_OF_SMALL = 10_000


# Of the data: that which pages show, the one that is made, and what one request reads between.
STATES = 3


class StampedCache:
    """Keeps results of the newest data states up to so many bytes.

    A result says by `nbytes` how large it is, and by `holds` which other results it keeps in memory.
    What several threads want at once is computed by one of them, the others wait for it.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        # Those that were longest not asked for are first.
        self._states: OrderedDict[DataStamp, DataStamp] = OrderedDict()
        self._values: OrderedDict[tuple[DataStamp, Hashable], Any] = OrderedDict()
        self._gates: dict[tuple[DataStamp, Hashable], Lock] = {}
        self._lock = Lock()

    def get(self, stamp: DataStamp, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The result under `key`, computed when it is not held for this stamp.

        Nothing is held while the data were never counted: such a stamp says nothing.
        """
        # Tests and a database before its first fixture: nothing tells two states apart.
        if stamp.changed_at is None:
            return compute()
        # Never by the key alone: rows of two states must never stand in one list.
        entry = (stamp, key)
        with self._lock:
            if not self._admits(stamp):
                gate = Lock()
            elif entry in self._values:
                cached: Value = self._touch(entry)
                return cached
            else:
                # One gate a key, so that a slow basis does not hold up the others.
                gate = self._gates.setdefault(entry, Lock())
        with gate:
            with self._lock:
                # Asked again: whoever held the gate may have made it.
                if entry in self._values:
                    made: Value = self._touch(entry)
                    return made
            # Outside the lock: it takes a second, and other keys are served meanwhile.
            value = compute()
            with self._lock:
                # Its state may have gone meanwhile; then it serves this request only.
                if stamp in self._states:
                    self._gates.pop(entry, None)
                    self._values[entry] = value
                    # Those that were longest not asked for go; what was just made stays.
                    while len(self._values) > 1 and self._nbytes() > self._most_bytes:
                        self._values.popitem(last=False)
            return value

    def last_requested(self, key: Hashable) -> Any:
        """The result under `key` of the state that was asked for last and has one; None without."""
        with self._lock:
            entries = ((stamp, key) for stamp in reversed(self._states))
            return next((self._values[entry] for entry in entries if entry in self._values), None)

    def _admits(self, stamp: DataStamp) -> bool:
        """True if results of a state are kept: not those of one that is older than all that are."""
        if stamp.position.is_writing:
            # A transaction may take back what it wrote, and write something else that counts alike.
            for other, known_as in list(self._states.items()):
                if known_as.position.is_writing and other != stamp:
                    self._forget(other)
        # A slow request must not take the place of a newer state.
        elif (
            self._states
            and stamp not in self._states
            and all(map(stamp.precedes, self._states.values()))
        ):
            return False
        self._states[stamp] = self._states.get(stamp, stamp)
        self._states.move_to_end(stamp)
        if len(self._states) > STATES:
            self._forget(next(iter(self._states)))
        return True

    def _forget(self, stamp: DataStamp) -> None:
        del self._states[stamp]
        for entries in (self._values, self._gates):
            for entry in [entry for entry in entries if entry[0] == stamp]:
                del entries[entry]

    def _nbytes(self) -> int:
        # What has not changed from one state to the next is the very same object.
        different: dict[int, Any] = {}
        values = list(self._values.values())
        while values:
            value = values.pop()
            if id(value) not in different:
                different[id(value)] = value
                values.extend(getattr(value, "holds", ()))
        return sum(getattr(value, "nbytes", BYTES_OF_SMALL) for value in different.values())

    def _touch(self, entry: tuple[DataStamp, Hashable]) -> Any:
        self._values.move_to_end(entry)
        return self._values[entry]
